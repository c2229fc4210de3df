"""Tasks with a pending move to a node. Each goes to that node next, and nowhere else. Written by
`engine.state.apply_tasks`, read by `engine.placement.move`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from shunter.planning.filter.node_ledger import NodeLedger
from shunter.planning.view import Nodes

TaskKey = tuple[int, int, int]  # job, group, index


class MoveRegistry:
    def __init__(self) -> None:
        self.pinned: dict[TaskKey, int] = {}  # -> node; the first moved task is placed first
        self._ledger = NodeLedger()  # to ask which nodes match

    def ledger(self, nodes: Nodes) -> NodeLedger:
        self._ledger.sync(nodes)
        return self._ledger

    def of_job(self, job_id: int) -> list[tuple[int, int]]:
        """The group and the node of each task that waits for its node, or stops to go there."""
        return [(group, node) for (job, group, _), node in self.pinned.items() if job == job_id]

    def forget_job(self, job_id: int) -> None:
        for task in [task for task in self.pinned if task[0] == job_id]:
            del self.pinned[task]

    def appliers(self) -> Mapping[type, Callable[[Any], None]]:
        return {}  # its change needs the task table: see `engine.state.apply_tasks`

    def dump(self) -> list[list[int]]:
        return [[*task, node] for task, node in self.pinned.items()]

    def load(self, dump: list[list[int]]) -> None:
        self.pinned = {(job, group, index): node for job, group, index, node in dump}
