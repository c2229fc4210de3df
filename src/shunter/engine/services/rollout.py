"""Decides the next step for one group of a long-running job: what to start, stop and unpin. A pure function from a view
to a plan. `engine.services.rollout_view` builds the view, and `engine.services.reconcile` carries out the plan.

A new task with the same index replaces an instance. The old task stops when the new one is healthy, or earlier where
`unavailable_max` allows it. Each decision uses only the current view, and nothing is remembered between the steps of a
rollout. So an update, a restart, a drain and a takeover by another manager are the same case."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum

import msgspec

from shunter.model.job.spec import Update
from shunter.model.lifecycles import ROLLOUT_IN_PROGRESS, RolloutStatus, TaskState

STARTS_MAX = 500  # nodes on which a per-node job starts in one round
REPLACES = "replaces an older instance"
NODE_DRAINED = "its node is draining"
UNHEALTHY = "it did not become healthy in time"
_QUEUED, _STOPPING = int(TaskState.QUEUED), int(TaskState.STOPPING)
_SUCCEEDED, _FAILED = int(TaskState.SUCCEEDED), int(TaskState.FAILED)
_EXITED = (_SUCCEEDED, _FAILED)
_AWAITING_HEALTH = ROLLOUT_IN_PROGRESS | {RolloutStatus.STARTING}


# ---- the view ----


class TaskView(msgspec.Struct, frozen=True):
    """One task of an instance."""

    instance: int  # the index of its instance
    task_set: int  # the number of its task set: a higher one was added later
    index: int  # in its task set
    state: int  # a TaskState
    is_current: bool  # it follows the current spec, and is not to be restarted
    is_healthy: bool
    healthy_at_ms: int = 0  # when it becomes healthy if nothing happens to it; 0: something must happen first
    due_ms: int = 0  # when it must be healthy; 0: no deadline, because its job is held or nothing waits for it
    workload: int = 0  # tasks with the same number do the same work, whichever version they follow
    is_of_rollout: bool = False  # the current rollout, or a restart of its instance, started it
    retains_version: bool = False  # the rollout leaves it alone: it has stalled, or is limited to another node
    successor_node: int = 0  # where its successor must run: a rollout may be limited to one node; 0: anywhere
    is_on_draining_node: bool = False
    is_pinned: bool = False  # it was moved, and may run on one node only
    was_attempted: bool = False
    has_old_terms: bool = False  # it is queued with a priority, queue or deadline that its job no longer has

    @property
    def is_alive(self) -> bool:
        return self.state < _SUCCEEDED

    @property
    def is_active(self) -> bool:
        """Whether it is alive and was not told to stop."""
        return self.state < _STOPPING


class InstanceView(msgspec.Struct, frozen=True):
    index: int
    tasks: tuple[TaskView, ...]  # the live ones and the newest, in the order in which they were added
    may_start: bool = True  # one of its tasks may start now

    @property
    def is_healthy(self) -> bool:
        return any(task.is_healthy for task in self.tasks)

    @property
    def current(self) -> TaskView:
        """The visible task: the newest one alive, else the newest."""
        return next((task for task in reversed(self.tasks) if task.is_alive), self.tasks[-1])


class RolloutView(msgspec.Struct, frozen=True):
    """One group of a job. An instance is *settled* if its only task is current, healthy, active and not on a draining
    node. Settled instances, usually nearly all, are only counted: there is nothing to decide about them."""

    status: RolloutStatus
    update: Update
    now_ms: int
    desired: int  # desired instances, without those that were stopped by hand
    settled: int
    instances: tuple[InstanceView, ...]  # the other desired ones, in the order of their indexes
    replacement_reason: str = "replaced"
    is_per_node: bool = False  # instance i runs on node i + 1
    is_skipped: bool = False  # a dependency of the group has ended in another state than it needs: none may start


# ---- the plan ----


class StartInstances(msgspec.Struct, frozen=True):
    """Add a task set with a task for each of these instances."""

    instances: tuple[int, ...]
    node: int = 0  # where they must run; 0: anywhere
    reason: str = ""
    copy_of: int = -1  # the task set whose version they follow; -1: the current one


class StopTask(msgspec.Struct, frozen=True):
    task_set: int
    index: int
    reason: str


class UnpinTaskSet(msgspec.Struct, frozen=True):
    task_set: int


Command = StartInstances | StopTask | UnpinTaskSet


class FailureCause(Enum):
    TASK_FAILED = 1
    NOT_HEALTHY_IN_TIME = 2
    STUCK = 3  # the remaining instances are needed, because the task is not available


class RolloutFailure(msgspec.Struct, frozen=True):
    """Why the rollout cannot continue, and the task that caused it."""

    cause: FailureCause
    task: TaskView


class RolloutPlan(msgspec.Struct, frozen=True):
    commands: list[Command]  # to carry out in this order
    is_pending: bool  # something is not yet as it should be
    failure: RolloutFailure | None
    wake_at_ms: int | None  # when to reconcile again if nothing happens


def decide_rollout(view: RolloutView) -> RolloutPlan:
    decision = _Decision(view, available=view.settled)
    for instance in view.instances:
        decision.assess(instance)
    decision.start_missing()
    decision.commands += decision.drain_starts
    decision.replace_stale()
    return RolloutPlan(decision.commands, decision.is_pending, decision.failure, decision.wake_at_ms)


@dataclass(slots=True)
class _Decision:
    """The findings and decisions so far."""

    view: RolloutView
    commands: list[Command] = field(default_factory=list)
    is_pending: bool = False
    failure: RolloutFailure | None = None
    wake_at_ms: int | None = None
    available: int = 0  # healthy instances
    absent: int = 0  # instances that cannot start now, or that have completed
    awaiting_health: int = 0  # successors that are not healthy yet
    missing: list[int] = field(default_factory=list)
    drain_starts: list[StartInstances] = field(default_factory=list)  # successors of tasks on draining nodes
    stale: list[InstanceView] = field(default_factory=list)  # instances to replace
    blockers: list[TaskView] = field(default_factory=list)  # healthy ones whose successors find no room
    unhealthy: list[TaskView] = field(default_factory=list)  # failed, or unhealthy since before the rollout

    # ---- assess an instance ----

    def assess(self, instance: InstanceView) -> None:
        """The newest healthy task of the current spec stays, and all others stop."""
        if not instance.tasks:
            self._note_missing(instance)
            return
        self._check_failure(instance.tasks[-1])
        self.available += instance.is_healthy
        alive = [task for task in instance.tasks if task.is_alive]
        active = [task for task in alive if task.is_active]
        if not alive:
            self._assess_ended(instance)
        elif outdated := [task for task in active if task.has_old_terms]:
            for task in outdated:
                self._stop(task, self.view.replacement_reason)
            self.is_pending = True  # the next reconcile starts its successor
        else:
            self._assess_alive(instance, alive, active)

    def _assess_alive(self, instance: InstanceView, alive: list[TaskView], active: list[TaskView]) -> None:
        reference = _reference_task(instance, active)
        matching = [task for task in active if _matches(task, reference) and not task.is_on_draining_node]
        if len(alive) > 1 or self.view.status in _AWAITING_HEALTH:
            self._wake_when_healthy(matching)
        healthy = [task for task in matching if task.is_healthy]
        if healthy:
            self._retain_one(healthy[-1], active)
            self.is_pending |= len(alive) > 1
        elif matching:
            self._await_health(instance, matching, active)
        elif active:
            self._note_stale(instance, active, reference)
        else:
            self.awaiting_health += 1  # the next reconcile finds it ended, and starts its successor
            self.is_pending = True

    def _wake_when_healthy(self, tasks: list[TaskView]) -> None:
        for task in tasks:
            if task.healthy_at_ms > self.view.now_ms:
                self._wake_at(task.healthy_at_ms)

    def _check_failure(self, newest: TaskView) -> None:
        if newest.state == _FAILED and newest.is_of_rollout:
            self._fail(FailureCause.TASK_FAILED, newest)

    def _assess_ended(self, instance: InstanceView) -> None:
        """An instance that failed or completed stays so; an instance that was stopped for a replacement starts
        again."""
        newest = instance.tasks[-1]
        has_exited = newest.state in _EXITED
        if has_exited and (newest.is_current or not _may_replace(instance, newest)):
            self.is_pending |= self.view.status is RolloutStatus.STARTING and newest.state == _FAILED
            if newest.state == _FAILED and instance.may_start:
                self.unhealthy.append(newest)
            else:
                self.absent += 1
        elif newest.successor_node:  # it was stopped to be replaced on its node
            self.commands.append(self._start((instance.index,), newest.successor_node, REPLACES))
            self.is_pending = True
        else:
            self._note_missing(instance)

    def _retain_one(self, retained: TaskView, active: list[TaskView]) -> None:
        """Stop the other tasks, except a successor that may still become healthy."""
        for task in active:
            if task is retained:
                continue
            is_successor = task.workload == retained.workload and task.task_set > retained.task_set
            if is_successor and not self._is_past_due(task):
                self.awaiting_health += 1
                self._unpin_if_queued(task)
            else:
                self._stop(task, UNHEALTHY if is_successor else self.view.replacement_reason)

    def _await_health(self, instance: InstanceView, matching: list[TaskView], active: list[TaskView]) -> None:
        """No task of the current spec is healthy yet: a healthy task of an older one continues meanwhile."""
        newest, status = matching[-1], self.view.status
        self._unpin_if_queued(newest)
        if newest.is_of_rollout:
            self._await_successor(instance, newest)
        elif status is RolloutStatus.STARTING:
            self.is_pending = True
        elif status in ROLLOUT_IN_PROGRESS and self._is_past_due(newest):
            self.unhealthy.append(newest)
        if newest.state == _QUEUED and newest.is_current:
            self.blockers += [task for task in active if not task.is_current and task.is_healthy][-1:]
        for task in active:
            is_starting = task in matching and task.state > _QUEUED  # a move may begin while the first one starts
            if task is not newest and not is_starting and not task.is_healthy:
                self._stop(task, self.view.replacement_reason)

    def _await_successor(self, instance: InstanceView, newest: TaskView) -> None:
        if newest.state == _QUEUED and not instance.may_start:
            return
        self.awaiting_health += 1
        self.is_pending = True
        if self._is_past_due(newest):
            self._fail(FailureCause.NOT_HEALTHY_IN_TIME, newest)

    def _note_stale(self, instance: InstanceView, active: list[TaskView], reference: TaskView | None) -> None:
        """No task may stay: those on draining nodes get a successor at once, others when it is their turn."""
        last = reference or max(active, key=lambda task: (task.is_current, task.task_set))
        if last.is_on_draining_node:
            follows_present = last.is_current or _may_replace(instance, last)
            copy_of = -1 if follows_present else last.task_set
            self.drain_starts.append(self._start((instance.index,), 0, NODE_DRAINED, copy_of))
        else:
            self.stale.append(instance)
        self.is_pending = True

    def _note_missing(self, instance: InstanceView) -> None:
        if instance.may_start and not self.view.is_skipped:
            self.missing.append(instance.index)
            self.is_pending = True
        else:
            self.absent += 1

    def _unpin_if_queued(self, task: TaskView) -> None:
        """A move applies to one placement: later ones are free."""
        if task.is_pinned and task.state == _QUEUED and (task.was_attempted or self._is_past_due(task)):
            self.commands.append(UnpinTaskSet(task.task_set))

    def _is_past_due(self, task: TaskView) -> bool:
        if not task.due_ms:
            return False
        if self.view.now_ms >= task.due_ms:
            return True
        self._wake_at(task.due_ms)
        return False

    # ---- act ----

    def start_missing(self) -> None:
        """Neighbours share a task set. Tasks of per-node jobs have one each, and a limited number starts per round."""
        if self.view.is_per_node:
            self.commands += [self._start((index,)) for index in self.missing[:STARTS_MAX]]
            if len(self.missing) > STARTS_MAX:
                self._wake_at(self.view.now_ms)
            return
        first = 0
        for end in range(1, len(self.missing) + 1):
            if end == len(self.missing) or self.missing[end] != self.missing[end - 1] + 1:
                self.commands.append(self._start(tuple(self.missing[first:end])))
                first = end

    def replace_stale(self) -> None:
        """Replace at most `parallel` at a time, unhealthy ones first."""
        update = self.view.update
        available_min = self.view.desired - self.absent - update.unavailable_max
        for task in self.blockers if update.unavailable_max else ():
            if self.available > available_min:
                self.available -= 1
                self._stop(task, self.view.replacement_reason)
        if self._is_stuck():
            self._fail(FailureCause.STUCK, self.unhealthy[0])
            return
        slots = update.parallel - self.awaiting_health
        for instance in sorted(self.stale, key=lambda each: (each.is_healthy, each.index)):
            if slots <= 0:
                return
            if not update.unavailable_max:
                self.commands.append(self._start((instance.index,), instance.current.successor_node, REPLACES))
            elif not instance.is_healthy or self.available > available_min:
                self.available -= instance.is_healthy
                for task in instance.tasks:
                    if task.is_active:
                        self._stop(task, self.view.replacement_reason)
            else:
                continue
            slots -= 1

    def _is_stuck(self) -> bool:
        """Whether all remaining instances are healthy, and no successor can start before one of them stops."""
        if not 0 < self.view.update.unavailable_max <= len(self.unhealthy) or self.awaiting_health or self.missing:
            return False
        return bool(self.stale) and all(instance.is_healthy for instance in self.stale)

    def _start(self, instances: tuple[int, ...], node: int = 0, reason: str = "", copy_of: int = -1) -> StartInstances:
        return StartInstances(instances, instances[0] + 1 if self.view.is_per_node else node, reason, copy_of)

    def _stop(self, task: TaskView, reason: str) -> None:
        self.commands.append(StopTask(task.task_set, task.index, reason))

    def _fail(self, cause: FailureCause, task: TaskView) -> None:
        """The first failure counts."""
        self.failure = self.failure or RolloutFailure(cause, task)

    def _wake_at(self, at_ms: int) -> None:
        self.wake_at_ms = at_ms if self.wake_at_ms is None else min(self.wake_at_ms, at_ms)


def _may_replace(instance: InstanceView, task: TaskView) -> bool:
    """Whether the rollout includes it and its successor could start."""
    return instance.may_start and not task.retains_version


def _reference_task(instance: InstanceView, active: list[TaskView]) -> TaskView | None:
    """The task to compare the others with, where an instance does not follow the current spec and should not: an update
    that another one overtook may have left several versions. None: compare with the current spec."""
    if not active or any(task.is_current for task in active) or _may_replace(instance, active[-1]):
        return None
    return ([task for task in active if task.is_healthy] or active)[-1]


def _matches(task: TaskView, reference: TaskView | None) -> bool:
    return task.is_current if reference is None else task.workload == reference.workload
