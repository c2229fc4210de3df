"""A validated job: frozen, normalised, with every default filled in. Built by `model.job.manifests`.

A job has groups. A group's TaskSpec has what a worker must know of its tasks. The group itself says where and when they
may run. JobOptions apply to the whole job."""

from __future__ import annotations

import msgspec

COUNT_MAX = 10_000_000
SERVICE_COUNT_MAX = 10_000  # instances of a service: each one is looked at in every step of a rollout
PRIORITY_DEFAULT = 50
LOST_MAX = 20
NAMESPACE_DEFAULT = "default"
QUEUE_DEFAULT = "default"
PORT_PREFIX = "port/"  # a fixed host port is a resource of which every node has one
LICENCE_PREFIX = "licence/"  # a resource of the whole cluster, not of a node

BATCH, SERVICE, SYSTEM, SYSBATCH = "batch", "service", "system", "sysbatch"
LONG_RUNNING = frozenset({SERVICE, SYSTEM})  # types that run until they are stopped, and are updated in place
PER_NODE = frozenset({SYSTEM, SYSBATCH})  # types with one task on each matching node


# ---- what a worker must know ----


class Mount(msgspec.Struct, frozen=True, omit_defaults=True):
    source: str  # a path on the node; for containers also the name of a volume
    target: str
    read_only: bool = False


class Port(msgspec.Struct, frozen=True, omit_defaults=True):
    """A port that the task serves. Without a host port the node chooses a free one."""

    name: str
    port: int  # inside a container; a process without one serves the host port
    host_port: int = 0


class HealthCheck(msgspec.Struct, frozen=True, omit_defaults=True):
    """How to see that a task is well: exactly one of http (a path), tcp, command, or the name of a plugin's check.
    After `failures` in a row the attempt is ended as unhealthy, and its restart policy decides."""

    kind: str  # http | tcp | command | the name of a plugin
    path: str = ""  # of http
    port: str = ""  # the name of a port, or a number; for http and tcp
    command: tuple[str, ...] = ()
    interval_s: float = 10.0
    timeout_s: float = 2.0
    failures: int = 3
    start_grace_s: float = 0.0  # before this, failures count only once the check has passed
    options: dict[str, str] = {}  # of a plugin


class Container(msgspec.Struct, frozen=True, omit_defaults=True):
    image: str
    args: tuple[str, ...] = ()
    network: str = "bridge"  # bridge | host | none | the name of a network
    cap_add: tuple[str, ...] = ()  # all capabilities are dropped but these
    pids_max: int = 4096
    pull: str = "missing"  # missing | always | never
    read_only: bool = False  # of its root file system


class SecretRef(msgspec.Struct, frozen=True, omit_defaults=True):
    """A secret of the job's namespace that the task gets as a variable or as a file. `value` is filled in orders to
    workers only."""

    name: str
    env: str = ""
    file: str = ""  # its name in the folder that SHUNTER_SECRETS names
    value: bytes | None = None

    def __repr__(self) -> str:
        return f"SecretRef({self.name!r})"  # a value must not get into a log


class TaskSpec(msgspec.Struct, frozen=True, omit_defaults=True):
    """What a worker must know to run one task; alike for all tasks of a group."""

    command: tuple[str, ...]
    env: dict[str, str] = {}
    dir: str | None = None  # None: a fresh folder that goes away with the task
    cpu_milli: int = 1000
    memory_bytes: int = 0  # 0 means no limit, here and below
    disk_bytes: int = 0
    run_timeout_s: float = 0.0
    stop_grace_s: float = 5.0
    log_max_bytes: int = 16 * 2**20  # of each stream
    runtime: str = "process"  # process | docker | the name of a plugin's runtime
    container: Container | None = None
    mounts: tuple[Mount, ...] = ()
    ports: tuple[Port, ...] = ()
    health: tuple[HealthCheck, ...] = ()
    user: str | None = None
    stdout: str | None = None  # a path with %j %g %i %a, instead of the captured log
    stderr: str | None = None
    # custom resources by name: where the node has them as devices, their ids are handed out
    devices: dict[str, int] = {}
    payload: bytes | None = None  # arrives as a file, named by SHUNTER_PAYLOAD; it may be empty
    stop_after_s: float = 0.0  # without contact with a manager the worker stops it; 0 means never
    payload_is_stdin: bool = False  # the task reads its payload from standard input instead
    secrets: tuple[SecretRef, ...] = ()


# ---- where and when the tasks of a group may run ----


class ExitRule(msgspec.Struct, frozen=True, omit_defaults=True):
    codes: tuple[int, ...]
    action: str  # fail | restart | succeed


class Restart(msgspec.Struct, frozen=True, omit_defaults=True):
    """When an attempt that ended with an exit code is followed by another. `max` None means without limit."""

    policy: str = "never"  # never | on-failure | always | unless-stopped
    max: int | None = 3
    delay_s: float = 1.0
    factor: float = 2.0
    delay_max_s: float = 60.0
    jitter: float = 0.1
    on_exit: tuple[ExitRule, ...] = ()  # the first rule that names the code wins over the policy
    elsewhere: bool = False  # not on the node of the last attempt, where there is another


class Spread(msgspec.Struct, frozen=True, omit_defaults=True):
    """Rather even over the values of a node label."""

    label: str
    weight: float = 1.0


class Affinity(msgspec.Struct, frozen=True, omit_defaults=True):
    """Rather, or only, on nodes where `match` holds: a CEL expression over the node, or over jobs that run there."""

    to: str  # node | job
    match: str
    require: bool = False
    weight: float = 1.0
    anti: bool = False


