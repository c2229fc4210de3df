"""How much of a node's free GPUs typical tasks could not use. Used by the policy `fgd` of `planning.batch.node_choice`.

Weng, Yang, Yu, Wang, Tang, Yang and Zhang, "Beware of Fragmentation: Scheduling GPU-Sharing Workloads with
Fragmentation Gradient Descent", USENIX ATC 2023. For one kind of task, all free GPU of a node that cannot run it is
fragmented; on a node that can, only the devices that are too full. The fragmentation is the mean over the kinds,
weighted by how often they occur. A task goes where it raises the fragmentation least."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import numpy as np

from shunter.model.resources import CPU
from shunter.planning.batch.gpu_devices import DEVICE, Demand, demand_of
from shunter.planning.view import FloatArray, IntArray, TaskClass

KINDS_MAX = 100  # the most frequent ones count
ROWS_AT_ONCE = 2_000  # so that the work on many nodes stays in the cache

Kind = tuple[int, int, int]  # cpu, devices, thousandths of each


@dataclass(frozen=True, slots=True)
class TypicalTasks:
    """Kinds of tasks in columns, with their shares of all tasks."""

    cpu: IntArray
    count: IntArray
    milli: IntArray
    share: FloatArray

    def fragmentation(self, cpu_left: IntArray, left: IntArray) -> FloatArray:
        """The fragmentation of nodes with this much free cpu, and these amounts on their devices: `left[node,
        device]`."""
        total = left.sum(axis=1)
        is_large = left[:, None, :] >= self.milli[None, :, None]
        can_host = (is_large.sum(axis=2) >= self.count) & (cpu_left[:, None] >= self.cpu) & (self.count > 0)
        too_full = np.where(is_large, 0, left[:, None, :]).sum(axis=2)
        found: FloatArray = np.where(can_host, too_full, total[:, None]) @ self.share
        return found

    def rise(self, cpu_left: IntArray, left: IntArray, cpu: int, demand: Demand) -> tuple[FloatArray, IntArray]:
        """By how much one more task raises the fragmentation of each node, and on which device a share goes. Infinite
        where it does not fit."""
        rises = np.full(len(left), np.inf)
        devices = np.zeros(len(left), np.int64)
        for first in range(0, len(left), ROWS_AT_ONCE):
            part = slice(first, first + ROWS_AT_ONCE)
            rises[part], devices[part] = self._rise(cpu_left[part], left[part], cpu, demand)
        return rises, devices

    def _rise(self, cpu_left: IntArray, left: IntArray, cpu: int, demand: Demand) -> tuple[FloatArray, IntArray]:
        before, cpu_after = self.fragmentation(cpu_left, left), cpu_left - cpu
        if not 0 < demand.milli < DEVICE:
            after = left.copy()
            is_whole = (after >= DEVICE) & ((after >= DEVICE).cumsum(axis=1) <= demand.count)
            after[is_whole] = 0
            fits = (is_whole.sum(axis=1) >= demand.count) & (cpu_after >= 0)
            return np.where(fits, self.fragmentation(cpu_after, after) - before, np.inf), np.zeros(len(left), np.int64)
        best, device = np.full(len(left), np.inf), np.zeros(len(left), np.int64)
        for number in range(left.shape[1]):
            fits = np.flatnonzero((left[:, number] >= demand.milli) & (cpu_after >= 0))
            after = left[fits].copy()
            after[:, number] -= demand.milli
            rise = self.fragmentation(cpu_after[fits], after) - before[fits]
            is_better = rise < best[fits]
            best[fits[is_better]], device[fits[is_better]] = rise[is_better], number
        return best, device


def typical_tasks(seen: Counter[Kind]) -> TypicalTasks:
    kinds = sorted(seen.items(), key=lambda item: (-item[1], item[0]))[:KINDS_MAX]
    table = np.array([kind for kind, _ in kinds], np.int64).reshape(-1, 3)
    counts = np.array([count for _, count in kinds], np.float64)
    return TypicalTasks(table[:, 0], table[:, 1], table[:, 2], counts / max(counts.sum(), 1.0))


def kind_of(task_class: TaskClass) -> Kind:
    demand = demand_of(task_class)
    return task_class.needs.get(CPU, 0), demand.count, demand.milli
