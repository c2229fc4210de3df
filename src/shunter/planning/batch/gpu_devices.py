"""Which GPU of a node each task uses, for policies that place shares of GPUs. Owned by `planning.batch.node_choice`.

A cluster counts the GPUs of a node in one amount: thousandths (`gpu_milli`) or whole devices (`gpu`). Here a task that
needs less than one device gets its share of a single one, and any other task gets whole devices. Tasks that were placed
by somebody else are put on the devices on which they fit best."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from shunter.model.resources import CPU
from shunter.planning.view import BoolArray, ClusterView, IntArray, TaskClass

GPU_MILLI, GPU = "gpu_milli", "gpu"
DEVICE = 1000  # thousandths
DEVICES_MAX = 64  # of a node

Devices = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Demand:
    """What one task needs of GPUs: `count` devices, and `milli` of each."""

    count: int
    milli: int


NO_GPU = Demand(0, 0)


def demand_of(task_class: TaskClass) -> Demand:
    milli = task_class.needs.get(GPU_MILLI, 0) + task_class.needs.get(GPU, 0) * DEVICE
    if milli < DEVICE:
        return Demand(1, milli) if milli else NO_GPU
    return Demand(-(-milli // DEVICE), DEVICE)


@dataclass(frozen=True, slots=True)
class _Held:
    """What one task holds: `milli` of each of its devices; the cluster counts `counted` for all of them."""

    milli: int
    counted: int
    devices: Devices


class GpuDevices:
    """`left[row, device]` is free; rows with fewer devices have zeros."""

    def __init__(self) -> None:
        self.left: IntArray = np.zeros((0, 0), np.int64)
        self.largest = 0  # of all devices of one node
        self.largest_cpu = 0
        self._total: IntArray = np.zeros(0, np.int64)  # per row, of all devices
        self._used: IntArray = np.zeros(0, np.int64)  # per row, as the cluster counts it
        self._tasks: dict[int, dict[int, list[_Held]]] = {}  # row -> class -> its tasks, the oldest first

    @property
    def memory(self) -> list[list[Any]]:
        return [
            [row, class_id, [[each.milli, each.counted, list(each.devices)] for each in tasks]]
            for row, classes in self._tasks.items()
            for class_id, tasks in classes.items()
        ]

    def restore(self, memory: list[list[Any]]) -> None:
        self.left, self._tasks = np.zeros((0, 0), np.int64), {}
        for row, class_id, tasks in memory:
            held = [_Held(milli, counted, tuple(devices)) for milli, counted, devices in tasks]
            self._tasks.setdefault(row, {})[class_id] = held

    def sync(self, view: ClusterView) -> bool:
        """Compare with what runs, where the amounts in use differ. Returns whether anything became free."""
        nodes = view.nodes
        columns = [(nodes.resources.index(name), scale) for name, scale in _SCALES.items() if name in nodes.resources]
        total = sum((nodes.capacity[: nodes.count, column] * scale for column, scale in columns), np.zeros(nodes.count))
        used = sum((nodes.reserved[: nodes.count, column] * scale for column, scale in columns), np.zeros(nodes.count))
        if CPU in nodes.resources:
            self.largest_cpu = int(nodes.capacity[: nodes.count, nodes.resources.index(CPU)].max(initial=0))
        if not np.array_equal(total, self._total) or not len(self.left):
            self._resize(total.astype(np.int64))
        changed = np.flatnonzero(used != self._used)
        if not len(changed):
            return False
        has_more = bool((used < self._used).any())
        self._read_running(view, set(changed.tolist()))
        self._used = used.astype(np.int64)
        return has_more

    def fits(self, demand: Demand) -> BoolArray:
        """Which rows have devices for one task."""
        found: BoolArray = (self.left >= max(demand.milli, 1)).sum(axis=1) >= demand.count
        return found

    def fitting(self, row: int, demand: Demand) -> IntArray:
        """The devices of a row that have room for the task."""
        found: IntArray = np.flatnonzero(self.left[row] >= max(demand.milli, 1))
        return found if demand.count else found[:0]

    def best_devices(self, row: int, demand: Demand) -> Devices:
        """The fullest devices on which it fits."""
        fitting = self.fitting(row, demand)
        order = fitting[np.argsort(self.left[row, fitting], kind="stable")]
        return tuple(order[: demand.count].tolist())

    def take(self, task_class: TaskClass, row: int, devices: Devices) -> None:
        demand = demand_of(task_class)
        if demand.count:
            self._hold(row, task_class.id, _Held(demand.milli, _counted(task_class.needs), devices))

    def _hold(self, row: int, class_id: int, held: _Held) -> None:
        self._tasks.setdefault(row, {}).setdefault(class_id, []).append(held)
        self.left[row, list(held.devices)] -= held.milli
        self._used[row] += held.counted

    def _resize(self, total: IntArray) -> None:
        width = min(max(int(-(-total.max(initial=0) // DEVICE)), 1), DEVICES_MAX)
        number = np.arange(width)
        self.left = np.clip(total[:, None] - number * DEVICE, 0, DEVICE)
        self.largest = int(total.max(initial=0))
        self._total, self._used = total, np.zeros(len(total), np.int64)
        known, self._tasks = self._tasks, {}
        for row, classes in known.items():
            for class_id, tasks in classes.items():
                for held in tasks:
                    if row < len(total) and max(held.devices, default=0) < width:
                        self._hold(row, class_id, held)

    def _read_running(self, view: ClusterView, rows: set[int]) -> None:
        assert view.running is not None
        assert view.classes is not None
        running = view.running()
        counts: dict[int, dict[int, int]] = {row: {} for row in rows}
        for number in np.flatnonzero(np.isin(running.node, list(rows))).tolist():
            on_row, class_id = counts[int(running.node[number])], int(running.class_ids[number])
            on_row[class_id] = on_row.get(class_id, 0) + int(running.count[number])
        for row, classes in counts.items():
            for class_id in [*self._tasks.get(row, {})]:
                self._release(row, class_id, classes.get(class_id, 0))
            for class_id, count in classes.items():
                task_class = view.classes(class_id)
                for _ in range(count - len(self._tasks.get(row, {}).get(class_id, ()))):
                    self.take(task_class, row, self.best_devices(row, demand_of(task_class)))

    def _release(self, row: int, class_id: int, count: int) -> None:
        """All but the newest `count` tasks of the class have ended."""
        tasks = self._tasks[row][class_id]
        ended = max(len(tasks) - count, 0)
        for held in tasks[:ended]:
            self.left[row, list(held.devices)] += held.milli
        self._tasks[row][class_id] = tasks[ended:]
        if not self._tasks[row][class_id]:
            del self._tasks[row][class_id]


_SCALES = {GPU_MILLI: 1, GPU: DEVICE}


def _counted(needs: Mapping[str, int]) -> int:
    """What the cluster counts as used by one task."""
    return sum(needs.get(name, 0) * scale for name, scale in _SCALES.items())
