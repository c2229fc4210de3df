"""What a transport may ask of Testbeds, BatchJobs and Schedulings, on behalf of one caller: a service of the gateway.

Implemented in `gateway/` on the engine. It speaks in the typed objects of `model.objects.objects`; transports render
them with the pure functions beside those. Calls raise only the errors of `model.errors`; what they return is committed.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from shunter.model.objects.batch_jobs import BatchJob
from shunter.model.objects.object_meta import ObjectName
from shunter.model.objects.objects import Object, ObjectEvent
from shunter.model.objects.past_schedulings import PastScheduling, PastSchedulingPage


@dataclass(frozen=True, slots=True)
class Applied:
    object: Object
    action: str  # created | configured | unchanged


@dataclass(frozen=True, slots=True)
class ObjectPage:
    """All of them, by name, as they were together at `revision`: a watch goes on from there."""

    items: tuple[Object, ...]
    revision: int


@dataclass(frozen=True, slots=True)
class ObjectQuery:
    """None means any."""

    kind: str | None = None
    namespace: str | None = None
    name: str | None = None


@dataclass(frozen=True, slots=True)
class PastQuery:
    """Newest first. `after` is the cursor of the page before."""

    namespace: str | None = None
    name: str | None = None
    limit: int = 100
    after: str | None = None


class ObjectService(Protocol):
    async def apply(self, documents: Sequence[object], *, namespace: str) -> list[Applied]:
        """Make or change all of these decoded manifests or none. `namespace` holds where a manifest names none. Where
        one names a resourceVersion that is not the present one, it is a Conflict; that of what is not there is 0. The
        rules are those of `model.objects.apply_rules`. Raises Invalid, Conflict, Busy."""
        ...

    async def object(self, kind: str, name: ObjectName) -> Object:
        """Raises NotFound."""
        ...

    async def objects(self, query: ObjectQuery) -> ObjectPage: ...

    async def delete(self, kind: str, name: ObjectName, revision: int | None = None) -> Object:
        """Ask it to go; returns how it was. What it holds is released first. Raises NotFound, Conflict."""
        ...

    async def watch(self, query: ObjectQuery, after: int | None) -> AsyncGenerator[ObjectEvent, None]:
        """Every change behind that revision, in order, then those to come; None means from now on. Raises Gone before
        it returns where changes behind it are not remembered any more: list again."""
        ...

    async def write_external(self, name: ObjectName, data: Mapping[str, list[dict[str, str]]]) -> BatchJob:
        """Replace the keys of `externalScheduler` that are named and leave the others; one without rows goes."""
        ...

    async def reset(self, name: ObjectName) -> BatchJob:
        """Bring a failed BatchJob back to Ready; one that nobody claims and that has not failed stays as it is. Raises
        Conflict where it is still claimed."""
        ...

    async def past_schedulings(self, query: PastQuery) -> PastSchedulingPage:
        """Deleted Schedulings and what they did."""
        ...

    async def past_scheduling(self, uid: int) -> PastScheduling: ...
