"""Shows a long-running job as instances with their tasks: usually one task each, two during a replacement. Derived from
the task sets alone. Used by `engine.services.reconcile`, `engine.read.views`, `engine.jobs.finish` and the gateway."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from msgspec.structs import replace

from shunter.engine.state.apply_services import replaced_task
from shunter.engine.state.records import Job, TaskSet
from shunter.engine.state.registries.services import ReplacedTask, ServiceState
from shunter.engine.state.state import State
from shunter.model.job.spec import PER_NODE, GroupSpec, Update
from shunter.model.lifecycles import TaskState

_QUEUED, _RUNNING, _STOPPING = int(TaskState.QUEUED), int(TaskState.RUNNING), int(TaskState.STOPPING)
_SUCCEEDED = int(TaskState.SUCCEEDED)
InstanceKey = tuple[str, int]  # the group's name and the visible index


@dataclass(slots=True)
class InstanceTask:
    """One task of an instance. `healthy_at_ms` is when it becomes healthy if nothing happens to it; 0 means that
    something must happen first."""

    task_set: TaskSet
    index: int
    state: int
    node: int
    is_current_version: bool
    healthy_at_ms: int

    @property
    def visible_index(self) -> int:
        return self.task_set.visible_index_of(self.index)

    @property
    def is_alive(self) -> bool:
        return self.state < _SUCCEEDED

    @property
    def is_active(self) -> bool:
        """Whether it is alive and was not told to stop."""
        return self.state < _STOPPING

    def is_healthy_at(self, now_ms: int) -> bool:
        return 0 < self.healthy_at_ms <= now_ms


@dataclass(slots=True)
class Instance:
    """Its tasks are in the order in which they were added."""

    group: str
    index: int
    members: list[InstanceTask] = field(default_factory=list)

    @property
    def current(self) -> InstanceTask:
        """The visible task: the newest one alive, else the newest."""
        return next((member for member in reversed(self.members) if member.is_alive), self.members[-1])

    def is_healthy_at(self, now_ms: int) -> bool:
        return any(member.is_healthy_at(now_ms) for member in self.members)


def collect_instances(
    state: State, job: Job, task_sets: Iterable[TaskSet] | None = None
) -> dict[InstanceKey, Instance]:
    """All instances of a job, or those of some of its task sets."""
    service_state = state.services.jobs[job.id]
    specs = {spec.name: spec for spec in job.spec_version.groups}
    # by spec version and group: whether the work is that of the current spec
    is_current_by_spec: dict[tuple[int, int], bool] = {}
    instances: dict[InstanceKey, Instance] = {}
    for task_set in job.task_sets if task_sets is None else task_sets:
        spec, version = task_set.spec, (task_set.spec_version.serial, task_set.group_index)
        if version not in is_current_by_spec:
            is_current_by_spec[version] = spec.name in specs and is_same_workload(spec, specs[spec.name])
        _collect_task_set(state, task_set, service_state, is_current_by_spec[version], instances)
    return instances


def is_wanted(job: Job, group: str, index: int) -> bool:
    """Whether its job should have this instance: a new count or a new spec may leave it out."""
    spec = next((spec for spec in job.spec_version.groups if spec.name == group), None)
    return spec is not None and (job.type in PER_NODE or index < spec.count)


def visible_tasks(state: State, job: Job) -> list[InstanceTask]:
    """The current task of each wanted instance."""
    instances = collect_instances(state, job)
    return [instance.current for key, instance in sorted(instances.items()) if is_wanted(job, *key)]


def replaced_tasks(state: State, job: Job) -> list[ReplacedTask]:
    """Oldest first: those that have left the job, then those that leave it with the rest of their task set, or when
    their successors are healthy. Tasks that a lower count has removed are among them."""
    leaving = [
        replaced_task(state, member.task_set, member.index)
        for key, instance in collect_instances(state, job).items()
        for member in instance.members
        if member is not instance.current or not (member.is_alive or is_wanted(job, *key))
    ]
    return [
        *state.services.jobs[job.id].replaced_tasks,
        *sorted(leaving, key=lambda task: (task.task_set_number, task.index)),
    ]


def is_same_workload(one: GroupSpec, other: GroupSpec) -> bool:
    """Whether tasks of both specs do the same work, regardless of count and update settings."""
    return one is other or _workload(one) == _workload(other)


def _workload(spec: GroupSpec) -> GroupSpec:
    return replace(spec, count=0, update=Update(), estimate_s=0.0, estimate_bits=0, replace_after_s=0.0)


def _collect_task_set(
    state: State,
    task_set: TaskSet,
    service_state: ServiceState,
    is_current_version: bool,
    instances: dict[InstanceKey, Instance],
) -> None:
    table, base, name = state.table, task_set.base, task_set.spec.name
    states = table.state[base : base + task_set.count].tolist()
    nodes = table.node[base : base + task_set.count].tolist()
    for index, task_state in enumerate(states):
        visible_index = task_set.visible_index[index] if task_set.visible_index is not None else index
        is_current = is_current_version and not service_state.must_restart(name, visible_index, task_set.number)
        healthy_at_ms = _healthy_at_ms(state, task_set, index) if task_state == _RUNNING else 0
        member = InstanceTask(task_set, index, task_state, nodes[index], is_current, healthy_at_ms)
        instance = instances.get((name, visible_index))
        if instance is None:
            instance = instances[name, visible_index] = Instance(name, visible_index)
        instance.members.append(member)


def _healthy_at_ms(state: State, task_set: TaskSet, index: int) -> int:
    """A running task is healthy when its checks have passed, or without checks when it has run, for long enough."""
    spec = task_set.spec
    if spec.task.health:
        is_healthy, since_ms = (task_set.health or {}).get(index, (False, 0))
        if not is_healthy:
            return 0
    else:
        since_ms = int(state.table.started_ms[task_set.base + index])
    return max(since_ms + int(spec.update.healthy_for_s * 1000), 1)


def health_detail(task_set: TaskSet, index: int) -> str:
    """Details about a task that does not become healthy."""
    ended = [past[7] for past in task_set.history or () if past[0] == index and past[7]]
    if ended:
        return f"; its last attempt ended: {ended[-1]}"
    is_healthy, _ = (task_set.health or {}).get(index, (True, 0))
    return "" if is_healthy else "; its health checks fail"
