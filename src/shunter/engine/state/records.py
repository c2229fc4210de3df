"""The records of `engine.state.state`: jobs, task sets, classes, lanes and nodes. They are small, because there may be
many."""

from __future__ import annotations

from bisect import bisect_left
from collections import deque
from dataclasses import dataclass, field
from operator import attrgetter
from typing import TYPE_CHECKING

import msgspec
import numpy as np

from shunter.model.job.arrays import IndexRange, format_indexes, index_at, part_of, position_of
from shunter.model.job.spec import DEFAULT_OPTIONS, LONG_RUNNING, QUEUE_DEFAULT, SYSTEM, GroupSpec, JobOptions
from shunter.model.lifecycles import JobState, NodeState, TaskState
from shunter.model.protocol.worker_messages import MachineStats
from shunter.planning.filter.colocation import is_required_anti_affinity
from shunter.planning.view import IntArray, Rules, TaskClass

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

ReadyRange = tuple[int, int, int]  # first, last, attempts so far
Ready = list[ReadyRange] | tuple[ReadyRange, ...]
Amounts = tuple[tuple[int, int], ...]  # (column of the nodes' resources, amount): faster than vectors for one row
STATE_COUNT = len(TaskState)
# Values that very many records share. Nobody changes them.
NO_LABELS: dict[str, str] = {}
NOT_READY: tuple[ReadyRange, ...] = ()
FIRST_READY: tuple[ReadyRange, ...] = ((0, 0, 0),)
ONE_IN_STATE = tuple(tuple(int(each == state) for each in range(STATE_COUNT)) for state in range(STATE_COUNT))
NEVER_MS = 2**62  # the back-off of a task that waits for its node, which no timer ends


@dataclass(slots=True, eq=False)
class SpecVersion:
    """Group specs shared by all jobs that differ only in their names."""

    serial: int
    groups: tuple[GroupSpec, ...]
    body: bytes
    ref_count: int = 0  # jobs and task sets that follow it
    # the class of the last plain job that follows it: most jobs are like the one before
    last_class: tuple[tuple[str, str, int, int], ClassRecord] | None = None

    def spec_key(self, group_index: int) -> int:
        """Names a group's TaskSpec in orders."""
        return self.serial << 8 | group_index


@dataclass(slots=True, eq=False)
class TaskSet:
    """Tasks of a job with the same spec: a group of its manifest, or a part of one. A long-running job gets further
    task sets when it is scaled, updated or moved. `ready` is a stack of ranges: the last one is placed next. There may
    be a million sets of one task, so `counts` and `ready` of those are shared values, replaced instead of changed."""

    job: Job
    number: int
    count: int
    base: int
    slot: int
    counts: list[int] | tuple[int, ...]
    ready: Ready
    task_class: ClassRecord
    spec_version: SpecVersion  # the version of the spec that these tasks follow
    group_index: int  # which of the spec version's groups
    in_queue: bool = False
    node: int = 0  # its tasks run only there; 0 means anywhere
    visible_index: tuple[int, ...] | None = None  # index -> visible task index; None: the same
    delayed: dict[int, int] | None = None  # index -> not_before_ms, of queued tasks in back-off
    history: list[PastAttempt] | None = None
    reasons: dict[int, str] | None = None  # index -> why it failed, was lost or waits
    requeue_when_stopped: set[int] | None = None  # stopping tasks that are queued again once they have stopped
    # queued index -> the node of its last attempt, which it avoids
    avoided_nodes: dict[int, int] | None = None
    ports: dict[int, dict[str, int]] | None = None  # running index -> the host ports that it serves
    health: dict[int, tuple[bool, int]] | None = None  # running index -> whether it is healthy, and since when
    lost_with_keeper: set[int] | None = None  # tasks whose keeper died while they ran

    @property
    def spec(self) -> GroupSpec:
        return self.spec_version.groups[self.group_index]

    @property
    def spec_key(self) -> int:
        return self.spec_version.spec_key(self.group_index)

    @property
    def ref(self) -> str:
        """The name of its job; with the group if there are several, and +FIRST for instances of a long-running job."""
        job = self.job
        ref = job.cached_ref or job.ref
        if len(job.spec_version.groups) > 1:
            ref += f"#{self.spec.name}"
        return ref if self.visible_index is None else f"{ref}+{self.visible_index[0]}"

    def ref_of(self, first: int, last: int) -> str:
        """The ref of some of its tasks. Of an array, it ends in =INDEXES, because events do not see the spec."""
        array = self.spec.array
        return f"{self.ref}={format_indexes(part_of(array, first, last))}" if array else self.ref

    @property
    def back_off_ends_ms(self) -> list[int]:
        """When tasks in back-off that wait for no node may start, in ms."""
        return [at_ms for at_ms in (self.delayed or {}).values() if at_ms < NEVER_MS]

    @property
    def has_anti_affinity(self) -> bool:
        """Whether its spec keeps some other jobs away from its nodes."""
        return any(map(is_required_anti_affinity, self.spec.affinity))

    def instance_index_of(self, index: int) -> int:
        """Which instance of its group the task is: replacements have the same. Of a batch job, its position."""
        return index if self.visible_index is None else self.visible_index[index]

    def visible_index_of(self, index: int) -> int:
        """The index that users and the task see: SHUNTER_TASK_INDEX."""
        array = self.spec.array
        index = self.instance_index_of(index)
        return index_at(array, index) if array else index

    def local_index_of(self, visible_index: int) -> int | None:
        """The opposite of `visible_index_of`; None if it has no such task."""
        return local_index(visible_index, self.count, self.visible_index, self.spec.array)

    def task_name(self, index: int) -> str:
        job = self.job
        group_prefix = f"{self.spec.name}/" if len(job.spec_version.groups) > 1 else ""
        return f"{job.name}/{group_prefix}{self.visible_index_of(index)}"

    @property
    def is_finished(self) -> bool:
        """Whether every task has reached an end."""
        return sum(self.counts[TaskState.SUCCEEDED :]) == self.count


