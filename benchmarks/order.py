"""The planner with its whole order: priorities with ageing, deadlines, fair shares, queues, licences and constraints.

A full pass over all pending tasks, cut into slices, and rounds with few changes; then, on full clusters, the slices of
gangs that preempt others or get a reservation. Prints how each grows with the number of nodes.

Run: python -m benchmarks.order"""

from __future__ import annotations

import random
import statistics
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace

import msgspec
import numpy as np

from benchmarks.crowd import Duration, FullCluster
from benchmarks.measure import Bar, Report, Sample, read_options
from benchmarks.planner import GI, SEED, count_placed, make_nodes
from shunter.planning.order.pending_queue import PendingQueue
from shunter.planning.planner import build_policy
from shunter.planning.view import ClusterView, Decision, IntArray, NodeKind, Queued, QueueRules, TaskClass

FULL_PASS = Bar(at_most=1.5)
SLICE = Bar(at_most=100)
ROUND = Bar(at_most=10)
POLICY = "e-pvm"
BUDGET = 20_000  # tasks placed in a round, as the engine has it
LICENCE = "solver"


@dataclass(frozen=True)
class Size:
    """The bars hold for FULL at `nodes`; the others show the growth."""

    nodes: int
    growth: tuple[int, ...]
    classes: int
    tasks_a_class: int
    changes: int
    rounds: int
    preempting: int = 100  # tasks of the gang for which others end
    reserving: int = 500  # and of the one that gets a reservation


FULL = Size(5_000, (1_000, 2_000, 10_000), classes=5_000, tasks_a_class=20, changes=10, rounds=50)
SMALL = Size(200, (100,), classes=200, tasks_a_class=20, changes=10, rounds=5, preempting=20, reserving=40)


@dataclass(frozen=True)
class Result:
    pass_s: float
    pass_cpu_s: float
    slice_ms: float  # the longest
    slices: int
    round_ms: float  # the median, like the next one
    round_cpu_ms: float
    round_most_ms: float


def main() -> None:
    options = read_options(__doc__)
    report = Report("order", options)
    size = SMALL if options.small else FULL
    for nodes in (size.nodes, *size.growth):
        results = [measure(size, nodes) for _ in range(options.rounds)]
        is_judged = nodes == size.nodes
        what = f"{size.classes * size.tasks_a_class:,} tasks in {size.classes:,} classes on {nodes:,} nodes"

        def report_figure(part: str, unit: str, field: str, bar: Bar | None, results: list[Result] = results) -> None:
            report.figure(part, unit, Sample(tuple(float(getattr(each, field)) for each in results)), bar)

        report_figure(f"{what}, full pass", "s", "pass_s", FULL_PASS if is_judged else None)
        report_figure(f"{what}, full pass, in processor time", "s", "pass_cpu_s", None)
        report_figure(f"{what}, longest slice of it", "ms", "slice_ms", SLICE if is_judged else None)
        report_figure(f"{what}, slices", "slices", "slices", None)
        report_figure(f"{what}, round of {size.changes} changes", "ms", "round_ms", ROUND if is_judged else None)
        report_figure(f"{what}, the same in processor time", "ms", "round_cpu_ms", None)
        report_figure(f"{what}, slowest of {size.rounds} such rounds", "ms", "round_most_ms", None)
    for nodes in (size.nodes, *size.growth):
        _report_gangs(report, size, nodes, options.rounds)


def _report_gangs(report: Report, size: Size, nodes: int, rounds: int) -> None:
    cluster, bar = FullCluster(nodes), SLICE if nodes == size.nodes else None
    where = f"on {nodes:,} nodes with {len(cluster.running.count):,} running tasks"
    for what, count, priority in (
        (f"a gang of {size.preempting} for which others end", size.preempting, 90),
        (f"a gang of {size.reserving} that gets a reservation", size.reserving, 15),
    ):
        taken = [list(cluster.start_gang(POLICY, count, priority)) for _ in range(rounds)]
        longest = Sample(tuple(1e3 * max(duration.wall_s for duration in slices) for slices in taken))
        longest_cpu = Sample(tuple(1e3 * max(duration.cpu_s for duration in slices) for slices in taken))
        report.figure(f"{what} {where}, longest slice", "ms", longest, bar)
        report.figure(f"{what} {where}, the same in processor time", "ms", longest_cpu, None)
        report.figure(f"{what} {where}, slices", "slices", Sample(tuple(float(len(slices)) for slices in taken)), None)


def measure(size: Size, nodes: int) -> Result:
    cluster = LoadedCluster(size, nodes)
    slices = list(cluster.full_pass())
    rounds = [cluster.round(size.changes) for _ in range(size.rounds)]
    return Result(
        pass_s=sum(duration.wall_s for duration in slices),
        pass_cpu_s=sum(duration.cpu_s for duration in slices),
        slice_ms=1e3 * max(duration.wall_s for duration in slices),
        slices=len(slices),
        round_ms=1e3 * statistics.median(duration.wall_s for duration in rounds),
        round_cpu_ms=1e3 * statistics.median(duration.cpu_s for duration in rounds),
        round_most_ms=1e3 * max(duration.wall_s for duration in rounds),
    )


