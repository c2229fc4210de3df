"""The messages between a manager and a worker, for every transport: calls in the process, a gRPC stream, a simulation.

Tasks are named by (job id, group number, index) and are sent as ranges of contiguous indexes. Times are milliseconds
since 1970. The order of messages: worker Hello; manager Welcome (or Refused); worker Inventory; then any."""

from __future__ import annotations

import msgspec

from shunter.model.job.spec import TaskSpec
from shunter.model.usage import AttemptsUsage

PROTOCOL_VERSION = 1


# ---- from the manager to a worker ----


class Welcome(msgspec.Struct, tag=True):
    """You are node `node`; report every `heartbeat_s`; now send your inventory. `term` is that of the election which
    the manager won; 0 if it is the only one."""

    epoch: int
    node: int
    heartbeat_s: float
    term: int = 0


class Refused(msgspec.Struct, tag=True):
    """The connection ends here. `code` is one of the documented error codes; `retry` says whether to come again.
    `leader` is the address at which another manager takes workers; empty if none is known."""

    code: str
    reason: str
    retry: bool = False
    leader: str = ""


class Order(msgspec.Struct, array_like=True, gc=False):
    """Run tasks first..last (inclusive) as attempt `attempt`, at most `width` at once in reservation `reservation`.

    An order may be repeated; a worker acts once on each (job, group, index, attempt).
    """

    job: int
    group: int
    first: int
    last: int
    attempt: int
    spec: int  # key into Orders.specs
    reservation: int
    width: int
    namespace: str
    job_name: str
    group_name: str
    count: int  # tasks in the group, for SHUNTER_TASK_COUNT
    shown: list[int] = []  # what each of the tasks is told as its SHUNTER_TASK_INDEX; empty: its index
    entries: list[str] = []  # SHUNTER_ENTRY of each of them; empty: none
    trace: str = ""  # W3C context: TRACEPARENT of the tasks; empty: none


class Orders(msgspec.Struct, tag=True):
    epoch: int
    orders: list[Order]
    specs: dict[int, TaskSpec]


class StopRange(msgspec.Struct, array_like=True, gc=False):
    """End these attempts: TERM (or `signal`), after `grace_s` KILL, whole process trees. What has not started is
    returned. An attempt newer than `attempt` is left alone; 0 means any."""

    job: int
    group: int
    first: int
    last: int
    grace_s: float
    attempt: int = 0
    signal: int = 0


class Stop(msgspec.Struct, tag=True):
    epoch: int
    ranges: list[StopRange]


class Recall(msgspec.Struct, tag=True):
    """Give back, as Returned, what has not started in these reservations."""

    epoch: int
    reservations: list[int]


class Ack(msgspec.Struct, tag=True):
    """Reports up to `seq` are committed; their results need not be kept any longer."""

    seq: int


class SetHeartbeat(msgspec.Struct, tag=True):
    heartbeat_s: float


class ReadLog(msgspec.Struct, tag=True):
    """Send LogData for up to `size_max` bytes of a task's output, from `offset` within the task's own slice. With a
    segment of 0 it is that of an attempt that has not been reported to have started, if it writes one already."""

    request: int
    segment: int
    record: int
    stream: str  # stdout | stderr
    offset: int
    size_max: int
    job: int = 0
    group: int = 0
    index: int = 0
    attempt: int = 0


class ReadStats(msgspec.Struct, tag=True):
    """Send StatsData now: the machine and every running task."""

    request: int


class Shutdown(msgspec.Struct, tag=True):
    """The cluster stops. With `stop_tasks`, end every task gracefully, report it lost, then end the keepers."""

    stop_tasks: bool


class Pong(msgspec.Struct, tag=True):
    """The answer to a Ping, by a manager that leads: when that was sent, no manager had given this node up."""

    number: int


class NewCertificate(msgspec.Struct, tag=True):
    """The answer to a CertificateRequest: the certificate and the chain behind it, and all authorities that the worker
    is to trust from now on, as PEM texts."""

    certificate: bytes
    authorities: bytes


class Leader(msgspec.Struct):
    """Which manager leads, as the manager knows that was asked: it takes workers at `address`, which is empty if nobody
    is known to lead. News of an older term is out of date. `here` means that the manager that was asked takes workers:
    it leads or, if `relayed`, passes their streams on to the leader."""

    address: str = ""
    term: int = 0
    here: bool = False
    relayed: bool = False


ManagerMessage = (
    Welcome
    | Refused
    | Orders
    | Stop
    | Recall
    | Ack
    | SetHeartbeat
    | ReadLog
    | ReadStats
    | Shutdown
    | Pong
    | NewCertificate
)


# ---- from a worker to the manager ----


SIMULATED_BOOT = "simulated"  # of every node that exists only in the memory of a manager


class Hello(msgspec.Struct, tag=True):
    """Who this worker is and what its machine has. `boot` differs for every worker process, `worker_id` for every
    home, and `machine_boot` for every boot of `machine`; workers of 0.1.0 send none of these three."""

    protocol: int
    name: str
    boot: str
    capacity: dict[str, int]  # resource -> inner amount
    labels: dict[str, str] = {}
    datacenter: str = "dc1"
    attributes: dict[str, str] = {}  # os, kernel, arch, cgroup version, shunter version...
    address: str = ""
    worker_id: str = ""
    machine: str = ""
    machine_boot: str = ""


