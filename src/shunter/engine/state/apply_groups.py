"""What changes of groups do to the state: their rows in the table, their class, and what of them is ready to be placed.

The appliers of `engine.state.state`, which calls them live and in recovery alike.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from shunter.engine import changes as c
from shunter.engine.state import apply_services, task_classes
from shunter.engine.state.ready_runs import unqueue
from shunter.engine.state.records import STATES, Blueprint, Group, Job, runs_of
from shunter.model.job.spec import EVERYWHERE
from shunter.model.lifecycles import TaskState

if TYPE_CHECKING:
    from shunter.engine.state.state import State

_QUEUED, _WAITING = int(TaskState.QUEUED), int(TaskState.WAITING)


def group_added(state: State, change: c.GroupAdded) -> None:
    job, shown = state.jobs[change.job], tuple(change.shown)
    blueprint = state.known_group(job.id, change.like).blueprint if change.like >= 0 else None
    add_group(state, job, change.part, len(shown), is_waiting=True, shown=shown, node=change.node, blueprint=blueprint)
    apply_services.group_added(state, change)


def group_dropped(state: State, change: c.GroupDropped) -> None:
    group = state.known_group(change.job, change.number)
    apply_services.group_dropped(state, group)
    group.job.groups.remove(group)
    if group.node and group.job.type in EVERYWHERE:
        state.lasting.drop(group)
    drop_group(state, group)


def group_freed(state: State, change: c.GroupFreed) -> None:
    """What is queued of it joins the class of those that may run anywhere."""
    group = state.known_group(change.job, change.number)
    older = group.task_class
    _unready(group)
    group.node = 0
    group.task_class = task_classes.class_of(state, group.job, group.part, 0, group.blueprint)
    state.slots.put(group.slot, group.task_class)
    group.in_queue = False
    group.task_class.members += 1
    older.members -= 1
    older.groups = deque(each for each in older.groups if each is not group)
    task_classes.drop_if_unused(state, older)
    if not group.job.is_held:
        queue_again(state, group)


def job_held(state: State, change: c.JobHeld) -> None:
    """What is queued stays queued; while it is held, none of it is ready to be placed."""
    job = state.jobs[change.job]
    if job.is_held == change.is_held:
        return
    job.is_held = change.is_held
    if not job.is_held:
        apply_services.job_released(state, job, change.at_ms)
    for group in job.groups:
        if change.is_held:
            _unready(group, change.at_ms)
        else:
            queued = state.table.state[group.base : group.base + group.count] == _QUEUED
            state.table.ended_ms[group.base : group.base + group.count][queued] = change.at_ms  # queued since now
            queue_again(state, group)


def add_group(
    state: State,
    job: Job,
    part: int,
    count: int,
    *,
    is_waiting: bool,
    shown: tuple[int, ...] | None = None,
    node: int = 0,
    blueprint: Blueprint | None = None,
) -> None:
    """Of the job's present blueprint, or another."""
    blueprint = blueprint or job.blueprint
    counts = [0] * STATES
    counts[_WAITING if is_waiting else _QUEUED] = count
    base = state.table.allocate(count)
    task_class = task_classes.class_of(state, job, part, node, blueprint)
    blueprint.users += 1
    group = Group(job, job.next_group, count, base, 0, counts, [], task_class, blueprint, part, node=node, shown=shown)
    adopt_group(state, group)
    if is_waiting:
        state.table.state[base : base + count] = _WAITING
    else:
        state.make_ready(group, 0, count - 1)


def adopt_group(state: State, group: Group) -> None:
    """Give a group that has its rows a slot, and count it."""
    group.slot = state.free_slots.pop() if state.free_slots else len(state.groups)
    if group.slot == len(state.groups):
        state.groups.append(group)
    else:
        state.groups[group.slot] = group
    state.slots.put(group.slot, group.task_class)
    if group.count == 1:
        state.table.group[group.base] = group.slot
    else:
        state.table.group[group.base : group.base + group.count] = group.slot
    group.job.groups.append(group)
    group.job.next_group = max(group.job.next_group, group.number + 1)
    group.task_class.members += 1
    for each, count in enumerate(group.counts):
        if count:
            state.task_counts[each] += count
    if group.spec.affinity and group.repels:
        state.repelling[group.slot] = group
    if group.node and group.job.type in EVERYWHERE:
        state.lasting.adopt(group)


def drop_group(state: State, group: Group) -> None:
    for each, count in enumerate(group.counts):
        if count:
            state.task_counts[each] -= count
    state.table.release(group.base, group.count)
    state.groups[group.slot] = None
    state.repelling.pop(group.slot, None)
    state.free_slots.append(group.slot)
    group.ready = []
    group.task_class.members -= 1
    task_classes.drop_if_unused(state, group.task_class)
    state.leave_blueprint(group.blueprint)


def queue_again(state: State, group: Group) -> None:
    """Let all queued tasks of a group be placed, but for those that wait out their back-off."""
    delayed, group.delayed = group.delayed, None
    queued = np.flatnonzero(state.table.state[group.base : group.base + group.count] == _QUEUED)
    if delayed:
        queued = queued[~np.isin(queued, list(delayed))]
    for first, last in reversed(list(runs_of(queued))):
        state.make_ready(group, first, last)
    group.delayed = delayed


def _unready(group: Group, now_ms: int = 0) -> None:
    """What was due by now may have been ready or not, which replay does not know: it is not delayed any more."""
    delayed, group.delayed = group.delayed, None
    for first, last, _ in list(group.ready):
        unqueue(group, first, last)
    if delayed is not None:
        group.delayed = {index: due_ms for index, due_ms in delayed.items() if due_ms > now_ms}


APPLIERS: dict[type, Callable[[Any, Any], None]] = {
    c.GroupAdded: group_added,
    c.GroupDropped: group_dropped,
    c.GroupFreed: group_freed,
    c.JobHeld: job_held,
}
