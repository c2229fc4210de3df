"""What the three reconcile functions see and return. The engine builds the views and carries out the results; the
functions change nothing themselves.

A second run on the same view returns that nothing is to do."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Set

import msgspec

from shunter.model.lifecycles import State
from shunter.model.objects.batch_jobs import BatchJob, BatchJobStatus, CreationRequest
from shunter.model.objects.object_meta import ObjectName
from shunter.model.objects.schedulings import Scheduling, SchedulingStatus
from shunter.model.objects.testbeds import SlotHolder, SlotPlace, Testbed
from shunter.testbeds.queue_order import ReconcileCache

# ---- testbeds ----


class LabelledNode(msgspec.Struct, frozen=True):
    """A node that has the testbed's label."""

    name: str
    label: str  # the label's value, which should be a whole number
    # Capacity less all reservations but those of this testbed's own slots; of a node that is not ready, too.
    free: Mapping[str, int]
    is_ready: bool = True
    not_ready_reason: str = ""  # why it is not


class SlotUse(msgspec.Struct, frozen=True):
    """The use of a slot: reserved for the executor from its request on, and occupied while it runs."""

    holder: SlotHolder
    is_running: bool


# ---- batch jobs ----


class ApplicationState(State):
    """The state of what runs for a BatchJob of any kind."""

    SUBMITTED = 0
    SCHEDULED = 1  # every executor has its node
    RUNNING = 2  # every executor has started
    COMPLETED = 3
    FAILED = 4
    LOST = 5  # some of its tasks would have to run again, without the others


class Application(msgspec.Struct, frozen=True):
    id: int
    state: ApplicationState
    has_processes: bool  # some of its tasks are not gone yet: their slots are not free
    started_ms: int = 0  # when it reached RUNNING, or of one that ended before, when the last executor began; 0: now
    ended_ms: int = 0  # 0: now
    reason: str = ""  # why it failed or was lost

    @property
    def has_ended(self) -> bool:
        return self.state in (ApplicationState.COMPLETED, ApplicationState.FAILED)


class BatchJobView(msgspec.Struct, frozen=True):
    job: BatchJob
    scheduling: Scheduling | None  # the Scheduling that claims it, if one of that name exists
    testbed: Testbed | None  # that its request names
    application: Application | None  # None: there is none any more
    now_ms: int


class StartApplication(msgspec.Struct, frozen=True):
    """One executor in each of these slots, executor i in slot i."""

    request: CreationRequest
    places: tuple[SlotPlace, ...]
    size: Mapping[str, int]


class BatchJobOutcome(msgspec.Struct, frozen=True):
    """`statuses` are all that it passes through, in order: watchers see each. `start` comes with the first that is
    SUBMITTED: the engine fills in the application's id, there and in those behind it."""

    statuses: tuple[BatchJobStatus, ...] = ()
    start: StartApplication | None = None
    stop: bool = False  # end the application and all its processes
    stop_reason: str = ""  # why it ends as failed; empty if it was released
    drops_request: bool = False  # its Scheduling shall request slots again

    @property
    def is_empty(self) -> bool:
        return not (self.statuses or self.start or self.stop)


# ---- schedulings ----


class SchedulingView(msgspec.Struct, frozen=True):
    scheduling: Scheduling
    job: Callable[[ObjectName], BatchJob | None]
    testbed: Testbed | None
    now_ms: int
    # every job whose claim names this Scheduling, whatever its spec says now
    claimed_jobs: Callable[[], Iterable[BatchJob]]
    find_scheduling: Callable[[ObjectName], Scheduling | None]  # any Scheduling: the holder of what this one needs
    cache: ReconcileCache = msgspec.field(default_factory=ReconcileCache)  # of the looks before


class SchedulingOutcome(msgspec.Struct, frozen=True):
    """What a Scheduling wants written. Claims and releases of jobs and testbed are all or nothing; the same view shows
    that they are free, so they cannot fail."""

    statuses: tuple[SchedulingStatus, ...] = ()
    touched_jobs: Set[int] | None = None  # of the statuses' jobs, the indices of all that may have changed; None: any
    claims: tuple[ObjectName, ...] = ()  # jobs to claim
    releases: tuple[ObjectName, ...] = ()
    requests: Mapping[ObjectName, CreationRequest] = {}
    claims_testbed: bool = False
    releases_testbed: bool = False
    requeue_at_ms: int | None = None  # when its confirmation times out

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to write; it may still ask to be reconciled later."""
        return not (
            self.statuses
            or self.claims
            or self.releases
            or self.requests
            or self.claims_testbed
            or self.releases_testbed
        )