class Ended(msgspec.Struct, array_like=True, gc=False):
    """Attempts first..first+len(ended_ms)-1 ended. An empty `exits` means that all exited with 0.

    `how` is "" for a plain exit; else timeout, memory, disk, stopped, unhealthy or error (it could not be started;
    `detail` says why), and then the run has one task. An `exit` of -1 means that there is none. `record` is the first
    one's place in the log segment; the others follow it. `usage` is None where nothing was measured.
    """

    job: int
    group: int
    attempt: int
    first: int
    exits: list[int]
    started_ms: list[int]
    ended_ms: list[int]
    segment: int
    record: int
    how: str = ""
    detail: str = ""
    usage: AttemptsUsage | None = None


class Started(msgspec.Struct, array_like=True, gc=False):
    """One attempt runs and has not ended within a few milliseconds (shorter ones are reported as Ended only)."""

    job: int
    group: int
    attempt: int
    index: int
    started_ms: int
    segment: int
    record: int
    ports: dict[str, int] = {}  # name -> host port, of those that the task serves


class Health(msgspec.Struct, array_like=True, gc=False):
    """The checks of a running attempt have come to another opinion: all pass now, or one has failed too often."""

    job: int
    group: int
    attempt: int
    index: int
    is_healthy: bool
    at_ms: int
    detail: str = ""


class Returned(msgspec.Struct, array_like=True, gc=False):
    """These attempts were never started and will not be: the answer to Recall, or to Stop for what had not begun."""

    job: int
    group: int
    attempt: int
    first: int
    last: int


LOST_RUNNING = "running"  # in a keeper that died: it may be the task that ended the keeper
LOST_WAITING = "waiting"  # in a keeper that died, behind the running one


class Lost(msgspec.Struct, array_like=True, gc=False):
    """These attempts ended without an exit code. `with_keeper` says what an attempt that was lost together with its
    keeper did there: LOST_RUNNING or LOST_WAITING; it is empty for every other loss."""

    job: int
    group: int
    attempt: int
    first: int
    last: int
    reason: str
    with_keeper: str = ""


class Held(msgspec.Struct, array_like=True, gc=False):
    """In an inventory: attempts that this worker has and has not ended. Running ones are runs of one."""

    job: int
    group: int
    attempt: int
    first: int
    last: int
    running: bool
    started_ms: int = 0
    segment: int = 0
    record: int = 0
    ports: dict[str, int] = {}


class Inventory(msgspec.Struct, tag=True):
    """All that this worker has; sent once, right after Welcome. Acknowledged like a report."""

    seq: int
    held: list[Held]
    ended: list[Ended]
    lost: list[Lost] = []
    health: list[Health] = []


class Report(msgspec.Struct, tag=True):
    """What happened since the last report. `seq` rises by one with each report of a connection."""

    seq: int
    ended: list[Ended] = []
    started: list[Started] = []
    returned: list[Returned] = []
    lost: list[Lost] = []
    health: list[Health] = []


class TaskStats(msgspec.Struct, array_like=True, gc=False):
    job: int
    group: int
    index: int
    attempt: int
    cpu_s: float
    memory_bytes: int
    processes: int
    started_ms: int = 0  # by the worker's clock
    read_bytes: int = 0  # from and to disks, since the start
    written_bytes: int = 0


class MachineStats(msgspec.Struct, omit_defaults=True):
    """The latest sample of the machine. Fractions are 0 to 1."""

    at_ms: int
    cpu_busy: float = 0.0
    load_1m: float = 0.0
    memory_total_bytes: int = 0
    memory_available_bytes: int = 0
    disk_total_bytes: int = 0
    disk_free_bytes: int = 0
    tasks_running: int = 0
    keepers: int = 0


class MachineSample(msgspec.Struct, array_like=True):
    """What the machine and the tasks on it have used up to a moment, for the manager to take differences of: all but
    memory are sums since the machine, or the task, began."""

    at_ms: int
    cpu_s: float
    memory_bytes: int
    read_bytes: int
    written_bytes: int
    received_bytes: int
    sent_bytes: int
    tasks: list[TaskStats] = []


class Heartbeat(msgspec.Struct, tag=True):
    """`samples` are those since the heartbeat before."""

    stats: MachineStats
    samples: list[MachineSample] = []


LOG_GONE = "the log is no longer available"  # the `error` of LogData that stays


class LogData(msgspec.Struct, tag=True):
    """`eof` means that the slice ends here for good; `truncated` that the log limit cut a hole into it. Offsets count
    the output as it was written; `next` is where to read on, which skips what was cut. With an `error` there is no
    data: LOG_GONE, or something that may pass."""

    request: int
    data: bytes
    eof: bool
    truncated: bool = False
    error: str = ""
    next: int = 0


class StatsData(msgspec.Struct, tag=True):
    request: int
    machine: MachineStats
    tasks: list[TaskStats]


class Goodbye(msgspec.Struct, tag=True):
    """The worker leaves on purpose; its tasks go on in their keepers unless it says that they were stopped."""

    reason: str


class Ping(msgspec.Struct, tag=True):
    """Asks for a Pong. Sent by a worker that has tasks with `stop_after_s`, which it stops without an answer."""

    number: int


class CertificateRequest(msgspec.Struct, tag=True):
    """Sign another certificate for the key of this worker, which presented one when it connected. PKCS #10, as DER."""

    request: bytes


WorkerMessage = Hello | Inventory | Report | Heartbeat | LogData | StatsData | Goodbye | Ping | CertificateRequest
