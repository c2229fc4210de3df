"""The strategy of policies that take jobs in order and choose a node for each task. A job that does not fit waits, and
others pass it, as in Kubernetes. Used by `planning.batch.batch_policy`; `node_choice` has the ways to choose."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from shunter.model.resources import CPU
from shunter.planning.batch.decision_pass import DecisionPass
from shunter.planning.batch.free_space import Fit, FreeSpace, PartFit
from shunter.planning.batch.gpu_devices import Demand, Devices, GpuDevices, demand_of
from shunter.planning.batch.pending_jobs import JobPart, PendingJob
from shunter.planning.filter.node_kinds import RUNTIME_BUILT_IN
from shunter.planning.view import BoolArray, IntArray, TaskClass


@dataclass(frozen=True, slots=True)
class Candidates:
    """The next task, and the rows that have room for it."""

    task_class: TaskClass
    number: int  # of the task, by its submission
    demand: Demand
    rows: IntArray
    cpu_left: IntArray  # on all rows
    gpus: GpuDevices


class NodeChoice(Protocol):
    """`memory` is what a renewed one must know."""

    memory: dict[str, Any]

    def see(self, task_class: TaskClass, count: int) -> None:
        """So many tasks of this class were submitted."""
        ...

    def choose(self, candidates: Candidates) -> tuple[int, Devices]:
        """One of the rows, and which of its GPUs."""
        ...


class ByNode:
    """Jobs in order, each task on the node of the choice. A job that only lacks room is tried again when something
    becomes free."""

    def __init__(self, choice: NodeChoice) -> None:
        self._choice, self._devices = choice, GpuDevices()
        self._seen: dict[int, int] = {}  # pending class -> how many tasks of it were counted
        self._blocked: dict[int, int] = {}  # job -> how many tasks of it wait
        self._free: IntArray | None = None  # after the last decision
        self._eligible: BoolArray | None = None

    @property
    def memory(self) -> dict[str, Any]:
        devices = self._devices.memory
        found = dict(self._choice.memory)
        return found | {"devices": devices, "seen": sorted(self._seen.items())} if devices or self._seen else found

    @memory.setter
    def memory(self, memory: dict[str, Any]) -> None:
        self._devices.restore(memory.get("devices", []))
        self._seen = dict(memory.get("seen", ()))
        self._choice.memory = {name: memory[name] for name in memory if name not in ("devices", "seen")}

    def run(self, decision_pass: DecisionPass) -> None:
        view, pending = decision_pass.view, decision_pass.pending
        jobs = [pending.job(slot) for slot in pending.in_order().tolist()]
        self._see(jobs)
        if self._devices.sync(view) | self._has_more(decision_pass):
            self._blocked.clear()
        for job in jobs:
            if self._blocked.get(job.key) == job.task_count:
                continue
            tasks_max = decision_pass.admissible_count(job)
            affordable = decision_pass.affordable_count(job, tasks_max)
            if affordable < tasks_max and not affordable:
                decision_pass.decision.is_partial = True
                break
            if affordable and self._start(decision_pass, job, affordable) < affordable:
                if _waits_for_room(job):
                    self._blocked[job.key] = job.task_count
            elif affordable < tasks_max:
                decision_pass.decision.is_partial = True
                break
        self._free = decision_pass.free.amounts.copy()

    def _see(self, jobs: list[PendingJob]) -> None:
        now = {part.queued.task_class.id: part for job in jobs for part in job.parts}
        for class_id, part in now.items():
            more = part.queued.count - self._seen.get(class_id, 0)
            if more > 0:
                self._choice.see(part.queued.task_class, more)
        self._seen = {class_id: part.queued.count for class_id, part in now.items()}
        keys = {job.key for job in jobs}
        self._blocked = {key: count for key, count in self._blocked.items() if key in keys}

    def _has_more(self, decision_pass: DecisionPass) -> bool:
        """Whether a node may take what it could not take after the last decision."""
        nodes, before, eligible = decision_pass.view.nodes, self._free, self._eligible
        self._eligible = nodes.eligible[: nodes.count].copy()
        if before is None or eligible is None or before.shape != decision_pass.free.amounts.shape:
            return True
        return bool((decision_pass.free.amounts > before).any() or not np.array_equal(eligible, self._eligible))

    def _start(self, decision_pass: DecisionPass, job: PendingJob, tasks_max: int) -> int:
        fit, chosen = self._fit(decision_pass, job, tasks_max)
        if not fit:
            return 0
        for task_class, row, devices in chosen:
            self._devices.take(task_class, row, devices)
        return decision_pass.start_fit(job, fit)

    def _fit(
        self, decision_pass: DecisionPass, job: PendingJob, tasks_max: int
    ) -> tuple[Fit, list[tuple[TaskClass, int, Devices]]]:
        """Where the tasks go: all of a gang, or as many of another job as fit."""
        free = decision_pass.free.with_amounts(decision_pass.free.amounts.copy())
        left = self._devices.left.copy()
        resources = decision_pass.view.nodes.resources
        cpu = resources.index(CPU) if CPU in resources else -1
        fit: Fit = []
        chosen: list[tuple[TaskClass, int, Devices]] = []
        for part in job.parts:
            counts: Counter[int] = Counter()
            task_class, demand = part.queued.task_class, demand_of(part.queued.task_class)
            for number in range(part.queued.count if job.is_gang else min(part.queued.count, tasks_max)):
                rows = self._rows(free, part, counts, demand)
                if not len(rows):
                    break
                cpu_left = free.amounts[:, cpu] if cpu >= 0 else np.zeros(len(free.amounts), np.int64)
                row, devices = self._choice.choose(
                    Candidates(task_class, part.queued.since + number, demand, rows, cpu_left, self._devices)
                )
                counts[row] += 1
                free.amounts[row] -= part.needs
                if devices:
                    self._devices.left[row, list(devices)] -= demand.milli
                chosen.append((task_class, row, devices))
            if job.is_gang and counts.total() < part.queued.count:
                fit, chosen = [], []
                break
            if counts:
                rows = np.array(sorted(counts), np.int64)
                fit.append(PartFit(task_class, part.needs, rows, np.array([counts[row] for row in rows.tolist()])))
        self._devices.left = left  # `take` takes them for good
        return fit, chosen

    def _rows(self, free: FreeSpace, part: JobPart, counts: Counter[int], demand: Demand) -> IntArray:
        """Rows that take one more task."""
        has_room = free.has_room(part)
        if demand.count:
            has_room &= self._devices.fits(demand)
        if part.is_one_per_node:
            has_room[list(counts)] = False
        return np.flatnonzero(has_room)


def _waits_for_room(job: PendingJob) -> bool:
    """Whether nothing but room can make it fit: no label of a node, no task next to it, no time since a failure."""
    return not any(
        part.queued.avoid
        or part.queued.task_class.constraints
        or part.queued.task_class.datacenters
        or part.queued.task_class.runtime != RUNTIME_BUILT_IN
        or (
            (rules := part.queued.task_class.rules) is not None
            and (rules.exclusive or rules.distinct or rules.affinity)
        )
        for part in job.parts
    )
