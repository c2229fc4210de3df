"""Builds the view of one group of a long-running job for `engine.services.rollout`. Called by
`engine.services.reconcile`."""

from __future__ import annotations

from collections.abc import Container, Sequence
from dataclasses import dataclass, field

from shunter.engine.jobs.group_dependencies import has_unmet_dependency
from shunter.engine.services.instances import Instance, InstanceKey, InstanceTask, is_same_workload
from shunter.engine.services.rollout import InstanceView, RolloutView, TaskView
from shunter.engine.services.task_sets import retains_version
from shunter.engine.state.records import Job, TaskSet
from shunter.engine.state.registries.services import ServiceState
from shunter.engine.state.state import State
from shunter.model.job.spec import PER_NODE, SERVICE, GroupSpec
from shunter.model.lifecycles import ROLLOUT_IN_PROGRESS, RolloutStatus, TaskState

_QUEUED = int(TaskState.QUEUED)


@dataclass(frozen=True, slots=True)
class DesiredIndexes:
    """The indexes that a group should have; with `startable`, only some of them may start now."""

    indexes: Sequence[int]
    startable: Container[int] | None = None

    def may_start(self, index: int) -> bool:
        return self.startable is None or index in self.startable


def build_rollout_view(
    state: State,
    job: Job,
    spec: GroupSpec,
    desired: DesiredIndexes,
    instances: dict[InstanceKey, Instance],
    now_ms: int,
) -> RolloutView:
    return _ViewBuilder(state, job, spec, state.services.jobs[job.id], now_ms).build(desired, instances)


@dataclass(slots=True)
class _ViewBuilder:
    state: State
    job: Job
    spec: GroupSpec
    service_state: ServiceState
    now_ms: int
    workloads: list[GroupSpec] = field(default_factory=list)  # by their number
    workload_by_version: dict[tuple[int, int], int] = field(default_factory=dict)
    may_retain: bool = False  # some task may keep its version

    def __post_init__(self) -> None:
        self.may_retain = self.service_state.status is RolloutStatus.STALLED or bool(self.service_state.node)

    def build(self, desired: DesiredIndexes, instances: dict[InstanceKey, Instance]) -> RolloutView:
        job, spec, service_state = self.job, self.spec, self.service_state
        views, settled, down = [], 0, 0
        for index in desired.indexes:
            if service_state.is_down(spec.name, index):
                down += 1
                continue
            instance = instances.get((spec.name, index))
            members = _relevant_members(instance) if instance is not None else []
            is_only = len(members) == 1
            if is_only and self._is_settled(members[0]):
                settled += 1
                continue
            tasks = tuple([self._view_task(member, index, is_only) for member in members])
            views.append(InstanceView(index, tasks, desired.may_start(index)))
        return RolloutView(
            service_state.status,
            spec.update,
            self.now_ms,
            len(desired.indexes) - down,
            settled,
            tuple(views),
            self._replacement_reason(),
            job.type in PER_NODE,
            has_unmet_dependency(job, spec),
        )

    def _is_settled(self, member: InstanceTask) -> bool:
        return (
            member.is_current_version
            and member.is_active
            and member.is_healthy_at(self.now_ms)
            and not self._is_on_draining_node(member)
        )

    def _view_task(self, member: InstanceTask, instance: int, is_only: bool) -> TaskView:
        task_set, index, is_healthy = member.task_set, member.index, member.is_healthy_at(self.now_ms)
        is_pinned = bool(task_set.node) and self.job.type == SERVICE
        limited_to = self.service_state.node
        return TaskView(
            instance,
            task_set.number,
            index,
            member.state,
            member.is_current_version,
            is_healthy,
            member.healthy_at_ms,
            0 if self.job.is_held or (is_only and is_healthy) else self._due_ms(task_set, index),
            self._workload_number(task_set),
            member.is_current_version and self._is_of_rollout(task_set, instance),
            self.may_retain and retains_version(self.service_state, task_set, index, member.node),
            limited_to if member.node == limited_to else 0,
            self._is_on_draining_node(member),
            is_pinned,
            is_pinned and bool(self.state.table.attempt[task_set.base + index]),
            member.state == _QUEUED
            and member.is_current_version
            and not task_set.node
            and self._has_old_terms(task_set),
        )

    def _due_ms(self, task_set: TaskSet, index: int) -> int:
        """Counted from its request, or from the loss of its node."""
        table, row = self.state.table, task_set.base + index
        since_ms = self.service_state.requested_ms(task_set.number)
        if table.lost[row]:
            since_ms = max(since_ms, int(table.ended_ms[row]))
        return since_ms + int(self.spec.update.deadline_s * 1000)

    def _workload_number(self, task_set: TaskSet) -> int:
        version = task_set.spec_version.serial, task_set.group_index
        number = self.workload_by_version.get(version)
        if number is None:
            spec = task_set.spec
            known = (number for number, other in enumerate(self.workloads) if is_same_workload(spec, other))
            number = next(known, len(self.workloads))
            if number == len(self.workloads):
                self.workloads.append(spec)
            self.workload_by_version[version] = number
        return number

    def _is_of_rollout(self, task_set: TaskSet, instance: int) -> bool:
        service_state, number = self.service_state, task_set.number
        if service_state.status in ROLLOUT_IN_PROGRESS and number >= service_state.first_task_set:
            return True
        return 0 < service_state.restart_floor(self.spec.name, instance) <= number

    def _is_on_draining_node(self, member: InstanceTask) -> bool:
        return self.job.type == SERVICE and member.node in self.state.nodes.draining

    def _has_old_terms(self, task_set: TaskSet) -> bool:
        """Whether it is queued under terms that its job no longer has."""
        key, job = task_set.task_class.key, self.job
        return (key.priority, key.queue, key.deadline_ms) != (job.priority, job.options.queue, job.deadline_ms)

    def _replacement_reason(self) -> str:
        """The reason shown to users who look for a task that has been replaced."""
        if self.service_state.status is RolloutStatus.RESTARTING:
            return "replaced: restarted"
        is_updated = self.service_state.status in ROLLOUT_IN_PROGRESS
        return f"replaced by version {self.job.version}" if is_updated else "replaced"


def _relevant_members(instance: Instance) -> list[InstanceTask]:
    """The live tasks and the newest one. Others have ended, and stay only until their whole task set has ended."""
    members = instance.members
    if len(members) == 1:
        return members
    return [member for member in members[:-1] if member.is_alive] + members[-1:]
