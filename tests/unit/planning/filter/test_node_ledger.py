"""The planner's copy of the columns: what it reads again, which caches it renews, what it derives."""

from __future__ import annotations

import numpy as np

from shunter.planning.filter.node_ledger import NodeLedger
from shunter.planning.planner import build_policy
from shunter.planning.view import FloatArray, IntArray, Queued
from tests.unit.planning.cluster_builder import GI, Cluster, chosen, task_class

A_TASK = task_class(cpu=1000, memory=GI)


def synced(cluster: Cluster) -> NodeLedger:
    ledger = NodeLedger()
    ledger.sync(cluster.nodes)
    return ledger


def four_nodes() -> Cluster:
    cluster = Cluster()
    for _ in range(4):
        cluster.add({"cpu": 4000, "memory": 8 * GI})
    return cluster


def rows(*numbers: int) -> IntArray:
    return np.array(numbers, dtype=np.int64)


def test_placements_are_taken_off_at_once() -> None:
    ledger = synced(four_nodes())
    ledger.place(A_TASK, rows(2, 3), rows(1, 3))
    assert ledger.room(A_TASK, rows(1, 2, 3), most=10).tolist() == [4, 3, 1]
    assert ledger.reserved_with("cpu", rows(2, 3), 0).tolist() == [0.25, 0.75]
    assert ledger.reserved_with("cpu", rows(2, 3), 1000).tolist() == [0.5, 1.0]
    assert ledger.tasks[[1, 2, 3]].tolist() == [0, 1, 3]


def test_a_row_that_came_back_as_it_was_reckoned_needs_no_renewal() -> None:
    cluster = four_nodes()
    ledger = synced(cluster)
    ledger.place(A_TASK, rows(1, 2), rows(1, 1))
    seen = ledger.clock
    cluster.reserve(1, A_TASK.needs)  # row 1 was applied, row 2 refused
    ledger.sync(cluster.nodes)
    assert ledger.changed_since(seen).tolist() == [2]  # type: ignore[union-attr]
    assert ledger.room(A_TASK, rows(1, 2), most=10).tolist() == [3, 4]


def test_the_clock_stands_still_while_nothing_changes() -> None:
    cluster = four_nodes()
    ledger = synced(cluster)
    clock = ledger.clock
    ledger.sync(cluster.nodes)
    assert ledger.clock == clock


def test_what_grew_keeps_what_was_known() -> None:
    cluster = four_nodes()
    ledger = synced(cluster)
    seen = ledger.clock
    for _ in range(9):
        cluster.add({"cpu": 2000, "memory": GI})
    ledger.sync(cluster.nodes)
    assert ledger.room(A_TASK, np.arange(1, 14), most=10).tolist() == [4] * 4 + [1] * 9
    assert ledger.changed_since(seen) == slice(0, 14)  # most of them are new


def test_the_bound_on_what_may_fit_ignores_nodes_out_of_service_and_follows_placements() -> None:
    cluster = four_nodes()
    cluster.set_eligible(cluster.add({"cpu": 64_000, "memory": 64 * GI}), False)
    ledger = synced(cluster)
    assert ledger.may_fit(task_class(cpu=4000))
    assert not ledger.may_fit(task_class(cpu=4001))
    assert not ledger.may_fit(task_class(gpu=1))
    ledger.place(A_TASK, rows(1, 2, 3, 4), rows(1, 1, 1, 1))
    ledger.tighten()
    assert not ledger.may_fit(task_class(cpu=3001))


def test_a_function_of_sizes_is_worked_out_once_a_size() -> None:
    cluster = four_nodes()
    cluster.add({"cpu": 16_000})
    asked: list[float] = []

    def doubled(sizes: FloatArray) -> FloatArray:
        asked.extend(sizes.tolist())
        return sizes * 2

    found = synced(cluster).by_size("cpu", rows(1, 4, 5), doubled)
    assert found.tolist() == [8000.0, 8000.0, 32_000.0]
    assert len(asked) == len(set(asked))


def test_other_nodes_in_the_same_rows_do_not_inherit_prices() -> None:
    """A row that equals an empty one must be renewed too when a manager reloads its state."""
    policy, queued = build_policy("spread"), [Queued(task_class(), 1, 0)]
    before, after = four_nodes(), Cluster()
    for _ in range(3):
        assert chosen(policy.decide(before.view(queued), 0.0, 9)) == {1: {1: 1}}
    after.nodes.count = 2
    assert chosen(policy.decide(after.view(queued), 0.0, 9)) == {}


def test_an_owned_row_is_read_again_with_the_next_view() -> None:
    cluster = four_nodes()
    ledger = synced(cluster)
    seen = ledger.clock
    ledger.own(rows(1, 2), job=7)
    cluster.nodes.owner[1] = 7  # row 1 was applied, row 2 refused
    cluster.touch(1)
    assert ledger.changed_since(seen).tolist() == [1, 2]  # type: ignore[union-attr]
    ledger.sync(cluster.nodes)
    assert ledger.owner[:4].tolist() == [0, 7, 0, 0]


def test_what_is_tried_on_a_scratch_leaves_no_trace() -> None:
    ledger = synced(four_nodes())
    clock = ledger.clock
    scratch = ledger.scratch()
    scratch.place(A_TASK, rows(1), rows(4))
    scratch.own(rows(2), job=7)
    assert (ledger.clock, ledger.owner[2]) == (clock, 0)
    assert ledger.room(A_TASK, rows(1), most=10).tolist() == [4]
    assert scratch.room(A_TASK, rows(1), most=10).tolist() == [0]
