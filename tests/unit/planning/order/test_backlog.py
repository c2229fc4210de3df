"""The planner's memory of pending classes: which it looks at again, and which it skips."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest

from shunter.model.job.spec import Affinity
from shunter.planning.filter.filters import FILTERS, Filter
from shunter.planning.filter.node_ledger import NodeLedger, Rows
from shunter.planning.order.pending_queue import PendingQueue
from shunter.planning.planner import Planner, Stages
from shunter.planning.score.scores import SCORES
from shunter.planning.view import BoolArray, ClusterView, Decision, Queued, Rules, TaskClass
from tests.unit.planning.cluster_builder import GI, Cluster, chosen, task_class

PLENTY = 10**6


class RecordingPlanner:
    """A planner that notes which classes look at how many rows."""

    def __init__(self, work_max: int = 10**9) -> None:
        self.examined: list[tuple[int, int]] = []
        stages = Stages(SCORES["e-pvm"], filters=(Filter("watch", self._record, _none), *FILTERS))
        self.planner = Planner(stages, work_max)
        self.cluster = Cluster()
        self.waiting = PendingQueue()

    def decide(self, budget: int = PLENTY) -> Decision:
        self.examined.clear()
        return self.planner.decide(ClusterView(1, self.cluster.nodes, self.waiting), 0.0, budget)

    def apply(self, decision: Decision) -> None:
        for class_id, rows in chosen(decision).items():
            queued = self.waiting.get(class_id)
            assert queued is not None
            for row, count in rows.items():
                self.cluster.reserve(row, queued.task_class.needs, count)
            self.waiting.put(replace(queued, count=queued.count - sum(rows.values())))

    def _record(self, task_class: TaskClass, ledger: NodeLedger, rows: Rows) -> BoolArray | None:
        self.examined.append((task_class.id, len(ledger.number[: ledger.count][rows])))
        return None


def _none(*_: object) -> Iterator[tuple[str, np.ndarray]]:
    return iter(())


def full_cluster(classes: int = 20, nodes: int = 10) -> RecordingPlanner:
    """Every node has 1000 of cpu left, and everybody wants more, class n 1000 n."""
    recording = RecordingPlanner()
    for _ in range(nodes):
        recording.cluster.reserve(recording.cluster.add({"cpu": 32_000, "memory": 64 * GI}), {"cpu": 31_000})
    for id in range(2, classes + 2):
        recording.waiting.put(Queued(task_class(id, cpu=1000 * id), 1, since=id))
    assert chosen(recording.decide()) == {}
    return recording


def test_who_found_no_room_is_not_looked_at_again_while_nothing_improves() -> None:
    recording = full_cluster()
    assert chosen(recording.decide()) == {}
    recording.cluster.set_busy(3, 0.5)
    recording.cluster.reserve(4, {"cpu": 500})
    recording.cluster.set_eligible(5, False)
    assert chosen(recording.decide()) == {}
    assert recording.examined == []


def test_a_row_that_improves_is_looked_at_by_those_who_may_fit_there_and_no_other_row() -> None:
    recording = full_cluster()
    recording.cluster.reserve(7, {"cpu": 3000}, -1)
    assert chosen(recording.decide()) == {2: {7: 1}}
    assert {rows for _, rows in recording.examined} == {1}
    assert {class_id for class_id, _ in recording.examined} <= {2, 3, 4}  # the others need more than the row has


def test_of_many_who_hope_few_look_in_vain() -> None:
    recording = full_cluster(classes=20)
    for id in range(100, 600):
        recording.waiting.put(Queued(task_class(id, cpu=5000), 1, since=id))
    assert chosen(recording.decide()) == {}
    recording.cluster.reserve(7, {"cpu": 5000}, -1)
    assert sum(sum(rows.values()) for rows in chosen(recording.decide()).values()) == 2  # 2000 and 3000 of 6000
    assert len(recording.examined) < 20


def test_a_newcomer_looks_at_all_rows_and_nobody_else_does() -> None:
    recording = full_cluster(nodes=10)
    recording.waiting.put(Queued(task_class(99, cpu=1000), 1, since=99))
    assert chosen(recording.decide()) == {99: {1: 1}}
    assert recording.examined == [(99, 11)]


def test_more_tasks_of_a_blocked_class_change_nothing() -> None:
    recording = full_cluster()
    recording.waiting.put(Queued(task_class(2, cpu=2000), 50, since=1))
    recording.decide()
    recording.waiting.put(replace(recording.waiting[0], count=70, since=0))
    recording.decide()
    assert recording.examined == []


def test_a_refused_placement_is_tried_again_though_nobody_says_that_anything_changed() -> None:
    recording = RecordingPlanner()
    recording.cluster.add({"cpu": 4000})
    recording.waiting.put(Queued(task_class(1, cpu=1000), 3, since=1))
    for _ in range(3):
        assert chosen(recording.decide()) == {1: {1: 3}}
    recording.apply(recording.decide())
    assert chosen(recording.decide()) == {}


def test_a_node_that_changes_its_kind_gives_hope() -> None:
    recording = full_cluster()
    recording.waiting.put(Queued(task_class(50, cpu=500, constraints=("node.labels.disk == 'ssd'",)), 1, since=0))
    assert chosen(recording.decide()) == {}
    recording.cluster.label(4, "dc1", {"disk": "ssd"})
    assert chosen(recording.decide()) == {50: {4: 1}}
    assert recording.examined == [(50, 1)]


def test_a_constraint_on_a_single_node_can_come_true() -> None:
    recording = full_cluster()
    recording.waiting.put(Queued(task_class(50, cpu=5000, constraints=("node.name == 'n4'",)), 1, since=0))
    assert chosen(recording.decide()) == {}
    recording.cluster.reserve(4, {"cpu": 30_000}, -1)
    assert 50 in chosen(recording.decide())


def test_what_a_node_owes_is_overlooked_by_who_does_not_need_it() -> None:
    recording = full_cluster()
    recording.cluster.reserve(4, {"cpu": 4000, "memory": 0}, -1)
    recording.cluster.nodes.reserved[4, 1] = 100 * GI  # more than it has, as after its capacity shrank
    assert 2 in chosen(recording.decide())


def test_a_class_with_rules_looks_again_after_any_change() -> None:
    recording = full_cluster()
    rules = Rules(job=5, affinity=(Affinity("node", "node.labels.disk == 'ssd'", weight=1.0),))
    recording.waiting.put(Queued(replace(task_class(60, cpu=40_000), rules=rules), 1, since=0))
    recording.decide()
    pending_classes = recording.planner._backlog.pending_classes
    assert len(pending_classes.with_rules) == 1
    assert [pending_class.task_class.id for pending_class in recording.planner._backlog.first_blocked(2)] == [60, 2]
    recording.cluster.reserve(3, {"cpu": 100})
    recording.planner._ledger.sync(recording.cluster.nodes)
    recording.planner._backlog.wake(np.empty(0, np.int64))
    assert recording.planner._backlog.ready()[list(pending_classes.with_rules)].all()


@pytest.mark.parametrize("work_max", [1, 50_000, 10**9])
def test_slices_go_on_where_the_last_one_ended(work_max: int) -> None:
    recording = RecordingPlanner(work_max)
    for _ in range(4):
        recording.cluster.add({"cpu": 10_000})
    for id in range(30):
        recording.waiting.put(Queued(task_class(id, cpu=700 + id), 2, since=id))
    seen: list[int] = []
    is_partial = True
    while is_partial:
        decision = recording.decide()
        seen += [class_id for class_id, _ in recording.examined]
        is_partial = decision.is_partial
        recording.apply(decision)
    assert seen == sorted(set(seen)), "nobody looks twice, and nobody before his turn"


def test_between_slices_a_more_urgent_class_goes_first_and_a_change_of_nodes_is_seen() -> None:
    recording = RecordingPlanner(work_max=1)
    recording.cluster.add({"cpu": 3000})
    for id in range(1, 4):
        recording.waiting.put(Queued(task_class(id, cpu=1000), 1, since=id))
    first = recording.decide()
    assert (chosen(first), first.is_partial) == ({1: {1: 1}}, True)
    recording.apply(first)
    recording.waiting.put(Queued(task_class(9, priority=90, cpu=1000), 1, since=9))
    recording.cluster.set_eligible(1, False)
    recording.cluster.add({"cpu": 1000})
    assert chosen(recording.decide()) == {9: {2: 1}}


def test_the_work_of_one_decision_is_bounded_whatever_waits() -> None:
    recording = RecordingPlanner(work_max=200_000)
    for _ in range(50):
        recording.cluster.add({"cpu": 64_000})
    for id in range(500):
        recording.waiting.put(Queued(task_class(id, cpu=1000 + id), 2, since=id))
    decision = recording.decide()
    assert decision.is_partial
    assert len(recording.examined) <= 20  # a look costs 10,000 at least
    assert len(decision.left) > 400


def test_taking_in_many_classes_is_part_of_the_work_of_a_decision() -> None:
    recording = RecordingPlanner(work_max=200_000)
    for _ in range(50):
        recording.cluster.add({"cpu": 64_000})
    for id in range(500):
        recording.waiting.put(Queued(task_class(id, cpu=1000 + id), 2, since=id))
    recording.apply(recording.decide())
    first = len(recording.examined)
    recording.apply(recording.decide())
    assert 0 < first <= len(recording.examined) // 2, "the second decision has no others to take in"


def test_what_changed_is_told_since_any_tick_and_forgotten_in_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shunter.planning.order.pending_queue.DROPPED_MAX", 3)
    waiting, entries = PendingQueue(), [Queued(task_class(id, cpu=1), 1, since=id) for id in range(8)]
    for each in entries:
        waiting.put(each)
    tick = waiting.tick
    waiting.put(entries[3])  # as it was
    waiting.put(replace(entries[4], count=2))
    waiting.put(replace(entries[5], count=0))
    waiting.drop(99)
    assert waiting.changed_since(tick) == [5, 4]
    assert (waiting.get(5), len(waiting), waiting[3].task_class.id) == (None, 7, 3)
    for id in (0, 1, 2):
        waiting.drop(id)
    assert waiting.changed_since(tick) is None
    assert waiting.changed_since(waiting.tick) == []