def local_index(
    index: int, count: int, visible_index: tuple[int, ...] | None, array: tuple[IndexRange, ...]
) -> int | None:
    """Where the task with this SHUNTER_TASK_INDEX is in a task set; None if it has no such task."""
    if array:
        return position_of(array, index)
    if visible_index is None:
        return index if 0 <= index < count else None
    return visible_index.index(index) if index in visible_index else None


PastAttempt = tuple[int, int, int, int, int, int, int, str]
"""index, attempt, node, exit code, started_ms, ended_ms, log, reason"""


@dataclass(slots=True, eq=False)
class Job:
    id: int
    namespace: str
    name: str
    run: int
    type: str
    priority: int
    labels: dict[str, str]
    user: str
    submitted_ms: int
    spec_version: SpecVersion
    options: JobOptions = DEFAULT_OPTIONS
    task_sets: tuple[TaskSet, ...] = ()
    state: JobState = JobState.PENDING
    started_ms: int = 0
    reason: str = ""
    version: int = 1  # of its spec; an update of a long-running job increments it
    next_task_set: int = 0
    is_held: bool = False
    trace: str = ""  # the W3C context of the request that submitted it; empty: none
    cached_ref: str | None = None

    @property
    def ref(self) -> str:
        """Cached at first use: a job that only waits needs none."""
        if self.cached_ref is None:
            self.cached_ref = f"{self.namespace}/{self.name}@{self.run}"
        return self.cached_ref

    @property
    def deadline_ms(self) -> int:
        options = self.options
        return options.deadline_ms or (self.submitted_ms + int(options.deadline_s * 1000) if options.deadline_s else 0)

    def task_set(self, number: int) -> TaskSet | None:
        """The task set with this number, which is its position until an earlier one has left."""
        task_sets = self.task_sets
        if number < len(task_sets) and task_sets[number].number == number:
            return task_sets[number]
        position = bisect_left(task_sets, number, key=attrgetter("number"))  # they are only ever added at the end
        return task_sets[position] if position < len(task_sets) and task_sets[position].number == number else None

    def counts(self) -> Sequence[int]:
        if len(self.task_sets) == 1:
            return self.task_sets[0].counts
        return [sum(task_set.counts[state] for task_set in self.task_sets) for state in range(STATE_COUNT)]

    def is_finished(self) -> bool:
        """Whether every task has ended and none will be added: nodes that join add tasks to a system job."""
        if self.type == SYSTEM and self.state is not JobState.STOPPING:
            return False
        if not self.task_sets and self.state is not JobState.STOPPING:
            return False
        return all(task_set.is_finished for task_set in self.task_sets)

    @property
    def has_gangs(self) -> bool:
        groups = self.spec_version.groups
        return self.options.gang or (groups[0].gang if len(groups) == 1 else any(spec.gang for spec in groups))

    @property
    def is_long_running(self) -> bool:
        return self.type in LONG_RUNNING


@dataclass(slots=True, eq=False)
class Lanes:
    """The reservation of one class on one node: `width` lanes, `outstanding` tasks assigned, running or stopping."""

    task_class: ClassRecord
    node: int
    width: int = 0
    outstanding: int = 0
    # Not part of the committed state:
    last_progress_ms: int = 0  # when the last task of it ended
    recalled: bool = False
    may_refill: bool = False  # the policy chose this node, and no fact that constraints use has changed since


@dataclass(slots=True, eq=False)
class UserUsage:
    """What the lanes of one user in one namespace reserve, by column of the nodes' resources."""

    classes: int = 0
    amounts: IntArray = field(default_factory=lambda: np.zeros(0, np.int64))

    def add(self, amounts: Amounts, times: int) -> None:
        for column, amount in amounts:
            if column >= self.amounts.size:
                self.amounts = np.concatenate([self.amounts, np.zeros(column + 1 - self.amounts.size, np.int64)])
            self.amounts[column] += amount * times


