"""The records of `simulation.checks.reference_model`: jobs, task sets, tasks, nodes and queues, built from the
committed changes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from shunter.model.job.spec import DEFAULT_OPTIONS, GroupSpec, JobOptions
from shunter.model.lifecycles import JobState, NodeState, TaskState

LIVE = (TaskState.ASSIGNED, TaskState.RUNNING, TaskState.STOPPING)
ENDS = (TaskState.SUCCEEDED, TaskState.FAILED, TaskState.CANCELLED)


class Violation(AssertionError):
    """An invariant of the design does not hold."""


def require(holds: bool, claim: str) -> None:
    if not holds:
        raise Violation(claim)


@dataclass(slots=True)
class ModelTask:
    state: TaskState = TaskState.QUEUED
    attempt: int = 0
    node: int = 0  # while live
    restarts: int = 0
    lost: int = 0
    lost_with_keeper: int = 0
    not_before_ms: int = 0  # after a loss together with its keeper
    successes: int = 0
    succeeded_attempt: int = 0  # the attempt that did
    will_requeue: bool = False  # it was told to stop, to be queued again
    is_repeated: bool = False  # it was lost or stopped, and is queued again
    avoided_node: int = 0  # the node that its next attempt must avoid
    bound: int = 0  # the node that it was moved to and has not reached yet
    started_ms: int = 0  # while it runs
    healthy_since_ms: int = 0  # since when its health checks pass


@dataclass(slots=True)
class ModelTaskSet:
    """A group of a job, or a part of one: tasks by one version of the spec."""

    spec: GroupSpec
    tasks: list[ModelTask]
    visible_index: list[int] | None = None
    node: int = 0

    def visible_index_of(self, index: int) -> int:
        """The task index that people see."""
        return index if self.visible_index is None else self.visible_index[index]

    @property
    def is_finished(self) -> bool:
        return all(task.state in ENDS for task in self.tasks)

    def outcome(self) -> str:
        """How it ended, as edges see it."""
        states = {task.state for task in self.tasks}
        if TaskState.FAILED in states:
            return "failed"
        return "cancelled" if TaskState.CANCELLED in states else "succeeded"


def is_healthy(group: ModelTaskSet, task: ModelTask, now_ms: int) -> bool:
    """It runs, and its checks have passed for long enough; without checks, it has run for long enough."""
    since_ms = task.healthy_since_ms if group.spec.task.health else task.started_ms
    is_up = task.state is TaskState.RUNNING and since_ms > 0
    return is_up and since_ms + int(group.spec.update.healthy_for_s * 1000) <= now_ms


@dataclass(slots=True)
class ModelJob:
    id: int
    namespace: str
    name: str
    run: int
    type: str
    priority: int
    specs: tuple[GroupSpec, ...]
    groups: dict[int, ModelTaskSet]  # by number
    options: JobOptions = DEFAULT_OPTIONS
    submitted_ms: int = 0
    targets: list[int] = field(default_factory=list)  # jobs whose end it waits for
    state: JobState = JobState.PENDING
    stop_was_asked: bool = False
    stop_cause: str = ""  # user, edge, replaced or doomed
    is_held: bool = False
    must_fail: bool = False
    down: set[tuple[str, int]] = field(default_factory=set)  # instances that were taken down: group, index
    dropped: dict[int, ModelTaskSet] = field(default_factory=dict)  # task sets that have left it
    is_partial: bool = False  # the last update was for one node only
    has_stalled: bool = False  # an update went wrong, and was left where it is

    @property
    def start_ms(self) -> int:
        options = self.options
        return options.start_at_ms or (self.submitted_ms + int(options.start_in_s * 1000) if options.start_in_s else 0)

    def tasks(self) -> Iterator[ModelTask]:
        for group in self.groups.values():
            yield from group.tasks

    def task_sets(self, name: str) -> list[ModelTaskSet]:
        return [group for group in self.groups.values() if group.spec.name == name]


@dataclass(slots=True)
class ModelNode:
    name: str
    capacity: dict[str, int]
    capacity_max: dict[str, int]  # the most that it ever had
    labels: dict[str, str] = field(default_factory=dict)
    override_labels: dict[str, str] = field(default_factory=dict)
    state: NodeState = NodeState.READY
    down_at_ms: int = 0
    is_forgotten: bool = False  # a simulated operator said that nothing runs there any more
    cordoned_by: str = ""
    widths: dict[int, int] = field(default_factory=dict)  # class id -> lanes

    @property
    def has_shrunk(self) -> bool:
        """It came back with less than it once had, so earlier reservations may be more than it has now."""
        return any(self.capacity.get(resource, 0) < amount for resource, amount in self.capacity_max.items())

    def free(self, resource: str, used: int) -> int:
        return self.capacity.get(resource, 0) - used

    def label(self, name: str) -> str:
        return {**self.labels, **self.override_labels}.get(name, "")


@dataclass(frozen=True, slots=True)
class ModelQueue:
    is_paused: bool = False
    running_max: int = 0


@dataclass(frozen=True, slots=True)
class Placed:
    """Tasks that one change placed."""

    job: int
    group: int
    first: int
    last: int
    attempt: int
    node: int


def healthy_indexes(job: ModelJob, name: str, now_ms: int) -> set[int]:
    """The instances of a service's group with a healthy task."""
    return {
        task_set.visible_index_of(index)
        for task_set in job.task_sets(name)
        for index, task in enumerate(task_set.tasks)
        if is_healthy(task_set, task, now_ms)
    }
