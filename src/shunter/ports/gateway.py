"""The gateway: everything that a transport (REST today) may ask of the cluster, on behalf of one caller.

Implemented in `gateway/` on the engine. Calls raise only the errors of `model.errors`; what they return is committed.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from shunter.model.rest.admin_views import DeadPage, QueuePage, QueueView, Replayed, TemplatePage, TemplateView
from shunter.model.rest.views import (
    AttemptPage,
    ClusterInfo,
    EventPage,
    EventView,
    FollowLine,
    JobPage,
    JobView,
    NodePage,
    NodeStatsView,
    NodeView,
    PlanView,
    PolicyPage,
    SubmittedJob,
    TaskPage,
    TaskView,
    WhyView,
)
from shunter.ports.callers import Caller as Caller
from shunter.ports.callers import JobReference as JobReference
from shunter.ports.callers import TaskReference as TaskReference
from shunter.ports.metrics import MetricService
from shunter.ports.objects import Applied, ObjectService
from shunter.ports.schedulers import FlightService, SchedulerService
from shunter.ports.services import NodeService, ServiceJobService


@dataclass(frozen=True, slots=True)
class JobQuery:
    """Newest first. `namespace` None means all; `after` is the cursor of the page before."""

    namespace: str | None
    states: tuple[str, ...] = ()
    labels: tuple[tuple[str, str], ...] = ()
    limit: int = 100
    after: str | None = None


@dataclass(frozen=True, slots=True)
class TaskQuery:
    """By group and index. `all`: those that were replaced too, before the others."""

    states: tuple[str, ...] = ()
    limit: int = 1000
    after: str | None = None
    all: bool = False


@dataclass(frozen=True, slots=True)
class LogQuery:
    """A slice of one task's output. `attempt` None means the latest one that has started."""

    stream: str = "stdout"  # stdout | stderr
    offset: int = 0
    size_max: int = 2**20
    attempt: int | None = None


@dataclass(frozen=True, slots=True)
class LogChunk:
    """`next_offset` is where to go on. `eof`: the attempt has ended and this was the last of it. `truncated`: the log
    limit cut a hole into the output."""

    data: bytes
    next_offset: int
    eof: bool
    truncated: bool = False


@dataclass(frozen=True, slots=True)
class EventPosition:
    """Behind event `number` of a version; None means behind all of that version's events."""

    version: int
    number: int | None = None


@dataclass(frozen=True, slots=True)
class EventQuery:
    """`after` None means from the oldest kept for a page, from now on for a subscription. `job` needs a namespace."""

    namespace: str | None = None
    job: str | None = None
    limit: int = 100
    after: EventPosition | None = None


@dataclass(frozen=True, slots=True)
class DispatchRequest:
    """A run of a template, with what tells it from others."""

    namespace: str
    name: str
    parameters: Mapping[str, str]
    payload: bytes | None = None
    key: str | None = None


@dataclass(frozen=True, slots=True)
class QueueChange:
    """Rules of a queue to change: None leaves one as it is, a limit of 0 takes it away."""

    paused: bool | None = None
    strict: bool | None = None
    running_max: int | None = None
    queued_max: int | None = None


@dataclass(frozen=True, slots=True)
class DeadLetterSelector:
    """Which dead letters are meant: those with these numbers, or all; of one job, or of any; None: all namespaces."""

    namespace: str | None
    numbers: tuple[int, ...] = ()
    job: str | None = None


