"""What a transport may ask about Testbeds, BatchJobs and Schedulings: the Protocol of the sub-gateway `objects`.

Implemented in `gateway/objects.py`. It returns the typed objects of `model.objects.objects`, which transports render.
Calls raise only the errors of `model.errors`. They return only committed state.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
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
    """All objects of a query, by name, as of `revision`: a watch can go on from there."""

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
    visible: frozenset[str] | None = None  # the namespaces that may be told of; None means all


class ObjectService(Protocol):
    async def apply(self, documents: Sequence[object], *, namespace: str) -> list[Applied]:
        """Create or change the objects of all these decoded manifests or none. `namespace` applies where a manifest
        names none. A resourceVersion that is not the current one is a Conflict; an object that does not exist has
        version 0. The rules are in `model.objects.apply_rules`. Raises Invalid, Conflict, Busy."""
        ...

    async def object(self, kind: str, name: ObjectName) -> Object:
        """Raises NotFound."""
        ...

    async def objects(self, query: ObjectQuery) -> ObjectPage: ...

    async def delete(self, kind: str, name: ObjectName, revision: int | None = None) -> Object:
        """Delete an object once it has released what it holds; returns its last state. Raises NotFound, Conflict."""
        ...

    async def watch(self, query: ObjectQuery, after: int | None) -> AsyncGenerator[ObjectEvent, None]:
        """All changes after that revision in order, then new ones; None means only new ones. Raises Gone before it
        returns if changes after it are not remembered any more: list again."""
        ...

    async def write_external(self, name: ObjectName, data: Mapping[str, list[dict[str, str]]]) -> BatchJob:
        """Replace these keys of `externalScheduler` and keep the others; a key without rows is removed."""
        ...

    async def reset(self, name: ObjectName) -> BatchJob:
        """Set a failed BatchJob back to Ready. One that has not failed stays as it is. Raises Conflict if it is still
        claimed."""
        ...

    async def past_schedulings(self, query: PastQuery) -> PastSchedulingPage:
        """Deleted Schedulings and what they did."""
        ...

    async def past_scheduling(self, uid: int) -> PastScheduling: ...


BindObjects = Callable[[str], ObjectService]  # on behalf of a user
