"""Applies changes of task sets to the state: their rows in the task table, their class, and which of their tasks are
ready to be placed. Called by `engine.state.state`, live and in recovery."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from shunter.engine import changes as c
from shunter.engine.state import apply_services, task_classes
from shunter.engine.state.ready_ranges import remove_ready
from shunter.engine.state.records import (
    NOT_READY,
    ONE_IN_STATE,
    STATE_COUNT,
    Job,
    SpecVersion,
    TaskSet,
    ranges_where,
)
from shunter.model.job.spec import PER_NODE
from shunter.model.lifecycles import TaskState

if TYPE_CHECKING:
    from shunter.engine.state.state import State

_QUEUED, _WAITING = int(TaskState.QUEUED), int(TaskState.WAITING)


def task_set_added(state: State, change: c.TaskSetAdded) -> None:
    job, visible_index = state.jobs[change.job], tuple(change.visible_index)
    spec_version = state.require_task_set(job.id, change.copy_of).spec_version if change.copy_of >= 0 else None
    add_task_set(
        state,
        job,
        change.group_index,
        len(visible_index),
        is_waiting=True,
        visible_index=visible_index,
        node=change.node,
        spec_version=spec_version,
    )
    apply_services.task_set_added(state, change)


def task_set_dropped(state: State, change: c.TaskSetDropped) -> None:
    task_set = state.require_task_set(change.job, change.number)
    apply_services.task_set_dropped(state, task_set)
    job = task_set.job
    job.task_sets = tuple(each for each in job.task_sets if each is not task_set)
    if task_set.node and task_set.job.type in PER_NODE:
        state.services.drop(task_set)
    drop_task_set(state, task_set)


def task_set_unpinned(state: State, change: c.TaskSetUnpinned) -> None:
    """Its queued tasks join the class of tasks that may run anywhere."""
    task_set = state.require_task_set(change.job, change.number)
    old_class = task_set.task_class
    _clear_ready(task_set)
    task_set.node = 0
    task_set.task_class = task_classes.class_of(state, task_set.job, task_set.group_index, 0, task_set.spec_version)
    state.task_set_columns.put(task_set)
    task_set.in_queue = False
    task_set.task_class.task_set_count += 1
    old_class.task_set_count -= 1
    old_class.task_sets = deque(each for each in old_class.task_sets if each is not task_set)
    task_classes.drop_class_if_unused(state, old_class)
    if not task_set.job.is_held:
        make_queued_ready(state, task_set)


def job_held(state: State, change: c.JobHeld) -> None:
    """Queued tasks stay queued; while the job is held, none of them is ready to be placed."""
    job = state.jobs[change.job]
    if job.is_held == change.is_held:
        return
    job.is_held = change.is_held
    if not job.is_held:
        apply_services.job_released(state, job, change.at_ms)
    for task_set in job.task_sets:
        if change.is_held:
            _clear_ready(task_set, change.at_ms)
        else:
            queued = state.table.state[task_set.base : task_set.base + task_set.count] == _QUEUED
            for first, last in ranges_where(queued):  # they are queued from now on
                state.table.ended_ms[task_set.base + first : task_set.base + last + 1] = change.at_ms
            make_queued_ready(state, task_set)


def add_task_set(
    state: State,
    job: Job,
    group_index: int,
    count: int,
    *,
    is_waiting: bool,
    visible_index: tuple[int, ...] | None = None,
    node: int = 0,
    spec_version: SpecVersion | None = None,
) -> None:
    """Add a task set of the job's current spec version, or of another."""
    spec_version = spec_version or job.spec_version
    base = state.table.allocate(count)
    task_class = task_classes.class_of(state, job, group_index, node, spec_version)
    spec_version.ref_count += 1
    task_set = TaskSet(
        job,
        job.next_task_set,
        count,
        base,
        0,
        counts_in_state(_WAITING if is_waiting else _QUEUED, count),
        NOT_READY,
        task_class,
        spec_version,
        group_index,
        node=node,
        visible_index=visible_index,
    )
    register_task_set(state, task_set)
    if is_waiting:
        state.table.state[base : base + count] = _WAITING
    else:
        state.make_ready(task_set, 0, count - 1)


