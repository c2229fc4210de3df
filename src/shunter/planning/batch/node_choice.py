"""Ways to choose the node of a task: at random, the fullest one, or where GPUs become least fragmented. Used by
`planning.batch.by_node`."""

from __future__ import annotations

from collections import Counter
from hashlib import blake2b
from typing import Any

import numpy as np

from shunter.planning.batch.by_node import Candidates
from shunter.planning.batch.fragmentation import Kind, TypicalTasks, kind_of, typical_tasks
from shunter.planning.batch.gpu_devices import DEVICE, Demand, Devices
from shunter.planning.view import FloatArray, IntArray, TaskClass

KINDS_MAX = 2_000  # of tasks that are counted as typical
RISES_BYTES_MAX = 64 * 2**20  # of rises that are remembered; those of the last kinds always are
RISES_MIN = 16


class RandomNode:
    """Any node with room, and any device. The class and its age decide, so a replay decides the same."""

    def __init__(self) -> None:
        self.memory: dict[str, Any] = {}

    def see(self, task_class: TaskClass, count: int) -> None: ...

    def choose(self, candidates: Candidates) -> tuple[int, Devices]:
        rows, demand = candidates.rows, candidates.demand
        digest = blake2b(f"{candidates.task_class.id} {candidates.number}".encode(), digest_size=16).digest()
        row = int(rows[int.from_bytes(digest[:8], "little") % len(rows)])
        fitting = candidates.gpus.fitting(row, demand)
        turn = int.from_bytes(digest[8:], "little") % max(len(fitting), 1)
        return row, tuple(np.roll(fitting, -turn)[: demand.count].tolist())


class FullestNode:
    """The node with the least cpu and GPU left, each as a share of the largest node; and its fullest device."""

    def __init__(self) -> None:
        self.memory: dict[str, Any] = {}

    def see(self, task_class: TaskClass, count: int) -> None: ...

    def choose(self, candidates: Candidates) -> tuple[int, Devices]:
        rows, gpus = candidates.rows, candidates.gpus
        left: FloatArray = gpus.left[rows].sum(axis=1) / max(gpus.largest, 1)
        left += candidates.cpu_left[rows] / max(gpus.largest_cpu, 1)
        row = int(rows[left.argmin()])
        return row, gpus.best_devices(row, candidates.demand)


class LeastFragmented:
    """The node on which GPUs become least fragmented (`planning.batch.fragmentation`). Typical tasks are those seen so
    far; they are counted anew whenever their number has doubled."""

    def __init__(self) -> None:
        self._seen: Counter[Kind] = Counter()
        self._counted: Counter[Kind] = Counter()  # of which the typical ones are made
        self._typical: TypicalTasks | None = None
        self._rises: dict[Kind, _KnownRises] = {}

    @property
    def memory(self) -> dict[str, Any]:
        if not self._seen:
            return {}
        return {"kinds": [[*kind, count, self._counted[kind]] for kind, count in sorted(self._seen.items())]}

    @memory.setter
    def memory(self, memory: dict[str, Any]) -> None:
        rows = memory.get("kinds", ())
        self._seen = Counter({(cpu, devices, milli): count for cpu, devices, milli, count, _ in rows})
        self._counted = Counter({(cpu, devices, milli): count for cpu, devices, milli, _, count in rows})
        self._typical = None
        self._rises.clear()

    def see(self, task_class: TaskClass, count: int) -> None:
        kind = kind_of(task_class)
        if kind in self._seen or len(self._seen) < KINDS_MAX:
            self._seen[kind] += count

    def choose(self, candidates: Candidates) -> tuple[int, Devices]:
        if self._seen.total() >= 2 * self._counted.total():
            self._counted, self._typical = Counter(self._seen), None
        if self._typical is None:
            self._typical = typical_tasks(self._counted)
            self._rises.clear()
        kind, demand, gpus = kind_of(candidates.task_class), candidates.demand, candidates.gpus
        known = self._rises.pop(kind, None) or _KnownRises()
        self._rises[kind] = known  # the one that was used last is the last
        known.update(self._typical, candidates.cpu_left, gpus.left, kind[0], demand)
        if len(self._rises) > max(RISES_MIN, RISES_BYTES_MAX // known.size_bytes):
            del self._rises[next(iter(self._rises))]
        row = int(candidates.rows[known.rises[candidates.rows].argmin()])
        if 0 < demand.milli < DEVICE:
            return row, (int(known.devices[row]),)
        return row, gpus.best_devices(row, demand)


class _KnownRises:
    """The rises of one kind of task on all nodes; computed again only where a node has changed."""

    def __init__(self) -> None:
        self.rises: FloatArray = np.zeros(0)
        self.devices: IntArray = np.zeros(0, np.int64)
        self._cpu_left: IntArray = np.zeros(0, np.int64)
        self._left: IntArray = np.zeros((0, 0), np.int64)

    @property
    def size_bytes(self) -> int:
        return max(1, self.rises.nbytes + self.devices.nbytes + self._cpu_left.nbytes + self._left.nbytes)

    def update(self, typical: TypicalTasks, cpu_left: IntArray, left: IntArray, cpu: int, demand: Demand) -> None:
        if self._left.shape != left.shape:
            self.rises, self.devices = np.zeros(len(left)), np.zeros(len(left), np.int64)
            self._cpu_left, self._left = cpu_left - 1, left.copy()
        changed = np.flatnonzero((self._cpu_left != cpu_left) | (self._left != left).any(axis=1))
        if len(changed):
            self.rises[changed], self.devices[changed] = typical.rise(cpu_left[changed], left[changed], cpu, demand)
            self._cpu_left[changed], self._left[changed] = cpu_left[changed], left[changed]
