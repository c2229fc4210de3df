"""How one group of a long-running job is kept. An instance is replaced by a new task set that shows the same index: the
old task ends when the new one is healthy, or before it comes where so many may be unavailable. Called by
`engine.services.reconcile`."""

from __future__ import annotations

from collections.abc import Container, Iterable, Sequence
from dataclasses import dataclass, field

from shunter.engine import changes as c
from shunter.engine.jobs.group_dependencies import has_unmet_dependency
from shunter.engine.jobs.stop import stop_range
from shunter.engine.round import Round
from shunter.engine.services.instances import Instance, InstanceKey, InstanceTask, health_detail, is_same_workload
from shunter.engine.services.task_sets import add_task_set, retains_version
from shunter.engine.services.update import RolloutProgress
from shunter.engine.state.records import Job, TaskSet
from shunter.engine.state.registries.services import IN_PROGRESS, RESTARTING, STARTING, ServiceState
from shunter.model.job.spec import PER_NODE, SERVICE, GroupSpec
from shunter.model.lifecycles import TaskState

STARTS_MAX = 500  # nodes that a job begins to use in one round
_QUEUED = int(TaskState.QUEUED)
_FAILED = int(TaskState.FAILED)
_EXITED = (int(TaskState.SUCCEEDED), _FAILED)


@dataclass(frozen=True, slots=True)
class DesiredIndexes:
    """The indexes that a group shall have; with `startable`, only some of them may be started now."""

    indexes: Sequence[int]
    startable: Container[int] | None = None

    def may_start(self, index: int) -> bool:
        return self.startable is None or index in self.startable


def stop_member(round: Round, member: InstanceTask, reason: str) -> None:
    stop_range(round, member.task_set, member.index, member.index, now=False, reason=reason)


