"""BatchJobs: recurring distributed applications (Spark, Flink, or any command as N executors), with the data that
external schedulers store with them."""

from __future__ import annotations

from functools import cached_property

import msgspec

from shunter.model.lifecycles import State
from shunter.model.objects.object_meta import Document, Meta, ObjectName
from shunter.model.objects.testbeds import SlotPlace

FAIL, RESTART = "fail", "restart"  # `onNodeLoss`
NODE_LOSS_RESTARTS_MAX = 20  # of one claim; the next loss fails the run
SCHEDULED_EVENTS_MAX = 100  # runs that a BatchJob remembers; history has the older ones


class BatchJobState(State):
    READY = 0
    IN_QUEUE = 1
    SUBMITTED = 2
    SCHEDULED = 3
    RUNNING = 4
    COMPLETED = 5
    PENDING_DELETION = 6
    FAILED_SUBMISSION = 7
    FAILED = 8

    @cached_property
    def wire_name(self) -> str:
        """The name in the API: `InQueueState`. One state has another ending."""
        camel = "".join(part.capitalize() for part in self.name.split("_"))
        return camel if self is BatchJobState.PENDING_DELETION else f"{camel}State"


class BatchJobSpec(msgspec.Struct, frozen=True, array_like=True):
    """Exactly one of the three kinds of application; each as its manifest has it, so that nothing gets lost."""

    spark: Document | None = None
    flink: Document | None = None
    command: Document | None = None
    external: dict[str, list[dict[str, str]]] = {}  # `externalScheduler`: a key for each scheduler's data
    driver: Document = {}  # `driver`: ours: the request of the driver or JobManager
    on_node_loss: str = FAIL  # what becomes of a run that has lost a node

    @property
    def engine(self) -> str:
        return "spark" if self.spark is not None else "flink" if self.flink is not None else "command"


class CreationRequest(msgspec.Struct, frozen=True, array_like=True, gc=False):
    testbed: ObjectName
    slot_ids: tuple[int, ...]  # ascending, as numbered when it was made

    @property
    def replication(self) -> int:
        return len(self.slot_ids)


class Claim(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """Written by a Scheduling: `spec.activeScheduling` and `spec.creationRequest` on the wire."""

    scheduling: ObjectName
    request: CreationRequest | None = None


class ScheduledEvent(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """One run."""

    start_ms: int
    scheduling: ObjectName
    testbed: ObjectName
    slot_ids: tuple[int, ...]
    job: int  # the job of the core that ran it
    stop_ms: int = 0
    successful: bool | None = None
    reason: str = ""  # why it failed; names the node, if it lost one


class BatchJobStatus(msgspec.Struct, frozen=True, array_like=True, gc=False):
    state: BatchJobState = BatchJobState.READY
    events: tuple[ScheduledEvent, ...] = ()
    active_scheduling: ObjectName | None = None  # the claim as this job has confirmed it
    testbed: ObjectName | None = None  # `slots` on the wire; until release, like the three below
    slot_ids: tuple[int, ...] = ()
    places: tuple[SlotPlace, ...] = ()  # executor i is in places[i]
    application: int = 0  # the job of the core that runs it now, or ran it last; 0 after release
    problems: list[str] = []
    observed_generation: int = 0
    runs: int = 0  # all that ever started
    since_ms: int = 0  # in this state
    restarts: int = 0  # after lost nodes, since it was claimed

    @property
    def replication(self) -> int:
        return len(self.slot_ids)


class BatchJob(msgspec.Struct, frozen=True, array_like=True, gc=False):
    meta: Meta
    spec: BatchJobSpec
    claim: Claim | None = None
    status: BatchJobStatus = BatchJobStatus()
