"""Small clusters with running tasks: what the engine passes to the planner about them, computed the slow way."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import msgspec
import numpy as np

from shunter.planning.filter.filters import FILTERS
from shunter.planning.filter.node_ledger import NodeLedger
from shunter.planning.filter.rules import RuleSet
from shunter.planning.score.pick import Picked
from shunter.planning.score.scores import SCORES, Score
from shunter.planning.score.workspace import Workspace, compute_scores
from shunter.planning.view import BoolArray, ClusterView, IntArray, Queued, QueueRules, Rules, Running, TaskClass
from tests.unit.planning.cluster_builder import Cluster

PRIORITY_MAX = 100
SSD = "node.labels.disk == 'ssd'"


@dataclass
class Task:
    """One task on a node."""

    task_class: TaskClass
    row: int
    started_ms: int = 0
    end_ms: int = 0
    is_stopping: bool = False


@dataclass
class RunningCluster:
    """A cluster and its tasks. A match over jobs is just a name here, and holds for the classes of that name."""

    cluster: Cluster = field(default_factory=Cluster)
    tasks: list[Task] = field(default_factory=list)
    classes: dict[int, TaskClass] = field(default_factory=dict)
    names: dict[int, str] = field(default_factory=dict)
    queues: dict[str, QueueRules] = field(default_factory=dict)
    licences: dict[str, int] = field(default_factory=dict)

    def add(self, cpu: int = 4, memory: int = 64, **labels: str) -> int:
        return self.cluster.add({"cpu": cpu, "memory": memory}, labels=labels)

    def make_class(self, name: str, priority: int = 50, rules: Rules | None = None, **needs: int) -> TaskClass:
        id = len(self.classes) + 1
        task_class = TaskClass(id, needs or {"cpu": 1}, "default", "tester", priority, rules=rules)
        if rules is not None:
            task_class = replace(task_class, rules=replace(rules, job=rules.job or id))
        self.classes[id], self.names[id] = task_class, name
        return task_class

    def put_in_queue(self, task_class: TaskClass, queue: str) -> TaskClass:
        """The class as one of that queue."""
        self.classes[task_class.id] = replace(task_class, queue=queue)
        return self.classes[task_class.id]

    def run(
        self, task_class: TaskClass, row: int, started_ms: int = 0, end_ms: int = 0, stopping: bool = False
    ) -> Task:
        task = Task(task_class, row, started_ms, end_ms, stopping)
        self.tasks.append(task)
        self.cluster.reserve(row, self._on_nodes(task_class))
        if task_class.rules is not None and task_class.rules.exclusive:
            self.cluster.nodes.owner[row] = task_class.rules.job
        return task

    def end(self, task: Task) -> None:
        self.tasks.remove(task)
        self.cluster.reserve(task.row, self._on_nodes(task.task_class), -1)
        if self.cluster.nodes.tasks[task.row] == 0:
            self.cluster.nodes.owner[task.row] = 0

    def view(self, queued: Sequence[Queued] = (), version: int = 1) -> ClusterView:
        return ClusterView(
            version,
            self.cluster.nodes,
            queued,
            queues={
                name: msgspec.structs.replace(rules, running=self._in_queue(name))
                for name, rules in self.queues.items()
            },
            licences={name: (total, self._used(name)) for name, total in self.licences.items()},
            running=self.running,
            classes=self.classes.__getitem__,
            tally=lambda id: Counter(task.row for task in self.tasks if task.task_class.id == id),
            leaving=lambda id: Counter(
                task.row for task in self.tasks if task.task_class.id == id and task.is_stopping
            ),
            presence=lambda match: self._count(lambda task: self.names[task.task_class.id] == match),
            matches=lambda match, id: self.names[id] == match,
            repels=self._repels if any(_anti(task.task_class) for task in self.tasks) else None,
            called=self.names.__getitem__,
            lowest_priority=lambda: min((task.task_class.priority for task in self.tasks), default=PRIORITY_MAX),
        )

    def running(self) -> Running:
        columns = [
            (task.task_class.id, task.row, 1, task.task_class.priority, task.started_ms, task.end_ms)
            for task in self.tasks
        ]
        ids, rows, counts, priorities, started, ends = np.array(columns, dtype=np.int64).reshape(-1, 6).T
        stopping: BoolArray = np.array([task.is_stopping for task in self.tasks], dtype=np.bool_)
        return Running(ids, rows, counts, priorities, started, ends, stopping)

    def workspace(self, queued: Sequence[Queued] = (), score: Score = SCORES["spread"]) -> Workspace:
        ledger = NodeLedger(score.keep)
        ledger.sync(self.cluster.nodes)
        rule_set = RuleSet(self.view(queued), ledger)
        return Workspace(ledger, rule_set, score, FILTERS, lambda *asked: compute_scores(FILTERS, score, *asked))

    def _on_nodes(self, task_class: TaskClass) -> dict[str, int]:
        return {name: need for name, need in task_class.needs.items() if name not in self.licences}

    def _in_queue(self, name: str) -> int:
        return sum(task.task_class.queue == name for task in self.tasks)

    def _used(self, licence: str) -> int:
        return sum(task.task_class.needs.get(licence, 0) for task in self.tasks)

    def _repels(self, class_id: int) -> IntArray | None:
        return self._count(lambda task: self.names[class_id] in _anti(task.task_class))

    def _count(self, counts) -> IntArray:  # type: ignore[no-untyped-def]
        rows = [task.row for task in self.tasks if counts(task)]
        return np.bincount(rows, minlength=self.cluster.nodes.count).astype(np.int64)


def _anti(task_class: TaskClass) -> set[str]:
    """The jobs that the class keeps away from its nodes."""
    rules = task_class.rules
    return (
        {each.match for each in rules.affinity if each.to == "job" and each.anti and each.require} if rules else set()
    )


def as_dict(picked: Picked) -> dict[int, int]:
    found = dict(zip(picked.rows.tolist(), picked.counts.tolist(), strict=True))
    assert len(found) == len(picked.rows), "a row is named twice"
    return found
