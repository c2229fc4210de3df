"""Facts about task sets as columns, one entry per slot, for views of running tasks. Columns are fast enough for a round
with ten thousand task sets; single lookups are not.

Written by `engine.state.apply_task_sets` when a task set gets its slot or another class, and by
`engine.state.apply_services` when a job gets another priority. Read by `engine.placement`. The columns are derived, so
they are neither committed nor recovered."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from shunter.engine.state.records import TaskSet

UNKNOWN = -1  # the duration of its tasks has not been looked up yet
RUNS_UNTIL_STOPPED = -2  # until they are stopped
ESTIMATE_MAX_MS = 2**31 - 1
PINNED_PRIORITY = 2**15 - 1  # the priority, as the search for victims sees it, of tasks bound to one node


class TaskSetColumns:
    def __init__(self) -> None:
        self.class_id: NDArray[np.int32] = np.zeros(64, np.int32)
        self.priority: NDArray[np.int16] = np.zeros(64, np.int16)
        self.estimate_ms: NDArray[np.int32] = np.full(64, UNKNOWN, np.int32)

    def put(self, task_set: TaskSet) -> None:
        slot = task_set.slot
        if slot >= len(self.class_id):
            self._grow(slot + 1)
        self.class_id[slot] = task_set.task_class.id
        self.set_priority(task_set)
        self.estimate_ms[slot] = UNKNOWN

    def set_priority(self, task_set: TaskSet) -> None:
        """A service whose priority was raised has tasks that started at the lower one. They count at the higher one, so
        that an update preempts no instances of its own service."""
        record = task_set.task_class
        self.priority[task_set.slot] = (
            PINNED_PRIORITY if record.key.node else max(record.task_class.priority, task_set.job.priority)
        )

    def set_estimate(self, slot: int, seconds: float) -> None:
        """0 means unknown."""
        self.estimate_ms[slot] = min(int(seconds * 1000), ESTIMATE_MAX_MS)

    def _grow(self, size: int) -> None:
        added_rows = max(size, 2 * len(self.class_id)) - len(self.class_id)
        self.class_id = np.concatenate([self.class_id, np.zeros(added_rows, np.int32)])
        self.priority = np.concatenate([self.priority, np.zeros(added_rows, np.int16)])
        self.estimate_ms = np.concatenate([self.estimate_ms, np.full(added_rows, UNKNOWN, np.int32)])