class Gateway(Protocol):
    @property
    def services(self) -> ServiceJobService: ...

    @property
    def node_admin(self) -> NodeService: ...

    @property
    def objects(self) -> ObjectService: ...

    @property
    def schedulers(self) -> SchedulerService: ...

    @property
    def flight(self) -> FlightService: ...

    @property
    def metrics(self) -> MetricService: ...

    def authenticate(self, token: str) -> Caller | None:
        """None for a token that nobody holds. Compares in constant time."""
        ...

    async def submit(
        self, caller: Caller, documents: Sequence[object], *, namespace: str, key: str | None
    ) -> list[SubmittedJob]:
        """Take all of these decoded manifests or none; returns after the commit. `namespace` holds where a manifest
        names none. The same `key` again returns the same jobs, not created. Raises Invalid, Conflict, Busy."""
        ...

    async def apply(
        self, caller: Caller, documents: Sequence[object], *, namespace: str, key: str | None
    ) -> list[SubmittedJob | Applied]:
        """The manifests of one file, of any kinds, all or none and in one commit; the answers are in the file's order.
        Jobs are taken as by `submit`, the others as by `objects.apply`. Raises Invalid, Conflict, Busy."""
        ...

    async def jobs(self, caller: Caller, query: JobQuery) -> JobPage: ...

    async def job(self, caller: Caller, job: JobReference) -> JobView: ...

    async def runs(self, caller: Caller, job: JobReference, limit: int, after: str | None) -> JobPage:
        """All runs of the job's name, newest first."""
        ...

    async def stop(
        self, caller: Caller, job: JobReference, task: TaskReference | None, now: bool, signal: int = 0
    ) -> None:
        """End a job, or one of its tasks; `now` leaves no grace, and `signal` is sent instead of TERM. What has ended
        stays as it is; one task of a service stays down until it is restarted."""
        ...

    async def tasks(self, caller: Caller, job: JobReference, query: TaskQuery) -> TaskPage: ...

    async def task(self, caller: Caller, job: JobReference, task: TaskReference) -> TaskView: ...

    async def attempts(self, caller: Caller, job: JobReference, task: TaskReference) -> AttemptPage: ...

    async def read_log(self, caller: Caller, job: JobReference, task: TaskReference, query: LogQuery) -> LogChunk:
        """What is there now, at most `size_max` bytes; empty where nothing (more) is."""
        ...

    async def follow_log(
        self, caller: Caller, job: JobReference, task: TaskReference, query: LogQuery
    ) -> AsyncGenerator[LogChunk, None]:
        """Pieces as they are written, until the task has ended (later attempts included, unless one is named).
        The first piece comes at once, even if it is empty. Errors of the reference are raised before it returns."""
        ...

    async def follow(self, caller: Caller, job: JobReference, mode: str) -> AsyncGenerator[FollowLine, None]:
        """Lines for mode `end`, `progress` or `logs`: the job first and at once, its end last. A job of several tasks
        has no log lines. A manager that stops ends it without the end. Errors of the reference are raised before it
        returns."""
        ...

    async def why(self, caller: Caller, job: JobReference, task: TaskReference | None = None) -> WhyView:
        """Why a job, or one of its tasks, is where it is. For what waits also which single changes would start it, and
        when it may start."""
        ...

    async def plan(self, caller: Caller, documents: Sequence[object], *, namespace: str) -> PlanView:
        """What submitting these manifests would do now, without doing it. Raises what the submit would."""
        ...

    async def policies(self, caller: Caller) -> PolicyPage:
        """All policies and filters with their source, and which of them decide. In one page."""
        ...

    async def use_policy(self, caller: Caller, name: str) -> PolicyPage:
        """Let another policy decide, from the next round on and after a restart too. Raises Invalid."""
        ...

    async def hold(self, caller: Caller, job: JobReference, is_held: bool) -> JobView:
        """Let nothing more of a job start, or let it go on. Raises Conflict for one that has ended."""
        ...

    async def retry(self, caller: Caller, job: JobReference, only_failed: bool, key: str | None) -> JobView:
        """A new run of a finished one: all of it, or the tasks that did not succeed. Raises Conflict."""
        ...

    async def templates(self, caller: Caller, namespace: str | None, limit: int, after: str | None) -> TemplatePage: ...

    async def template(self, caller: Caller, namespace: str, name: str) -> TemplateView: ...

    async def pause_template(self, caller: Caller, namespace: str, name: str, is_paused: bool) -> TemplateView: ...

    async def drop_template(self, caller: Caller, namespace: str, name: str) -> None:
        """Its runs go on."""
        ...

    async def dispatch(self, caller: Caller, request: DispatchRequest) -> JobView:
        """A run of a template, now. Raises Invalid for wrong parameters."""
        ...

    async def queues(self, caller: Caller) -> QueuePage: ...

    async def queue(self, caller: Caller, name: str) -> QueueView: ...

    async def change_queue(self, caller: Caller, name: str, change: QueueChange) -> QueueView: ...

    async def drop_queue(self, caller: Caller, name: str) -> None:
        """Take its rules away; what is in it stays."""
        ...

    async def purge_queue(self, caller: Caller, name: str) -> int:
        """Cancel what is queued in it; says how many tasks that were."""
        ...

    async def dead_letters(
        self, caller: Caller, namespace: str | None, job: str | None, limit: int, after: str | None
    ) -> DeadPage:
        """Tasks that gave up after their restarts, oldest first."""
        ...

    async def replay(self, caller: Caller, selector: DeadLetterSelector) -> Replayed: ...

    async def purge_dead(self, caller: Caller, selector: DeadLetterSelector) -> int: ...

    async def nodes(self, caller: Caller, limit: int, after: str | None) -> NodePage:
        """By name."""
        ...

    async def node(self, caller: Caller, name: str) -> NodeView: ...

    async def label_node(self, caller: Caller, name: str, labels: Mapping[str, str | None]) -> NodeView:
        """Set these labels; a value of None takes the label away."""
        ...

    async def node_stats(self, caller: Caller, name: str) -> NodeStatsView:
        """Fresh from the worker. Raises Unavailable where it does not answer."""
        ...

    async def events(self, caller: Caller, query: EventQuery) -> EventPage: ...

    async def subscribe(self, caller: Caller, query: EventQuery) -> AsyncGenerator[EventView, None]:
        """Events as they are committed, without end, `limit` left aside. Raises NotFound before it returns if
        retention has cut what follows `after`. Ends early for a reader that falls too far behind."""
        ...

    async def cluster(self, caller: Caller) -> ClusterInfo: ...

    async def update_cluster(self, caller: Caller, settings: Mapping[str, Any]) -> ClusterInfo:
        """Change settings, as `model.rest.admin_fields` reads them; they outlive a restart. A heartbeat of None
        follows the number of nodes. Raises Invalid, and Conflict for the heartbeat of simulated nodes."""
        ...

    async def down(self, caller: Caller, leave_running: bool) -> None:
        """Begin to stop the cluster; returns at once."""
        ...