class ClassKey(msgspec.Struct, frozen=True, array_like=True):
    """Everything by which a planner can distinguish tasks."""

    namespace: str
    user: str
    priority: int
    needs: tuple[tuple[str, int], ...]
    datacenters: tuple[str, ...] = ()
    constraints: tuple[str, ...] = ()
    queue: str = QUEUE_DEFAULT
    runtime: str = "process"
    deadline_ms: int = 0
    dedicated_to: tuple[int, int] | None = None  # (job, part) of a group that must not share its lanes with others
    node: int = 0  # the only node that its tasks may use; policies do not see such classes
    rules: Rules | None = None
    estimate_bits: int = 0  # short ones may go where long ones must not
    secrets: tuple[str, ...] = ()  # whose tasks wait while one of these is missing
    secret_variables: tuple[str, ...] = ()  # those of them that must be text


@dataclass(slots=True, eq=False)
class ClassRecord:
    """All unfinished task sets whose tasks a planner cannot tell apart."""

    key: ClassKey
    task_class: TaskClass
    vector: IntArray
    amounts: Amounts  # the same, without zero needs
    dirty_classes: dict[int, None]  # the state's: classes with a change that policies see
    user_usage: UserUsage
    licences: tuple[tuple[str, int], ...]  # needed by a lane
    queued: int = 0  # ready to be placed, without tasks in back-off
    task_set_count: int = 0  # unfinished task sets
    task_sets: deque[TaskSet] = field(default_factory=deque)  # those with ready tasks, oldest first
    lanes: dict[int, Lanes] = field(default_factory=dict)  # by node
    width: int = 0  # of all its lanes
    tenant: str = ""  # the owner of its namespace, which stays the same while there are classes there
    quota_needs: tuple[int, ...] = ()  # what a lane uses of the tenant's quotas, in the order of PLACED
    depth: int = 1  # tasks that may be outstanding per lane: grows while they are short

    @property
    def id(self) -> int:
        return self.task_class.id

    def touch(self) -> None:
        self.dirty_classes[self.task_class.id] = None

    def first_ready(self) -> TaskSet | None:
        """The task set to place from next; drops task sets without ready tasks."""
        while self.task_sets:
            task_set = self.task_sets[0]
            if task_set.ready:
                return task_set
            task_set.in_queue = False
            self.task_sets.popleft()
        return None


@dataclass(slots=True, eq=False)
class NodeRecord:
    """What the engine knows of a node besides its row in the columns."""

    id: int
    name: str
    boot: str
    datacenter: str
    reported_labels: dict[str, str]
    override_labels: dict[str, str]
    reported_attributes: dict[str, str]
    address: str
    override_attributes: dict[str, str] = field(default_factory=dict)
    state: NodeState = NodeState.READY
    reason: str = ""
    joined_ms: int = 0
    last_transition_ms: int = 0
    cordoned_by: str = ""  # "" takes work; cordon or quarantine: switched off, by hand or by the engine
    cordon_reason: str = ""
    is_drain_requested: bool = False  # persists while the node is down
    drain_deadline_ms: int = 0
    lanes: dict[int, Lanes] = field(default_factory=dict)  # by class id
    worker_id: str = ""  # of the worker's home; empty for workers of 0.1.0, like the next two
    machine: str = ""
    machine_boot: str = ""
    # Not part of the committed state:
    is_synced: bool = False  # its inventory has been processed since it connected
    synced_boot: str = ""  # the worker process whose inventory was processed last
    down_since_ms: int = 0  # when this manager process found it down; 0: it is not down, or that was not checked yet
    failures: list[tuple[int, str, str]] | None = None  # (at_ms, namespace, job) since a task succeeded there
    restarts: list[int] | None = None  # times in ms at which its worker restarted without orders, since then
    last_heartbeat_ms: int = 0
    stats: MachineStats | None = None

    @property
    def labels(self) -> dict[str, str]:
        return _merged(self.reported_labels, self.override_labels)

    @property
    def attributes(self) -> dict[str, str]:
        return _merged(self.reported_attributes, self.override_attributes)


def _merged(reported: dict[str, str], overrides: dict[str, str]) -> dict[str, str]:
    """Values set by hand win; an empty value removes a key."""
    return {key: value for key, value in {**reported, **overrides}.items() if value}


def ranges_where(mask: NDArray[np.bool_]) -> list[tuple[int, int]]:
    """The inclusive ranges of rows where the mask is true. It compares neighbours instead of collecting the numbers of
    all rows, of which an array may have millions."""
    if mask.size <= 1:
        return [(0, 0)] if mask.any() else []
    edges = (np.flatnonzero(mask[1:] != mask[:-1]) + 1).tolist()
    boundaries = [*([0] if mask[0] else []), *edges, mask.size]
    return [(first, end - 1) for first, end in zip(boundaries[::2], boundaries[1::2], strict=False)]


def ranges_of(rows: IntArray) -> Iterator[tuple[int, int]]:
    """Sorted row numbers as inclusive ranges of neighbours."""
    if rows.size == 0:
        return
    if rows[-1] - rows[0] == rows.size - 1:  # one range, perhaps of millions
        yield int(rows[0]), int(rows[-1])
        return
    breaks = np.flatnonzero(np.diff(rows) != 1)
    firsts = [0, *(breaks + 1).tolist()]
    lasts = [*breaks.tolist(), rows.size - 1]
    for first, last in zip(firsts, lasts, strict=True):
        yield int(rows[first]), int(rows[last])
