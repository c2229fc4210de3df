"""Changes: what a round did, as values. The engine decides changes, `State.apply` carries them out, the store keeps
them, recovery applies them again, and events are a rendering of them.

A row that moves tasks names its job in words as well (`ref`), so that history reads without looking anything up.
"""

from __future__ import annotations

from itertools import accumulate

import msgspec


class _Change(msgspec.Struct, array_like=True, gc=False, tag_field="kind"):
    pass


NO_OPTIONS = msgspec.Raw(b"\x80")  # an empty map: every option as by default


class JobSubmitted(_Change, tag=1):
    job: int
    namespace: str
    name: str
    run: int
    type: str
    priority: int
    labels: dict[str, str]
    user: str
    at_ms: int
    groups: msgspec.Raw  # tuple[GroupSpec, ...]; shared between jobs that are alike but for their names
    options: msgspec.Raw = NO_OPTIONS  # JobOptions
    is_waiting: bool = False  # for other jobs or a time: its tasks begin as waiting
    targets: list[
        int
    ] = []  # the jobs that it waits for: by the options' `after`, then those whose end it awaits anyway


class KeyUsed(_Change, tag=2):
    """A client's key for a submit: repeating it returns these jobs."""

    key: str
    jobs: list[int]
    at_ms: int


class TasksPlaced(_Change, tag=3):
    """queued -> assigned, as attempt `attempt`."""

    job: int
    group: int
    first: int
    last: int
    attempt: int
    node: int
    ref: str


class TaskStarted(_Change, tag=4):
    job: int
    group: int
    index: int
    started_ms: int
    log: int
    ref: str
    ports: dict[str, int] = {}


class TasksFinished(_Change, tag=5):
    """All of them exited with 0. `started` and `ended` are times packed by `pack_times`; logs follow one another."""

    job: int
    group: int
    first: int
    last: int
    started: list[int]
    ended: list[int]
    log: int
    ref: str


class TaskEnded(_Change, tag=6):
    """One attempt ended otherwise. `event` is RETRIED, GAVE_UP or STOPPED; `not_before_ms` holds for RETRIED."""

    job: int
    group: int
    index: int
    event: int
    exit_code: int
    started_ms: int
    ended_ms: int
    log: int
    not_before_ms: int
    reason: str
    ref: str


class TasksLost(_Change, tag=7):
    """Attempts ended without an exit code: queued again."""

    job: int
    group: int
    first: int
    last: int
    at_ms: int
    reason: str
    ref: str


class TasksMoved(_Change, tag=8):
    """A move without further facts. `event` is UNBLOCKED, RETURNED, CANCEL_ASKED, PREEMPTED, STOPPED, REQUEUED,
    CANCELLED or GAVE_UP. PREEMPTED also stands for a drain or a move: the task is to come back."""

    job: int
    group: int
    first: int
    last: int
    event: int
    at_ms: int
    reason: str
    ref: str


class JobStopAsked(_Change, tag=9):
    job: int
    at_ms: int
    reason: str
    ref: str


class JobEnded(_Change, tag=10):
    """The run is over and leaves memory; its history went to the store in the same commit."""

    job: int
    event: int
    at_ms: int
    reason: str
    ref: str


class NodeJoined(_Change, tag=11):
    """A worker said who it is: a new node, or the facts of a known one anew."""

    node: int
    name: str
    boot: str
    capacity: dict[str, int]
    labels: dict[str, str]
    datacenter: str
    attributes: dict[str, str]
    address: str
    at_ms: int


class NodeMoved(_Change, tag=12):
    node: int
    event: int
    reason: str
    at_ms: int
    ref: str


class NodeLabelled(_Change, tag=13):
    """Labels set by hand; they win over those that the worker brings. An empty value takes the label away."""

    node: int
    labels: dict[str, str]
    at_ms: int
    ref: str


class LanesSet(_Change, tag=14):
    """The reservation of a class on a node has `width` lanes from now on; 0 ends it."""

    class_id: int
    node: int
    width: int


class KeysDropped(_Change, tag=15):
    """The oldest `count` client keys are forgotten."""

    count: int


class NamesDropped(_Change, tag=16):
    """History purged the last run of these names; a later run counts from 1 again."""

    names: list[tuple[str, str]]


class JobUpdated(_Change, tag=17):
    """A lasting job has another spec from now on. What runs by the older one is replaced step by step. `how` is update,
    scale, rollback or restart; with a `node`, only what runs there is replaced."""

    job: int
    version: int
    priority: int
    labels: dict[str, str]
    groups: msgspec.Raw
    options: msgspec.Raw
    at_ms: int
    reason: str
    ref: str
    how: str = "update"
    node: int = 0


class GroupAdded(_Change, tag=18):
    """A further piece of a job: tasks of its group `part`, by the job's present spec. Index i of the piece is shown as
    task `shown[i]`; with a `node`, its tasks run there or nowhere. They begin as waiting."""

    job: int
    number: int
    part: int
    shown: list[int]
    node: int
    ref: str
    at_ms: int = 0
    reason: str = ""


class GroupDropped(_Change, tag=19):
    """A piece of which all tasks have ended leaves its job."""

    job: int
    number: int
    ref: str


class TaskHealth(_Change, tag=20):
    job: int
    group: int
    index: int
    is_healthy: bool
    at_ms: int
    detail: str
    ref: str


