"""Chooses which jobs share nodes, and builds the queue that places them so. Pure; called by `profiler`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from shunter.schedulers.profiler.matrix import Matrix, Pair

JOBS_PER_NODE = 2  # jobs on one node


@dataclass(frozen=True, slots=True)
class SlotLayout:
    """The slots of a Testbed: equally many on each of its nodes, numbered over all nodes first."""

    nodes: int
    slots_per_node: int

    @property
    def slots(self) -> int:
        return self.nodes * self.slots_per_node


def choose_partners(matrix: Matrix, order: Sequence[str], nodes: int) -> list[Pair]:
    """Greedy, in two passes: the first jobs of `order` get a node each; then each in turn gets the unused job next to
    which it took the least time, or, if nothing was measured, the first unused one.

    Greedy gives up the best sum over all pairs, and considers only the first job's time: times with different partners
    cannot be compared with each other."""
    count = min(nodes, len(order) // JOBS_PER_NODE)
    firsts, unused = order[:count], list(order[count:])
    chosen: list[Pair] = []
    for first in firsts:
        measured = [other for other in unused if (first, other) in matrix.means]
        second = min(measured, key=lambda other: matrix.means[first, other].seconds) if measured else unused[0]
        unused.remove(second)
        chosen.append((first, second))
    return chosen


def build_queue(pairs: Sequence[Pair], layout: SlotLayout) -> list[str]:
    """One entry for each executor: all of the first pass, then all of the second.

    Entry i gets slot i, and slots are numbered over all nodes first. So the first pass fills the first half of each
    node's slots, and the second puts the partners next to them. Each job gets slots / jobs executors; if there
    is a remainder, the first pairs get one more node. Of an odd number of slots on a node, the last stays free.
    """
    pair_by_node = [pairs[node % len(pairs)] for node in range(layout.nodes)]
    half = layout.slots_per_node // JOBS_PER_NODE
    return [first for first, _ in pair_by_node] * half + [second for _, second in pair_by_node] * half
