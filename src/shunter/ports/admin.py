"""What a transport may ask about nodes, queues, templates, dead letters, policies, events and the cluster: the
Protocols of the sub-gateways of the same names. Implemented in `gateway/`, always on behalf of one caller.

Calls raise only the errors of `model.errors`. They return only committed state.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from shunter.model.rest.admin_views import DeadPage, QueuePage, QueueView, Replayed, TemplatePage, TemplateView
from shunter.model.rest.cluster_views import ClusterInfo, EventPage, PolicyPage
from shunter.model.rest.job_views import JobView
from shunter.model.rest.node_views import NodePage, NodeStatsView, NodeView


@dataclass(frozen=True, slots=True)
class DispatchRequest:
    """A run of a template, with its parameters and payload."""

    namespace: str
    name: str
    parameters: Mapping[str, str]
    payload: bytes | None = None
    key: str | None = None


@dataclass(frozen=True, slots=True)
class QueueChange:
    """Rules of a queue to change. None leaves a rule as it is; a limit of 0 removes the limit."""

    paused: bool | None = None
    strict: bool | None = None
    running_max: int | None = None
    queued_max: int | None = None


@dataclass(frozen=True, slots=True)
class DeadLetterSelector:
    """Selects dead letters by number, or all; of one job, or of any. `namespace` None means all namespaces."""

    namespace: str | None
    numbers: tuple[int, ...] = ()
    job: str | None = None


@dataclass(frozen=True, slots=True)
class EventPosition:
    """The position after event `number` of a version; None means after all events of that version."""

    version: int
    number: int | None = None


@dataclass(frozen=True, slots=True)
class EventQuery:
    """`after` None: a page starts at the oldest event, a subscription starts now. `job` needs a namespace. A page of
    the newest first goes on with what was before `after`."""

    namespace: str | None = None
    job: str | None = None
    limit: int = 100
    after: EventPosition | None = None
    types: tuple[str, ...] = ()  # empty: all
    is_newest_first: bool = False


class TemplateService(Protocol):
    async def page(self, namespace: str | None, limit: int, after: str | None) -> TemplatePage: ...

    async def get(self, namespace: str, name: str) -> TemplateView: ...

    async def pause(self, namespace: str, name: str, is_paused: bool) -> TemplateView: ...

    async def delete(self, namespace: str, name: str) -> None:
        """Its runs continue."""
        ...

    async def dispatch(self, request: DispatchRequest) -> JobView:
        """Start a run of a template now. Raises Invalid for wrong parameters."""
        ...


class QueueService(Protocol):
    async def page(self) -> QueuePage: ...

    async def get(self, name: str) -> QueueView: ...

    async def patch(self, name: str, change: QueueChange) -> QueueView: ...

    async def delete(self, name: str) -> None:
        """Remove its rules; its tasks stay."""
        ...

    async def purge(self, name: str) -> int:
        """Cancel its queued tasks; returns how many."""
        ...


class DeadLetterService(Protocol):
    """Tasks that failed after their last restart."""

    async def page(self, namespace: str | None, job: str | None, limit: int, after: str | None) -> DeadPage:
        """Oldest first."""
        ...

    async def replay(self, selector: DeadLetterSelector) -> Replayed:
        """Start one run for each job of the selected letters. Skips jobs that have not ended, unless the selector names
        numbers or a job."""
        ...

    async def purge(self, selector: DeadLetterSelector) -> int:
        """Returns how many were purged."""
        ...


class NodeService(Protocol):
    async def page(self, limit: int, after: str | None) -> NodePage:
        """The nodes by name."""
        ...

    async def get(self, name: str) -> NodeView: ...

    async def stats(self, name: str) -> NodeStatsView:
        """Fresh from the worker. Raises Unavailable if it does not answer."""
        ...

    async def set_labels(self, name: str, labels: Mapping[str, str | None]) -> NodeView:
        """Set these labels; None removes a label."""
        ...

    async def set_attributes(self, name: str, attributes: Mapping[str, str | None]) -> NodeView:
        """Set these attributes; None removes an attribute."""
        ...

    async def drain(self, name: str, deadline_s: float | None) -> NodeView:
        """Empty a node. Batch tasks that still run at the deadline are queued again."""
        ...

    async def undrain(self, name: str) -> NodeView: ...

    async def cordon(self, name: str, reason: str) -> NodeView:
        """Stop new tasks from starting on a node; running tasks continue."""
        ...

    async def uncordon(self, name: str) -> NodeView: ...

    async def release(self, name: str) -> NodeView:
        """Release a node from quarantine."""
        ...

    async def forget(self, name: str) -> NodeView:
        """Declare that nothing runs on a down node any more: tasks that wait for it run elsewhere."""
        ...


class PolicyService(Protocol):
    async def page(self) -> PolicyPage:
        """All policies and filters with their source, and which of them are active. One page."""
        ...

    async def use(self, name: str) -> PolicyPage:
        """Activate a policy from the next round on; it stays active after a restart. Raises Invalid."""
        ...


class EventService(Protocol):
    async def page(self, query: EventQuery) -> EventPage: ...

    async def subscribe(self, query: EventQuery) -> AsyncGenerator[bytes, None]:
        """Events as they are committed, encoded as server-sent events (`model.rest.event_stream`), without end; ignores
        `limit`. Raises NotFound before it returns if retention has removed events after `after`. Ends early if the
        reader falls too far behind; the last message then has the position to resume from."""
        ...


class ClusterService(Protocol):
    def check_health(self) -> None:
        """Raises Unavailable with the reason if the manager cannot commit."""
        ...

    async def info(self) -> ClusterInfo: ...

    async def update(self, settings: Mapping[str, Any]) -> ClusterInfo:
        """Change settings, as `model.rest.admin_fields` reads them; they survive a restart. A heartbeat of None
        follows the number of nodes. Raises Invalid, and Conflict for the heartbeat of simulated nodes."""
        ...

    async def stop(self, leave_running: bool, is_whole_cluster: bool = False) -> list[str]:
        """Begin to stop the manager and its own worker. Of the whole cluster, the other workers and managers are
        stopped first; returns those that could not be."""
        ...
