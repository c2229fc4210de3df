"""A planner and its cluster over time: what it reserves, starts and ends. For tests of blocked items."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from shunter.planning.planner import Planner, Stages
from shunter.planning.score.scores import SCORES
from shunter.planning.view import Decision, Queued, TaskClass
from tests.unit.planning.cluster_builder import chosen
from tests.unit.planning.running_cluster import RunningCluster, Task

PLENTY = 10**6
STAGES = Stages(SCORES["bin-pack"])


def cluster_of(*cpus: int) -> RunningCluster:
    running_cluster = RunningCluster()
    for cpu in cpus:
        running_cluster.add(cpu)
    return running_cluster


@dataclass
class PlannerHarness:
    """A cluster through time: whatever the planner decides happens at once, and tasks end when they should."""

    running_cluster: RunningCluster
    stages: Stages = STAGES
    queued: list[Queued] = field(default_factory=list)
    now_ms: int = 0
    real_s: dict[int, float] = field(default_factory=dict)  # class id -> how long its tasks really run
    ends: list[tuple[int, Task]] = field(default_factory=list)
    started_ms: dict[int, int] = field(default_factory=dict)  # class id -> when the last of its tasks started

    def __post_init__(self) -> None:
        self.planner = Planner(self.stages)

    def queue(self, task_class: TaskClass, count: int = 1, estimate_s: float = 0.0, real_s: float = 0.0) -> Queued:
        self.real_s[task_class.id] = real_s or estimate_s
        queued = Queued(task_class, count, since=len(self.queued), since_ms=self.now_ms, estimate_s=estimate_s)
        self.queued.append(queued)
        return queued

    def run(self, task_class: TaskClass, row: int, end_s: float, is_known: bool = True) -> None:
        task = self.running_cluster.run(task_class, row, end_ms=int(end_s * 1000) if is_known else 0)
        self.ends.append((int(end_s * 1000), task))

    def decide(self) -> Decision:
        waiting = [replace(each) for each in self.queued if each.count]
        decision = self.planner.decide(self.running_cluster.view(waiting), self.now_ms / 1000, PLENTY)
        estimates = {each.task_class.id: each for each in self.queued}
        for class_id, rows in chosen(decision).items():
            queued = estimates[class_id]
            for row, count in rows.items():
                queued.count -= count
                for _ in range(count):
                    known_ms = self.now_ms + int(queued.estimate_s * 1000) if queued.estimate_s else 0
                    task = self.running_cluster.run(queued.task_class, row, self.now_ms, known_ms)
                    self.ends.append((self.now_ms + int(self.real_s[class_id] * 1000), task))
            if not queued.count:
                self.started_ms[class_id] = self.now_ms
        for each in decision.preemptions:
            victims = [t for t in self.running_cluster.tasks if t.task_class.id == each.victim and t.row == each.node]
            for task in [t for t in victims if not t.is_stopping][: each.count]:
                task.is_stopping = True
        return decision

    def step(self) -> bool:
        """On to the next end of a task; False when nothing runs."""
        if not self.ends:
            return False
        self.now_ms = min(end_ms for end_ms, _ in self.ends)
        for end_ms, task in [each for each in self.ends if each[0] <= self.now_ms]:
            self.ends.remove((end_ms, task))
            self.running_cluster.end(task)
        return True

    def run_until_started(self, until: int) -> int:
        """Until the last task of the class has started; when that was."""
        while until not in self.started_ms:
            self.decide()
            if until not in self.started_ms:
                assert self.step(), "nothing runs and it still waits"
        return self.started_ms[until]