def counts_in_state(state: int, count: int) -> list[int] | tuple[int, ...]:
    """The counts of a task set whose tasks are all in one state."""
    if count == 1:
        return ONE_IN_STATE[state]
    counts = [0] * STATE_COUNT
    counts[state] = count
    return counts


def register_task_set(state: State, task_set: TaskSet) -> None:
    """Give a task set that has its rows a slot, and count it."""
    slot = state.free_slots.pop() if state.free_slots else len(state.task_sets)
    task_set.slot = task_set.base if slot == task_set.base else slot  # the same number twice would take memory twice
    if slot == len(state.task_sets):
        state.task_sets.append(task_set)
    else:
        state.task_sets[slot] = task_set
    state.task_set_columns.put(task_set)
    if task_set.count == 1:
        state.table.group[task_set.base] = task_set.slot
    else:
        state.table.group[task_set.base : task_set.base + task_set.count] = task_set.slot
    job, key = task_set.job, task_set.task_class.key
    if (job.namespace, job.user) == (key.namespace, key.user):
        job.namespace, job.user = key.namespace, key.user  # jobs of a class share the memory of these words
    job.task_sets = (*job.task_sets, task_set) if job.task_sets else (task_set,)
    if task_set.number >= job.next_task_set:
        job.next_task_set = task_set.number + 1
    task_set.task_class.task_set_count += 1
    for each, count in enumerate(task_set.counts):
        if count:
            state.task_counts[each] += count
            if each <= TaskState.QUEUED:
                state.pending_tasks[job.namespace] += count
    if task_set.spec.affinity and task_set.has_anti_affinity:
        state.anti_affinity_task_sets[task_set.slot] = task_set
    if task_set.node and task_set.job.type in PER_NODE:
        state.services.add(task_set)


def drop_task_set(state: State, task_set: TaskSet) -> None:
    for each, count in enumerate(task_set.counts):
        if count:
            state.task_counts[each] -= count
            if each <= TaskState.QUEUED:
                state.pending_tasks[task_set.job.namespace] -= count
    state.table.release(task_set.base, task_set.count)
    state.task_sets[task_set.slot] = None
    state.anti_affinity_task_sets.pop(task_set.slot, None)
    state.free_slots.append(task_set.slot)
    task_set.ready = NOT_READY
    task_set.task_class.task_set_count -= 1
    task_classes.drop_class_if_unused(state, task_set.task_class)
    state.release_spec_version(task_set.spec_version)


def make_queued_ready(state: State, task_set: TaskSet) -> None:
    """Make all queued tasks of a task set ready, except those in back-off."""
    if task_set.count == 1:  # here, too: a fraction of the cost
        if state.table.state.item(task_set.base) == _QUEUED and not task_set.delayed:
            state.make_ready(task_set, 0, 0)
        return
    delayed, task_set.delayed = task_set.delayed, None
    queued = state.table.state[task_set.base : task_set.base + task_set.count] == _QUEUED
    if delayed:
        queued[[index for index in delayed if index < task_set.count]] = False
    for first, last in reversed(ranges_where(queued)):
        state.make_ready(task_set, first, last)
    task_set.delayed = delayed


def _clear_ready(task_set: TaskSet, now_ms: int = 0) -> None:
    """A task that is due by now may have been ready or not, which replay cannot know: it is no longer delayed."""
    delayed, task_set.delayed = task_set.delayed, None
    for first, last, _ in list(task_set.ready):
        remove_ready(task_set, first, last)
    if delayed is not None:
        task_set.delayed = {index: due_ms for index, due_ms in delayed.items() if due_ms > now_ms}


APPLIERS: dict[type, Callable[[Any, Any], None]] = {
    c.TaskSetAdded: task_set_added,
    c.TaskSetDropped: task_set_dropped,
    c.TaskSetUnpinned: task_set_unpinned,
    c.JobHeld: job_held,
}