class LoadedCluster:
    """A cluster for which more waits than fits, and what an engine would keep of it."""

    def __init__(self, size: Size, nodes: int) -> None:
        self.rng = random.Random(SEED)
        self.nodes = make_nodes(nodes)
        self.nodes.kinds[:] = [
            NodeKind(datacenter, {"disk": disk}, {"runtime.docker": "24"} if disk == "ssd" else {})
            for datacenter in ("berlin", "paris", "rome")
            for disk in ("ssd", "hdd")
        ]
        self.nodes.kind[1:] = np.random.default_rng(SEED).integers(0, len(self.nodes.kinds), nodes)
        self.classes = {number: self._class(number) for number in range(size.classes)}
        self.waiting = PendingQueue()
        for each in self.classes.values():
            self._queue(each, size.tasks_a_class)
        self.queues = {"night": QueueRules("night", running_max=500), "line": QueueRules("line", is_strict=True)}
        self.licences = {LICENCE: (200, 0)}
        self.usage: dict[tuple[str, str], IntArray] = {}
        self.running: list[tuple[int, int]] = []
        self.policy = build_policy(POLICY)
        self.version = 0

    def full_pass(self) -> Iterator[Duration]:
        """How long each slice took, until nothing more is to be decided."""
        decision = Decision(0, is_partial=True)
        while decision.is_partial:
            duration, decision = self._decide()
            yield duration

    def round(self, changes: int) -> Duration:
        """Half of the changes are tasks that end; the rest are tasks that come, and nodes that go or come back."""
        for number in range(changes):
            if number % 2 == 0 and self.running:
                self._end(self.rng.randrange(len(self.running)))
            elif number % 10 == 9:
                row = self.rng.randrange(1, self.nodes.count)
                self.nodes.eligible[row] = not self.nodes.eligible[row]
                self._touch(row)
            else:
                self._queue(self.rng.choice(self.classes), 1)
        return self._decide()[0]

    def _decide(self) -> tuple[Duration, Decision]:
        self.version += 1
        view = ClusterView(self.version, self.nodes, self.waiting, self.usage, self.queues, self.licences)
        started_s, started_cpu_s = time.perf_counter(), time.process_time()
        decision = self.policy.decide(view, now=0.0, budget=BUDGET)
        duration = Duration(time.perf_counter() - started_s, time.process_time() - started_cpu_s)
        assert decision.is_partial or count_placed(decision) < BUDGET
        for placement in decision.placements:
            for row, count in zip(placement.nodes.tolist(), placement.counts.tolist(), strict=True):
                self._run(self.classes[placement.class_id], row, count)
                self.running.extend([(placement.class_id, row)] * count)
            self._queue(self.classes[placement.class_id], -int(placement.counts.sum()))
        return duration, decision

    def _end(self, position: int) -> None:
        self.running[position], self.running[-1] = self.running[-1], self.running[position]
        class_id, row = self.running.pop()
        self._run(self.classes[class_id], row, -1)

    def _run(self, task_class: TaskClass, row: int, count: int) -> None:
        held = self.usage.setdefault((task_class.namespace, task_class.user), np.zeros(3, np.int64))
        for column, resource in enumerate(self.nodes.resources):
            amount = task_class.needs.get(resource, 0) * count
            self.nodes.reserved[row, column] += amount
            held[column] += amount
        self.nodes.tasks[row] += count
        self._touch(row)
        total, used = self.licences[LICENCE]
        self.licences[LICENCE] = (total, used + task_class.needs.get(LICENCE, 0) * count)
        if task_class.queue in self.queues:
            rules = self.queues[task_class.queue]
            self.queues[task_class.queue] = msgspec.structs.replace(rules, running=rules.running + count)

    def _queue(self, task_class: TaskClass, count: int) -> None:
        known = self.waiting.get(task_class.id)
        queued = known or Queued(task_class, 0, since=task_class.id, since_ms=task_class.id % 7 * 10_000)
        self.waiting.put(replace(queued, count=queued.count + count))

    def _touch(self, row: int) -> None:
        self.nodes.tick += 1
        self.nodes.changed[row] = self.nodes.tick

    def _class(self, number: int) -> TaskClass:
        rng = self.rng
        needs = {"cpu": rng.randrange(1000, 16_000, 500), "memory": rng.randrange(2 * GI, 48 * GI, GI)}
        if rng.random() < 0.02:
            needs[LICENCE] = 1
        return TaskClass(
            number,
            needs,
            namespace=f"team-{rng.randrange(40)}",
            user=f"user-{rng.randrange(4)}",
            priority=rng.choice([30, 50, 50, 50, 70]),
            datacenters=rng.choice([(), (), (), ("berlin",), ("paris", "rome")]),
            constraints=rng.choice([(), (), (), ("node.labels.disk == 'ssd'",), ("node.datacenter != 'rome'",)]),
            queue=rng.choice(["default"] * 18 + ["night", "line"]),
            runtime=rng.choice(["process", "process", "process", "docker"]),
            deadline_ms=rng.choice([0, 0, 0, rng.randrange(1, 50) * 1000]),
        )


if __name__ == "__main__":
    main()
