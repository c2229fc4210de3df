"""The ready tasks of a task set: a stack of ranges, each with its attempts so far. Called by `engine.state.state`.

The next tasks are taken from the top of the stack. Tasks in the middle are touched only when a user stops them."""

from __future__ import annotations

from collections import deque
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from shunter.engine.state.records import FIRST_READY, NOT_READY, ReadyRange, TaskSet


def make_ready(task_set: TaskSet, first: int, last: int, attempts: NDArray[np.uint32]) -> None:
    """Make queued tasks ready. Attempts so far may differ within the range, so it is split where they do."""
    boundaries = [0, *(np.flatnonzero(attempts[1:] != attempts[:-1]) + 1).tolist(), last - first + 1]
    for start, end in reversed(list(pairwise(boundaries))):
        _push(task_set, (first + start, first + end - 1, int(attempts[start])))
    _count_ready(task_set, first, last)


def make_one_ready(task_set: TaskSet, index: int, attempts: int) -> None:
    """The same for a single task, which costs a fraction."""
    _push(task_set, (index, index, attempts))
    _count_ready(task_set, index, index)


def _count_ready(task_set: TaskSet, first: int, last: int) -> None:
    _clear_delays(task_set, first, last)
    record = task_set.task_class
    record.queued += last - first + 1
    record.touch()
    if not task_set.in_queue:
        task_set.in_queue = True
        _insert_by_age(task_set, record.task_sets)


def _push(task_set: TaskSet, ready_range: ReadyRange) -> None:
    if not task_set.ready and ready_range == FIRST_READY[0]:
        task_set.ready = FIRST_READY
        return
    if not isinstance(task_set.ready, list):
        task_set.ready = list(task_set.ready)
    task_set.ready.append(ready_range)


def _insert_by_age(task_set: TaskSet, task_sets: deque[TaskSet]) -> None:
    """Insert by the age of the job. A new job comes last; a job with a task that is queued again is among the first."""
    if not task_sets or task_sets[-1].job.id <= task_set.job.id:
        task_sets.append(task_set)
    else:
        task_sets.insert(
            next(position for position, each in enumerate(task_sets) if each.job.id > task_set.job.id), task_set
        )


def remove_ready(task_set: TaskSet, first: int, last: int) -> None:
    """Remove tasks from the ready ones. The engine always takes the start of the top range."""
    ready = task_set.ready
    task_set.task_class.touch()
    if ready and ready[-1][0] == first and ready[-1][1] >= last:
        _, top_last, attempts = ready[-1]
        if top_last > last:
            assert isinstance(ready, list), "a shared value has one task"
            ready[-1] = (last + 1, top_last, attempts)
        elif len(ready) == 1:
            task_set.ready = NOT_READY
        else:
            assert isinstance(ready, list), "a shared value has one task"
            ready.pop()
        task_set.task_class.queued -= last - first + 1
    else:
        _clear_delays(task_set, first, last)
        task_set.ready = [part for ready_range in ready for part in _subtract(task_set, ready_range, first, last)]


def _subtract(task_set: TaskSet, ready_range: ReadyRange, first: int, last: int) -> list[ReadyRange]:
    """The rest of a range; updates the class's count."""
    overlap = min(ready_range[1], last) - max(ready_range[0], first) + 1
    if overlap <= 0:
        return [ready_range]
    task_set.task_class.queued -= overlap
    before = [(ready_range[0], first - 1, ready_range[2])] if ready_range[0] < first else []
    after = [(last + 1, ready_range[1], ready_range[2])] if ready_range[1] > last else []
    return before + after


def _clear_delays(task_set: TaskSet, first: int, last: int) -> None:
    if task_set.delayed:
        for index in [index for index in task_set.delayed if first <= index <= last]:
            del task_set.delayed[index]
