"""What a policy sees and what it returns. The engine owns the columns; a policy reads them and never writes them.

`model.protocol.scheduler_messages` defines the parts that have the same form on the wire and in recordings."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol, overload

import numpy as np
from numpy.typing import NDArray

from shunter.model.job.spec import QUEUE_DEFAULT, Affinity, Spread
from shunter.model.objects.batch_jobs import BatchJob
from shunter.model.objects.object_meta import ObjectName
from shunter.model.objects.schedulings import Scheduling
from shunter.model.objects.testbeds import Testbed
from shunter.model.protocol.scheduler_messages import NodeKind as NodeKind
from shunter.model.protocol.scheduler_messages import Preemption as Preemption
from shunter.model.protocol.scheduler_messages import QueueRules as QueueRules
from shunter.model.protocol.scheduler_messages import SchedulingDraft as SchedulingDraft

IntArray = NDArray[np.int64]
FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]
NEVER = 2**62  # as a time: later than any


@dataclass(slots=True)
class Nodes:
    """All nodes as columns. Row 0 is unused and never eligible; a node keeps its row forever.

    Only the first `count` rows are used. `changed[i]` is the value of `tick` when row i last changed, so that a policy
    can read only the rows that changed since its last look."""

    resources: list[str]  # the names of the columns of capacity and reserved: cpu, memory, disk, then custom ones
    capacity: IntArray  # [rows, resources], inner amounts
    reserved: IntArray
    busy: FloatArray  # measured share of cpu in use, 0 to 1, in steps of 5 %
    tasks: IntArray  # assigned and running
    eligible: BoolArray  # ready, and not switched off by hand
    owner: IntArray  # the job that has the node for itself, or 0
    kind: NDArray[np.int32]  # index into kinds
    changed: IntArray
    kinds: list[NodeKind] = field(default_factory=list)  # only ever appended to
    names: list[str] = field(default_factory=list)
    ineligible_because: dict[int, str] = field(default_factory=dict)  # row -> "down: no heartbeat for 5 s"
    count: int = 1
    tick: int = 0


@dataclass(frozen=True, slots=True)
class Rules:
    """Rules between the tasks of a class, or between them and other jobs. A class with rules belongs to one job."""

    job: int
    gang: int = 0  # classes with the same number start together or not at all; 0 means none
    exclusive: bool = False
    distinct: str = ""
    spread: tuple[Spread, ...] = ()
    affinity: tuple[Affinity, ...] = ()
    group: int = 0  # of the job, where a rule is about the tasks of one group


@dataclass(frozen=True, slots=True, eq=False)
class TaskClass:
    """Tasks that a planner cannot distinguish."""

    id: int
    needs: Mapping[str, int]  # inner amounts above zero
    namespace: str
    user: str
    priority: int
    datacenters: tuple[str, ...] = ()
    constraints: tuple[str, ...] = ()
    queue: str = QUEUE_DEFAULT
    runtime: str = "process"
    deadline_ms: int = 0
    rules: Rules | None = None


@dataclass(slots=True)
class Queued:
    """Pending tasks of one class. `since` orders classes of the same priority: the oldest submission first."""

    task_class: TaskClass
    count: int
    since: int
    since_ms: int = 0  # when its oldest job was submitted, or due to start; a task that is queued again keeps its age
    estimate_s: float = 0.0  # how long the first of them runs, given or learnt; 0 means unknown
    avoid: frozenset[int] = frozenset()  # nodes on which all of them have failed


@dataclass(frozen=True, slots=True)
class Running:
    """Reservations on nodes, for policies that must know what becomes free: one row per class, node, expected
    end and priority. Instances of a service whose priority was raised have that of their service, not of their
    class."""

    class_ids: IntArray
    node: IntArray
    count: IntArray  # tasks
    priority: IntArray
    started_ms: IntArray  # of the youngest
    # expected end; 0 means unknown, negative a duration that has not begun yet; NEVER for long-running tasks
    end_ms: IntArray
    is_stopping: BoolArray  # stopping: its room is about to become free


@dataclass(frozen=True, slots=True)
class TenantQuota:
    """What the tasks of a tenant may use on nodes together, and what they use, in the order of `quotas.PLACED`."""

    tenant: str
    limits: tuple[int, ...]  # NEVER means no limit
    used: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class ClusterView:
    """`running`, `tally`, `leaving` and `presence` are expensive: ask for them only where a rule needs them."""

    version: int
    nodes: Nodes
    queued: Sequence[Queued]  # a list, or a `PendingQueue`, which tells what changed since it was read last
    usage: Mapping[tuple[str, str], IntArray] = field(default_factory=dict)  # (namespace, user) -> reserved amounts
    queues: Mapping[str, QueueRules] = field(default_factory=dict)
    licences: Mapping[str, tuple[int, int]] = field(default_factory=dict)  # of the whole cluster: name -> (all, used)
    tenants: Mapping[str, str] = field(default_factory=dict)  # namespace -> the tenant that owns it
    quotas: Mapping[str, TenantQuota] = field(default_factory=dict)  # of tenants that have some, by namespace
    running: Callable[[], Running] | None = None
    classes: Callable[[int], TaskClass] | None = None  # of what runs, by id
    tally: Callable[[int], Mapping[int, int]] | None = None  # class id -> row -> tasks of the class there
    leaving: Callable[[int], Mapping[int, int]] | None = None  # those of them that end, or end once a successor is up
    presence: Callable[[str], IntArray] | None = None  # a match over jobs -> tasks on each row for which it holds
    matches: Callable[[str, int], bool] | None = None  # whether it holds for any job with tasks of that class
    # class id -> tasks on each row of jobs whose required anti-affinity matches a job with tasks of the class, or None
    # if there are none. Left out (None) while no job with such a rule is on a node, so that others need not ask.
    repels: Callable[[int], IntArray | None] | None = None
    # (class id, count) -> run time of the longest of its next `count` tasks; 0 if any of them is unknown
    longest_s: Callable[[int, int], float] | None = None
    # lowest priority of any running task; a class that is not above it cannot preempt
    lowest_priority: Callable[[], int] | None = None
    preempt_gap: int | None = None  # how much higher a priority must be to preempt; None: the policy's default
    # how long a single task waits before it gets a reservation; None: the policy's default
    reserve_after_s: float | None = None
    # how long an item waits before room is held for it without a known start time; None: the policy's default
    hold_after_s: float | None = None
    # class -> which rows accept it, ignoring free resources; given to the policies of plugins
    accepts: Callable[[TaskClass], BoolArray] | None = None
    called: Callable[[int], str] | None = None  # class id -> the name to show in reasons: "render@3"
    testbeds: Mapping[ObjectName, Testbed] = field(default_factory=dict)
    batch_jobs: Mapping[ObjectName, BatchJob] = field(default_factory=dict)
    schedulings: Mapping[ObjectName, Scheduling] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Placement:
    """`counts[i]` tasks of the class go to row `nodes[i]`."""

    class_id: int
    nodes: IntArray
    counts: IntArray

    @property
    def tasks(self) -> int:
        return int(self.counts.sum())


@dataclass(frozen=True, slots=True)
class Left:
    """Tasks that stay queued. The reason is computed only on request: see `planning.explain.wait_reasons`."""

    class_id: int
    count: int


@dataclass(frozen=True, slots=True, eq=False)
class LeftBehind(Sequence[Left]):
    """Many of them as columns, so that thousands of pending classes cost nothing until a user asks."""

    class_ids: IntArray
    counts: IntArray

    def __len__(self) -> int:
        return len(self.class_ids)

    @overload
    def __getitem__(self, index: int) -> Left: ...
    @overload
    def __getitem__(self, index: slice) -> LeftBehind: ...
    def __getitem__(self, index: int | slice) -> Left | LeftBehind:
        if isinstance(index, slice):
            return LeftBehind(self.class_ids[index], self.counts[index])
        return Left(int(self.class_ids[index]), int(self.counts[index]))


@dataclass(frozen=True, slots=True)
class HeldRows:
    """Rows with room held for a blocked item. Lanes that are refilled there without asking the policy must end before
    the item's start, or they would delay it."""

    class_ids: frozenset[int] | None  # whose reservations are in it, even if they got none; None means everybody's
    until_ms: Mapping[int, int]  # row -> when the item is to start; 0 means as soon as there is room


