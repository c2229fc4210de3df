"""How well policies pack: how much of the cluster a mix of large and small tasks can use, and how much is stranded.

Tasks come and go for a while, so that holes appear. Then tasks for three quarters of the cluster are submitted, the
large ones last, and finally as many of each kind as fit. Run: python -m benchmarks.packing"""

from __future__ import annotations

import random
from dataclasses import dataclass

import numpy as np

from benchmarks.measure import Options, Report, Sample, read_options
from benchmarks.planner import GI, SEED, make_nodes
from shunter.planning.planner import build_policy
from shunter.planning.view import ClusterView, IntArray, Queued, TaskClass

POLICIES = ("e-pvm", "bin-pack", "spread")
PLENTY = 10**7

# What runs side by side: cpu, memory, and the share of all cpu that the kind asks for.
KINDS = {
    "small": (500, GI, 0.15),
    "web": (2_000, 4 * GI, 0.2),
    "batch": (8_000, 16 * GI, 0.3),
    "memory": (4_000, 96 * GI, 0.1),
    "compute": (32_000, 32 * GI, 0.15),
    "large": (60_000, 200 * GI, 0.1),  # nearly the whole of the smallest node
}


@dataclass(frozen=True)
class Size:
    nodes: int
    rounds: int  # of tasks that come and go


FULL = Size(nodes=500, rounds=20)
SMALL = Size(nodes=30, rounds=5)


@dataclass(frozen=True)
class Packed:
    """Shares of the cluster's cpu and memory, and of the demand."""

    cpu: float  # reserved when no more fits
    memory: float
    stranded: float  # of the cpu, at three quarters: free on nodes that cannot take one large task more
    large: float  # of the large tasks that were asked for, at three quarters
    empty: float  # of the nodes, at half load: could be switched off


COLUMNS = {
    "cpu": "allocation ratio, cpu",
    "memory": "allocation ratio, memory",
    "stranded": "cpu stranded for large tasks",
    "large": "large tasks placed",
    "empty": "nodes empty at half load",
}


def main() -> None:
    options = read_options(__doc__)
    size = SMALL if options.small else FULL
    seeds = range(SEED, SEED + options.rounds)
    found = {policy: [measure(policy, size, seed) for seed in seeds] for policy in POLICIES}
    samples = {
        policy: {column: Sample(tuple(100 * getattr(each, column) for each in packed)) for column in COLUMNS}
        for policy, packed in found.items()
    }
    print_figures(samples, size, options)


def print_figures(samples: dict[str, dict[str, Sample]], size: Size, options: Options) -> None:
    if options.json:
        report = Report("packing", options)
        for policy, columns in samples.items():
            for column, sample in columns.items():
                report.figure(f"{COLUMNS[column]}, {policy}, {size.nodes:,} nodes", "%", sample)
        return
    print(f"packing: {size.nodes:,} nodes, {len(KINDS)} kinds of tasks, in percent")
    print(f"{'policy':10}" + "".join(f"{title:>30}" for title in COLUMNS.values()))
    for policy, columns in samples.items():
        print(f"{policy:10}" + "".join(f"{columns[column]!s:>30}" for column in COLUMNS))


def measure(policy_name: str, size: Size, seed: int) -> Packed:
    cluster = LoadedCluster(policy_name, size.nodes, seed)
    cluster.place(cluster.demand(0.5))
    empty = float((cluster.nodes.tasks[1:] == 0).mean())
    for _ in range(size.rounds):
        cluster.end(0.2)
        cluster.place(cluster.demand(0.12))
    before, wanted = cluster.of_kind("large"), cluster.demand(0.15, is_shuffled=False)
    asked = wanted[-1].count
    cluster.place(wanted)
    large, stranded = (cluster.of_kind("large") - before) / asked, cluster.stranded()
    cluster.place(cluster.demand(0.5))
    cpu, memory = (cluster.nodes.reserved[1:].sum(axis=0) / cluster.nodes.capacity[1:].sum(axis=0))[:2].tolist()
    return Packed(cpu, memory, stranded, large, empty)


class LoadedCluster:
    """Nodes of several sizes and what runs there."""

    def __init__(self, policy_name: str, nodes: int, seed: int) -> None:
        self.rng = random.Random(seed)
        self.nodes = make_nodes(nodes)
        self.nodes.busy[:] = 0.0
        self.policy = build_policy(policy_name)
        self.classes = [
            TaskClass(id, {"cpu": cpu, "memory": memory}, "default", "benchmark", 50)
            for id, (cpu, memory, _) in enumerate(KINDS.values())
        ]
        self.running: list[tuple[int, int]] = []  # class and row of each task

    def demand(self, share: float, is_shuffled: bool = True) -> list[Queued]:
        """Tasks that together ask for so much of all cpu: in a random order of kinds, or the large ones last."""
        total = int(self.nodes.capacity[1:, 0].sum())
        order = self.rng.sample(range(len(KINDS)), len(KINDS)) if is_shuffled else range(len(KINDS))
        counts = [round(share * part * total / cpu) for cpu, _, part in KINDS.values()]
        return [Queued(self.classes[id], max(1, counts[id]), since=place) for place, id in enumerate(order)]

    def place(self, queued: list[Queued]) -> None:
        """What finds no room goes away. Everything is offered at once, however many decisions it takes."""
        left = {each.task_class.id: each for each in queued}
        is_partial = True
        while is_partial:
            view = ClusterView(0, self.nodes, [each for each in left.values() if each.count])
            decision = self.policy.decide(view, 0.0, PLENTY)
            is_partial = decision.is_partial
            for placement in decision.placements:
                self._reserve(placement.class_id, placement.nodes, placement.counts)
                left[placement.class_id].count -= int(placement.counts.sum())
                for row, count in zip(placement.nodes.tolist(), placement.counts.tolist(), strict=True):
                    self.running += [(placement.class_id, row)] * count

    def end(self, share: float) -> None:
        """So many of the running tasks, chosen at random."""
        self.rng.shuffle(self.running)
        kept = round(len(self.running) * (1 - share))
        for class_id, row in self.running[kept:]:
            self._reserve(class_id, np.array([row]), np.array([-1]))
        del self.running[kept:]

    def stranded(self) -> float:
        """The share of all cpu that is free on nodes with no room for one large task more."""
        cpu, memory, _ = KINDS["large"]
        free = self.nodes.capacity[1:] - self.nodes.reserved[1:]
        is_useless = (free[:, 0] < cpu) | (free[:, 1] < memory)
        return float(free[is_useless, 0].sum() / self.nodes.capacity[1:, 0].sum())

    def of_kind(self, name: str) -> int:
        return sum(class_id == list(KINDS).index(name) for class_id, _ in self.running)

    def _reserve(self, class_id: int, rows: IntArray, counts: IntArray) -> None:
        needs = self.classes[class_id].needs
        for column, resource in enumerate(self.nodes.resources):
            self.nodes.reserved[rows, column] += counts * needs.get(resource, 0)
        self.nodes.tasks[rows] += counts
        self.nodes.tick += 1
        self.nodes.changed[rows] = self.nodes.tick


if __name__ == "__main__":
    main()
