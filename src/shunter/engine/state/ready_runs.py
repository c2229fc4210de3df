"""What of a group waits to be placed: a stack of runs, each with its attempts so far. Called by `engine.state.state`.

Taking the next tasks is a matter of the stack's top; tasks in the middle are touched only when someone stops them.
"""

from __future__ import annotations

from collections import deque
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from shunter.engine.state.records import Group, Run


def make_ready(group: Group, first: int, last: int, attempts: NDArray[np.uint32]) -> None:
    """Queued tasks may be placed now. Attempts so far may differ within the run, so it is cut where they do."""
    _forget_delays(group, first, last)
    if first == last:
        group.ready.append((first, last, int(attempts[0])))
    else:
        cuts = [0, *(np.flatnonzero(np.diff(attempts)) + 1).tolist(), last - first + 1]
        for start, end in reversed(list(pairwise(cuts))):
            group.ready.append((first + start, first + end - 1, int(attempts[start])))
    record = group.task_class
    record.queued += last - first + 1
    record.touch()
    if not group.in_queue:
        group.in_queue = True
        _line_up(group, record.groups)


def _line_up(group: Group, groups: deque[Group]) -> None:
    """By the age of their jobs. A new job is the last one; one of which a task came back is one of the first."""
    if not groups or groups[-1].job.id <= group.job.id:
        groups.append(group)
    else:
        groups.insert(next(place for place, each in enumerate(groups) if each.job.id > group.job.id), group)


def unqueue(group: Group, first: int, last: int) -> None:
    """These tasks do not wait any more. What the engine takes is always the start of the top run."""
    ready = group.ready
    group.task_class.touch()
    if ready and ready[-1][0] == first and ready[-1][1] >= last:
        top = ready.pop()
        if top[1] > last:
            ready.append((last + 1, top[1], top[2]))
        group.task_class.queued -= last - first + 1
    else:
        _forget_delays(group, first, last)
        group.ready = [part for run in ready for part in _without(group, run, first, last)]


def _without(group: Group, run: Run, first: int, last: int) -> list[Run]:
    """What is left of a run, with the class's count kept true."""
    overlap = min(run[1], last) - max(run[0], first) + 1
    if overlap <= 0:
        return [run]
    group.task_class.queued -= overlap
    before = [(run[0], first - 1, run[2])] if run[0] < first else []
    after = [(last + 1, run[1], run[2])] if run[1] > last else []
    return before + after


def _forget_delays(group: Group, first: int, last: int) -> None:
    if group.delayed:
        for index in [index for index in group.delayed if first <= index <= last]:
            del group.delayed[index]