@dataclass(slots=True)
class Rollout:
    round: Round
    job: Job
    service_state: ServiceState
    group_index: int
    desired: DesiredIndexes
    progress: RolloutProgress
    missing: list[int] = field(default_factory=list)
    on_draining_nodes: list[InstanceTask] = field(
        default_factory=list
    )  # on nodes that are drained: start elsewhere first
    stale: list[Instance] = field(default_factory=list)
    blockers_of_successors: list[InstanceTask] = field(
        default_factory=list
    )  # healthy, while their successors find no room
    unhealthy: list[InstanceTask] = field(default_factory=list)  # given up, or not healthy before this and still not
    awaiting_health: int = 0  # replaced, and not healthy yet
    available: int = 0
    absent: int = 0  # where none can be started now, or that came to their end

    @property
    def spec(self) -> GroupSpec:
        return self.job.spec_version.groups[self.group_index]

    def reconcile(self, instances: dict[InstanceKey, Instance]) -> None:
        name = self.spec.name
        for index in self.desired.indexes:
            if self.service_state.is_down(name, index):
                continue
            instance = instances.get((name, index))
            if instance is None:
                self._note_missing(index)
            else:
                self._assess_instance(instance)
        self._start_missing()
        for member in self.on_draining_nodes:
            copy_of = None if member.is_current_version or self._may_replace(member) else member.task_set
            self._add_task_set([member.visible_index], 0, "its node is drained", copy_of)
        self._replace_stale()

    # ---- what is the matter with an instance ----

    def _assess_instance(self, instance: Instance) -> None:
        """The newest healthy task of the present spec is kept, and all others end."""
        now_ms = self.round.now_ms
        self._check_failure(instance.members[-1])
        alive = [member for member in instance.members if member.is_alive]
        active = [member for member in alive if member.is_active]
        self.available += instance.is_healthy_at(now_ms)
        if not alive:
            self._assess_ended(instance)
            return
        if outdated := [member for member in active if self._is_queued_under_old_terms(member)]:
            for member in outdated:
                stop_member(self.round, member, self._replacement_reason())
            self.progress.is_pending = True  # the next look starts its successor
            return
        reference = self._reference_task(active)
        matching = [
            member
            for member in active
            if self._matches_reference(member, reference) and not self._is_on_draining_node(member)
        ]
        if len(alive) > 1 or self.service_state.status in IN_PROGRESS or self.service_state.status == STARTING:
            self._wake_when_healthy(matching)
        healthy = [member for member in matching if member.is_healthy_at(now_ms)]
        if healthy:
            self._retain_one(healthy[-1], active)
            self.progress.is_pending |= len(alive) > 1
        elif matching:
            self._await_health(matching, active)
        elif not active:
            self.awaiting_health += 1  # the next look finds it ended, and starts its successor
            self.progress.is_pending = True
        else:
            last = reference or max(active, key=lambda member: (member.is_current_version, member.task_set.number))
            if self._is_on_draining_node(last):
                self.on_draining_nodes.append(last)
            else:
                self.stale.append(instance)
            self.progress.is_pending = True

    def _reference_task(self, active: list[InstanceTask]) -> InstanceTask | None:
        """Whom an instance is to be like that does not follow the present version, and is not to: an update that
        another one overtook may have left several. None where it is the present version that counts."""
        if not active or any(member.is_current_version for member in active) or self._may_replace(active[-1]):
            return None
        return ([member for member in active if member.is_healthy_at(self.round.now_ms)] or active)[-1]

    def _matches_reference(self, member: InstanceTask, reference: InstanceTask | None) -> bool:
        return (
            member.is_current_version
            if reference is None
            else is_same_workload(member.task_set.spec, reference.task_set.spec)
        )

    def _is_queued_under_old_terms(self, member: InstanceTask) -> bool:
        """Whether it is queued by a priority, in a queue or for a deadline that its job has no more. It waits on where
        by a higher priority it could end others of its job, which run by the lower one."""
        if member.state != _QUEUED or not member.is_current_version or member.task_set.node:
            return False
        key, job = member.task_set.task_class.key, self.job
        if key.priority < job.priority and any(map(self._runs_at_lower_priority, job.task_sets)):
            return False
        return (key.priority, key.queue, key.deadline_ms) != (job.priority, job.options.queue, job.deadline_ms)

    def _runs_at_lower_priority(self, task_set: TaskSet) -> bool:
        is_live = any(task_set.counts[TaskState.ASSIGNED : TaskState.SUCCEEDED])
        return is_live and task_set.task_class.key.priority < self.job.priority

    def _assess_ended(self, instance: Instance) -> None:
        """One that gave up, or came to its end, stays so; what was stopped to be replaced is started."""
        newest = instance.members[-1]
        has_exited = newest.state in _EXITED
        if has_exited and (newest.is_current_version or not self._may_replace(newest)):
            self.progress.is_pending |= self.service_state.status == STARTING and newest.state == _FAILED
            if newest.state == _FAILED and self.desired.may_start(instance.index):
                self.unhealthy.append(newest)
            else:
                self.absent += 1
            return
        if self._successor_node(newest):  # it was stopped to be replaced just there
            self._add_task_set([instance.index], self._successor_node(newest), "replaces an older one")
            self.progress.is_pending = True
        else:
            self._note_missing(instance.index)

    def _check_failure(self, newest: InstanceTask) -> None:
        if newest.state != _FAILED or not newest.is_current_version or not self._belongs_to_update(newest):
            return
        reason = (newest.task_set.reasons or {}).get(newest.index, "it failed")
        self.progress.fail(f"task {self._task_name(newest)} failed: {reason}", self.spec.update.rollback)

    def _retain_one(self, retained: InstanceTask, active: list[InstanceTask]) -> None:
        for member in active:
            if member is retained:
                continue
            is_successor = (
                self._matches_reference(member, retained) and member.task_set.number > retained.task_set.number
            )
            if is_successor and not self._is_past_deadline(member):
                self.awaiting_health += 1
                self._unpin_if_queued(member)
            else:
                stop_member(
                    self.round, member, "it was not healthy in time" if is_successor else self._replacement_reason()
                )

    def _await_health(self, matching: list[InstanceTask], active: list[InstanceTask]) -> None:
        """Nothing of the present spec is healthy yet: what is, of an older one, goes on meanwhile."""
        newest = matching[-1]
        self._unpin_if_queued(newest)
        if self._belongs_to_update(newest):
            self._await_successor(newest)
        elif self.service_state.status == STARTING:
            self.progress.is_pending = True
        elif self.service_state.status in IN_PROGRESS and self._is_past_deadline(newest):
            self.unhealthy.append(newest)
        if newest.state == _QUEUED and newest.is_current_version:
            now_ms = self.round.now_ms
            self.blockers_of_successors += [
                each for each in active if not each.is_current_version and each.is_healthy_at(now_ms)
            ][-1:]
        for member in active:
            is_starting = member in matching and member.state > _QUEUED  # a move may begin while the first one starts
            if member is not newest and not is_starting and not member.is_healthy_at(self.round.now_ms):
                stop_member(self.round, member, self._replacement_reason())

    def _await_successor(self, newest: InstanceTask) -> None:
        if newest.state == _QUEUED and not self.desired.may_start(newest.visible_index):
            return
        self.awaiting_health += 1
        self.progress.is_pending = True
        if self._is_past_deadline(newest):
            limit_s, word = self.spec.update.deadline_s, TaskState(newest.state).wire_name
            message = f"task {self._task_name(newest)} was not healthy within {limit_s:g} s of its start; it is {word}"
            self.progress.fail(message + health_detail(newest), self.spec.update.rollback)

    def _unpin_if_queued(self, member: InstanceTask) -> None:
        """Where a task was moved to holds for one placement: later ones are free."""
        task_set = member.task_set
        if not task_set.node or self.job.type != SERVICE or member.state != _QUEUED:
            return
        if self.round.state.table.attempt[task_set.base + member.index] or self._is_past_deadline(member):
            self.round.record(c.TaskSetUnpinned(self.job.id, task_set.number, task_set.job.ref))

    def _is_on_draining_node(self, member: InstanceTask) -> bool:
        return self.job.type == SERVICE and member.node in self.round.state.nodes.draining

    def _may_replace(self, member: InstanceTask) -> bool:
        """Where its successor could start, and as far as the update goes."""
        is_excluded = retains_version(self.service_state, member.task_set, member.index, member.node)
        return self.desired.may_start(member.visible_index) and not is_excluded

    def _successor_node(self, member: InstanceTask) -> int:
        """Where its successor must run: there, if only what is there is updated; else 0."""
        return self.service_state.node if member.node == self.service_state.node else 0

    def _belongs_to_update(self, member: InstanceTask) -> bool:
        """Whether it came by the update, or by a restart of its instance."""
        number, service_state = member.task_set.number, self.service_state
        if not member.is_current_version:
            return False
        if service_state.status in IN_PROGRESS and number >= service_state.first_task_set:
            return True
        floor = service_state.restart_floor(self.spec.name, member.visible_index)
        return 0 < floor <= number

    def _wake_when_healthy(self, members: Iterable[InstanceTask]) -> None:
        for member in members:
            if member.healthy_at_ms > self.round.now_ms:
                self.progress.wake_at(member.healthy_at_ms)

    def _is_past_deadline(self, member: InstanceTask) -> bool:
        """Counted from when it was asked for, or from when its node was lost. While the job is held, none is."""
        if self.job.is_held:
            return False
        table, row = self.round.state.table, member.task_set.base + member.index
        since_ms = self.service_state.requested_ms(member.task_set.number)
        if table.lost[row]:
            since_ms = max(since_ms, int(table.ended_ms[row]))
        due_ms = since_ms + int(self.spec.update.deadline_s * 1000)
        if self.round.now_ms >= due_ms:
            return True
        self.progress.wake_at(due_ms)
        return False

    # ---- what is done about it ----

    def _note_missing(self, index: int) -> None:
        if self.desired.may_start(index) and not has_unmet_dependency(self.job, self.spec):
            self.missing.append(index)
            self.progress.is_pending = True
        else:
            self.absent += 1

    def _start_missing(self) -> None:
        """Neighbours are one task set; on nodes of their own, each is, and so many at most in one round."""
        if self.job.type in PER_NODE:
            for index in self.missing[:STARTS_MAX]:
                self._add_task_set([index], 0, "")
            if len(self.missing) > STARTS_MAX:
                self.progress.wake_at(self.round.now_ms)
            return
        consecutive: list[int] = []
        for index in self.missing:
            if consecutive and index != consecutive[-1] + 1:
                self._add_task_set(consecutive, 0, "")
                consecutive = []
            consecutive.append(index)
        if consecutive:
            self._add_task_set(consecutive, 0, "")

    def _replace_stale(self) -> None:
        """So many at a time, first those that are no loss."""
        update, now_ms = self.spec.update, self.round.now_ms
        slots = update.parallel - self.awaiting_health
        down = (
            sum(self.service_state.is_down(self.spec.name, index) for index in self.desired.indexes)
            if self.service_state.down
            else 0
        )
        available_min = len(self.desired.indexes) - down - self.absent - update.unavailable_max
        for member in self.blockers_of_successors if update.unavailable_max else ():
            if self.available > available_min:
                self.available -= 1
                stop_member(self.round, member, self._replacement_reason())
        if self._is_stuck():
            name, limit = self._task_name(self.unhealthy[0]), update.unavailable_max
            is_over = self.unhealthy[0].state == _FAILED
            state = "has given up" if is_over else "is not healthy"
            reason = f"task {name} {state}, and no more than {limit} may be unavailable"
            self.progress.fail(f"{reason}; to try it again: shunter restart {self.job.name}", update.rollback)
            return
        for instance in sorted(self.stale, key=lambda each: (each.is_healthy_at(now_ms), each.index)):
            if slots <= 0:
                return
            if not update.unavailable_max:
                self._add_task_set([instance.index], self._successor_node(instance.current), "replaces an older one")
            elif not instance.is_healthy_at(now_ms) or self.available > available_min:
                self.available -= instance.is_healthy_at(now_ms)
                for member in instance.members:
                    if member.is_active:
                        stop_member(self.round, member, self._replacement_reason())
            else:
                continue
            slots -= 1

    def _is_stuck(self) -> bool:
        """Whether all that is left to replace is healthy, and nothing will come to take its place meanwhile."""
        if not 0 < self.spec.update.unavailable_max <= len(self.unhealthy) or self.awaiting_health or self.missing:
            return False
        return bool(self.stale) and all(instance.is_healthy_at(self.round.now_ms) for instance in self.stale)

    def _replacement_reason(self) -> str:
        """For whoever looks for a task that has been replaced."""
        if self.service_state.status == RESTARTING:
            return "replaced: restarted"
        is_updated = self.service_state.status in IN_PROGRESS
        return f"replaced by version {self.job.version}" if is_updated else "replaced"

    def _add_task_set(self, visible_indexes: list[int], node: int, reason: str, copy_of: TaskSet | None = None) -> None:
        """With a node, to run just there."""
        if self.job.type in PER_NODE:
            node = visible_indexes[0] + 1
        add_task_set(self.round, self.job, self.group_index, visible_indexes, node, reason, copy_of)

    def _task_name(self, member: InstanceTask) -> str:
        group = "" if len(self.job.spec_version.groups) == 1 else f"{self.spec.name}/"
        return f"{self.job.name}/{group}{member.visible_index}"