NO_HELD_ROWS = HeldRows(None, {})
Kept = HeldRows  # the names that plugins import
NOTHING_KEPT = NO_HELD_ROWS


@dataclass(slots=True)
class Decision:
    based_on: int
    placements: list[Placement] = field(default_factory=list)
    left: Sequence[Left] = field(default_factory=list)
    preemptions: list[Preemption] = field(default_factory=list)
    schedulings: list[SchedulingDraft] = field(default_factory=list)
    withdrawals: list[ObjectName] = field(default_factory=list)  # Schedulings to delete
    reasons: dict[int, str] = field(default_factory=dict)  # class id -> why it waits, for `why`; not for every class
    is_partial: bool = False  # the budget ran out; the next round continues
    atomic: bool = False  # apply all items, or none if one is no longer valid
    kept: HeldRows | None = NO_HELD_ROWS  # None: not computed; the previous value stays valid for up to 1 s
    again_in_ms: int | None = None  # call `decide` again after this time, even if nothing changes


class Decides(Protocol):
    """What every policy must have. The attribute `wants` limits what it sees (`model.protocol.scheduler_messages`)."""

    def decide(self, view: ClusterView, now: float, budget: int) -> Decision:
        """Place at most `budget` tasks, and not more than fits: every item is validated before it is applied."""
        ...


class Policy(Decides, Protocol):
    """The policy in a manager. `fast` policies run inside a round; all others get a view and answer through the
    inbox."""

    name: str
    fast: bool