class JobHeld(_Change, tag=21):
    """Held: nothing more of it is placed until it is released."""

    job: int
    is_held: bool
    at_ms: int
    ref: str


class EdgeSettled(_Change, tag=22):
    """One of the jobs that this one waits for has ended. `is_met` False: it can come true no more, but runs anyway."""

    job: int
    edge: int  # its place among the job's targets
    is_met: bool
    at_ms: int
    ref: str


class JobFlagged(_Change, tag=23):
    """Something about a job that people should know: it missed its deadline, or is to fail for a reason of its own."""

    job: int
    flag: str
    at_ms: int
    reason: str
    ref: str


class TemplateSet(_Change, tag=24):
    """A job to be run by the clock or by dispatches: new, or another spec of a known one."""

    namespace: str
    name: str
    spec: msgspec.Raw  # JobSpec
    user: str
    at_ms: int
    id: int  # counted with the jobs, so that no job has the same


class TemplatePaused(_Change, tag=25):
    namespace: str
    name: str
    is_paused: bool
    at_ms: int


class TemplateDropped(_Change, tag=26):
    namespace: str
    name: str
    at_ms: int


class TemplateFired(_Change, tag=27):
    """A firing was due, or asked for (`due_ms` 0). `job` 0 means that it made no run, and `reason` why."""

    namespace: str
    name: str
    due_ms: int
    job: int
    reason: str
    at_ms: int


class QueueSet(_Change, tag=28):
    """A named queue has these rules from now on."""

    name: str
    is_paused: bool
    is_strict: bool
    running_max: int
    queued_max: int
    at_ms: int


class QueueDropped(_Change, tag=29):
    name: str
    at_ms: int


class NodeSwitched(_Change, tag=30):
    """Whether a node takes work: `by` is "" for yes, else cordon or quarantine."""

    node: int
    by: str
    reason: str
    at_ms: int
    ref: str


class NodeAttributed(_Change, tag=31):
    """Attributes set by hand; like labels, they win over those that the worker brings."""

    node: int
    attributes: dict[str, str]
    at_ms: int
    ref: str


class DrainSet(_Change, tag=32):
    """Whether a node is to be drained, also when it comes back from being down, and until when it waits for its batch
    tasks; 0 means for ever."""

    node: int
    deadline_ms: int
    is_asked: bool = True


class ClusterSet(_Change, tag=33):
    """A setting of the whole cluster, changed live. An empty value means the default again."""

    name: str
    value: str
    at_ms: int


class DeadDropped(_Change, tag=34):
    """Dead letters that were replayed or purged, by number."""

    numbers: list[int]
    reason: str
    at_ms: int


class UpdateSettled(_Change, tag=40):
    """A lasting job has come to the end of an update: all of it runs well by the present spec, or it stays half-way."""

    job: int
    version: int
    is_good: bool
    at_ms: int
    reason: str
    ref: str


class InstanceSwitched(_Change, tag=41):
    """One instance of a lasting job is taken down, until it is started again."""

    job: int
    group: str
    index: int
    is_down: bool
    at_ms: int
    ref: str


class InstanceRenewed(_Change, tag=42):
    """One instance of a lasting job is to be replaced by a fresh one of the same spec."""

    job: int
    group: str
    index: int
    at_ms: int
    ref: str


class GroupFreed(_Change, tag=43):
    """A piece that was moved to a node may run anywhere from now on; none of its tasks is on a node."""

    job: int
    number: int
    ref: str


class TaskBound(_Change, tag=44):
    """A task goes to this node next, and nowhere else; 0: wherever it fits."""

    job: int
    group: int
    index: int
    node: int
    at_ms: int
    reason: str
    ref: str


Change = (
    JobSubmitted
    | KeyUsed
    | TasksPlaced
    | TaskStarted
    | TasksFinished
    | TaskEnded
    | TasksLost
    | TasksMoved
    | JobStopAsked
    | JobEnded
    | NodeJoined
    | NodeMoved
    | NodeLabelled
    | LanesSet
    | KeysDropped
    | NamesDropped
    | JobUpdated
    | GroupAdded
    | GroupDropped
    | TaskHealth
    | JobHeld
    | EdgeSettled
    | JobFlagged
    | TemplateSet
    | TemplatePaused
    | TemplateDropped
    | TemplateFired
    | QueueSet
    | QueueDropped
    | NodeSwitched
    | NodeAttributed
    | DrainSet
    | ClusterSet
    | DeadDropped
    | UpdateSettled
    | InstanceSwitched
    | InstanceRenewed
    | GroupFreed
    | TaskBound
)

_encoder = msgspec.msgpack.Encoder()
_decoder = msgspec.msgpack.Decoder(list[Change])


def encode_round(changes: list[Change]) -> bytes:
    return _encoder.encode(changes)


def decode_round(body: bytes) -> list[Change]:
    return _decoder.decode(body)


def pack_times(times_ms: list[int]) -> list[int]:
    """Times of neighbouring tasks: the first whole, then the differences, which pack into a byte or two."""
    return [later - earlier for earlier, later in zip([0, *times_ms], times_ms, strict=False)]


def unpack_times(steps: list[int]) -> list[int]:
    return list(accumulate(steps))