class Update(msgspec.Struct, frozen=True, omit_defaults=True):
    """How a service changes to a new version: `parallel` tasks at a time, the next when these are healthy."""

    parallel: int = 1
    # instances that may stop before their replacement is healthy; 0: start the replacement first
    unavailable_max: int = 0
    healthy_for_s: float = 2.0
    deadline_s: float = 300.0  # of one task, from its order to being healthy
    rollback: bool = True


class GroupAfter(msgspec.Struct, frozen=True, omit_defaults=True):
    """An edge between groups of one job."""

    group: str
    when: str = "succeeded"  # succeeded | finished | failed
    otherwise: str = "cancel"  # cancel | run


class GroupSpec(msgspec.Struct, frozen=True, omit_defaults=True):
    """Tasks of a job that are alike."""

    name: str
    count: int
    task: TaskSpec
    needs: dict[str, int]  # resource -> inner amount, zero amounts left out
    restart: Restart = Restart()
    datacenters: tuple[str, ...] = ()
    constraints: tuple[str, ...] = ()
    queue_timeout_s: float = 0.0
    after: tuple[GroupAfter, ...] = ()  # other groups of the same job
    parallel_max: int = 0  # tasks at once; 0 means all that fit
    gang: bool = False  # all tasks of the group start together or none
    exclusive: bool = False  # on nodes that nobody else uses meanwhile
    distinct: str = ""  # "host", or a node label: no two tasks share its value
    spread: tuple[Spread, ...] = ()
    affinity: tuple[Affinity, ...] = ()
    estimate_s: float = 0.0  # how long a task runs, as far as the user knows
    update: Update = Update()
    array: tuple[tuple[int, int, int], ...] = ()  # (first, last, step): what SHUNTER_TASK_INDEX counts through
    entries: tuple[str, ...] = ()  # one for each task, as SHUNTER_ENTRY
    total: int = 0  # what SHUNTER_TASK_COUNT says in a run that repeats some tasks of another; 0 means the count
    estimate_bits: int = 0  # see `estimate_bucket`; stored, so that jobs of earlier versions keep their class
    replace_after_s: float = 0.0  # how long after their node went down its tasks run elsewhere
    at_most_once: bool = False  # a task is replaced only when its old attempt is known to have ended


def estimate_bucket(estimate_s: float) -> int:
    """The power of two, in seconds, up to which a task is estimated; 0 means no estimate. Tasks of the same bucket are
    treated as equal."""
    return max(int(estimate_s), 1).bit_length() if estimate_s else 0


# ---- what holds for the job as a whole ----


class After(msgspec.Struct, frozen=True, omit_defaults=True):
    """An edge of the graph of jobs: this one waits for another."""

    job: str  # NAME, or NAME@RUN, in the same namespace
    when: str = "succeeded"  # succeeded | finished | failed
    otherwise: str = "cancel"  # cancel | run: what happens when `when` can come true no more


class Schedule(msgspec.Struct, frozen=True, omit_defaults=True):
    """Fires runs by the clock."""

    cron: str
    timezone: str = "UTC"
    overlap: str = "skip"  # skip | queue | replace: while the last run has not ended
    catch_up: str = "none"  # none | last | all: of the firings that a stopped cluster missed


class Parameters(msgspec.Struct, frozen=True, omit_defaults=True):
    """A job that is dispatched with these parameters, as SHUNTER_PARAM_NAME, rather than run at once."""

    required: tuple[str, ...] = ()
    optional: dict[str, str] = {}  # with defaults
    payload: str = "optional"  # optional | required | forbidden


class JobOptions(msgspec.Struct, frozen=True, omit_defaults=True):
    after: tuple[After, ...] = ()
    start_at_ms: int = 0
    start_in_s: float = 0.0  # after the submit, instead of a time
    deadline_ms: int = 0
    deadline_s: float = 0.0  # after the submit, instead of a time
    queue: str = QUEUE_DEFAULT
    timeout_s: float = 0.0  # of the whole job, from its submit to its end
    failures_max: int = 0  # number of failed tasks that ends the job; 0: no limit
    gang: bool = False  # all groups start together or none
    held: bool = False  # waits until it is released
    schedule: Schedule | None = None
    parameters: Parameters | None = None
    application: str = ""  # spark, flink or command: the job runs a BatchJob, and the engine made it


DEFAULT_OPTIONS = JobOptions()


class JobSpec(msgspec.Struct, frozen=True, omit_defaults=True):
    """A whole job."""

    namespace: str
    name: str
    groups: tuple[GroupSpec, ...]
    type: str = BATCH
    priority: int = PRIORITY_DEFAULT
    labels: dict[str, str] = {}
    options: JobOptions = DEFAULT_OPTIONS

    @property
    def count(self) -> int:
        return sum(group.count for group in self.groups)

    @property
    def is_template(self) -> bool:
        """Whether a submit saves it as a template, whose runs a schedule or a dispatch starts."""
        return self.options.schedule is not None or self.options.parameters is not None


def array_values(array: tuple[tuple[int, int, int], ...], positions: list[int]) -> list[int]:
    """The numbers at these positions of an array of ranges (first, last, step)."""
    values = []
    for position in positions:
        for first, last, step in array:
            size = (last - first) // step + 1
            if position < size:
                values.append(first + position * step)
                break
            position -= size
    return values
