"""Restarts gangs as a whole: when one task of a gang must run again, all its unfinished tasks do, and they start
together. Called by `engine.placement.place`; `engine.placement.cluster_view` asks which gangs are restarting.

Every round checks gangs before and after placement, so it does not matter why a task was queued again. Tasks of a gang
communicate: a task that restarts alone is of no use to the others, and while it finds no room, they would hold theirs
for nothing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from shunter.engine.jobs.stop import send_stop_orders
from shunter.engine.round import Round
from shunter.engine.state.records import ClassRecord, Job, TaskSet, ranges_of
from shunter.engine.state.state import State
from shunter.model.lifecycles import TaskEvent, TaskState

_QUEUED, _ASSIGNED, _RUNNING = int(TaskState.QUEUED), int(TaskState.ASSIGNED), int(TaskState.RUNNING)


def restart_broken_gangs(round: Round) -> None:
    """Recall the running tasks of gangs of which a task must run again."""
    dirty_gangs, round.dirty.gangs = round.dirty.gangs, {}
    for job_id in dirty_gangs:
        job = round.state.jobs.get(job_id)
        for members in _gangs_of(job) if job is not None else ():
            name = _first_broken_task(round.state, members)
            if name:
                _evict_members(round, members, f"task {name} of the same gang restarts")
    round.dirty.gangs.clear()  # these evictions must not restart the gang once more


def is_gathering(record: ClassRecord, task_set: TaskSet) -> bool:
    """Whether a class of a gang must wait for tasks of the gang that are still stopping or in back-off."""
    return bool(gang_of(record)) and any(
        each.requeue_when_stopped or each.delayed for each in _gang_task_sets(task_set)
    )


def places_whole_gang(state: State, record: ClassRecord, placed_counts: Mapping[int, int]) -> bool:
    """Whether `placed_counts` (class id -> tasks) contains all pending tasks of the gang, and none is missing."""
    rules = record.key.rules
    job = state.jobs.get(rules.job) if rules is not None else None
    task_sets = (
        [task_set for task_set in job.task_sets if gang_of(task_set.task_class) == gang_of(record)]
        if job is not None
        else []
    )
    return all(
        placed_counts.get(task_set.task_class.id, 0) >= task_set.task_class.queued
        and not is_gathering(task_set.task_class, task_set)
        for task_set in task_sets
    )


def gang_of(record: ClassRecord) -> int:
    """The number of its gang; 0 if it has none."""
    return record.key.rules.gang if record.key.rules is not None else 0


def evict_gang(round: Round, record: ClassRecord, reason: str) -> None:
    """Stop the gang that the class belongs to, so that it is queued again."""
    assert record.key.rules is not None, "a class of a gang has rules"
    job = round.state.jobs[record.key.rules.job]
    for members in _gangs_of(job):
        if any(task_set.task_class is record for task_set in members):
            _evict_members(round, members, reason)


def _gangs_of(job: Job) -> Iterator[Sequence[TaskSet]]:
    if job.options.gang:
        yield job.task_sets
    else:
        yield from ([task_set] for task_set in job.task_sets if task_set.spec.gang)


def _gang_task_sets(task_set: TaskSet) -> Sequence[TaskSet]:
    return task_set.job.task_sets if task_set.job.options.gang else [task_set]


def _first_broken_task(state: State, members: Sequence[TaskSet]) -> str:
    """The name of the first task that ran and must run again; empty if there is none."""
    for task_set in members:
        if task_set.requeue_when_stopped:
            return task_set.task_name(min(task_set.requeue_when_stopped))
        rows = slice(task_set.base, task_set.base + task_set.count)
        requeued = np.flatnonzero((state.table.state[rows] == _QUEUED) & (state.table.attempt[rows] > 0))
        if requeued.size:
            return task_set.task_name(int(requeued[0]))
    return ""


def _evict_members(round: Round, members: Sequence[TaskSet], reason: str) -> None:
    for task_set in members:
        states = round.state.table.state[task_set.base : task_set.base + task_set.count]
        live = np.flatnonzero((states == _ASSIGNED) | (states == _RUNNING))
        for first, last in ranges_of(live):
            round.transition(task_set, first, last, TaskEvent.PREEMPTED, reason)
            send_stop_orders(round, task_set, first, last, task_set.spec.task.stop_grace_s)
