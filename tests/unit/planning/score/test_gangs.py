"""Gangs in a workspace: all or nothing, also across groups, with nothing left over from a failed try."""

from __future__ import annotations

import random
from collections.abc import Sequence
from itertools import product

import numpy as np
import pytest
from hypothesis import given, note, settings
from hypothesis import strategies as st

from shunter.model.job.spec import Affinity
from shunter.planning.score.gangs import ItemPlacement, place_gang
from shunter.planning.score.scores import SCORES
from shunter.planning.score.workspace import Workspace
from shunter.planning.view import Queued, Rules, TaskClass
from tests.unit.planning.running_cluster import RunningCluster


def member(running_cluster: RunningCluster, count: int, gang: int = 1, distinct: str = "", **needs: int) -> Queued:
    return Queued(running_cluster.make_class("gang", rules=Rules(0, gang=gang, distinct=distinct), **needs), count, 0)


def where(placed: ItemPlacement | None) -> dict[int, dict[int, int]]:
    assert placed is not None
    return {
        queued.task_class.id: dict(zip(picked.rows.tolist(), picked.counts.tolist(), strict=True))
        for queued, picked in placed
    }


def cluster_of(*cpus: int) -> RunningCluster:
    running_cluster = RunningCluster()
    for cpu in cpus:
        running_cluster.add(cpu)
    return running_cluster


def test_a_gang_starts_when_all_of_it_fits() -> None:
    running_cluster = cluster_of(2, 2)
    gang = [member(running_cluster, 2, cpu=1), member(running_cluster, 1, cpu=2)]
    assert where(place_gang(gang, running_cluster.workspace(score=SCORES["bin-pack"]))) == {1: {1: 2}, 2: {2: 1}}


def test_a_gang_that_lacks_one_place_leaves_no_trace() -> None:
    running_cluster = cluster_of(2, 2)
    rules = Rules(0, gang=1, exclusive=True, affinity=(Affinity("job", "other", require=True, anti=True),))
    gang = [Queued(running_cluster.make_class("gang", rules=rules, cpu=1), 3, 0), member(running_cluster, 1, cpu=2)]
    workspace = running_cluster.workspace(score=SCORES["round-robin"])
    workspace.ledger.cursor = 1
    before = trace(workspace)
    assert place_gang(gang, workspace) is None
    assert trace(workspace) == before
    assert workspace.ledger.may_fit(gang[1].task_class)
    assert workspace.rule_set.rules_for(running_cluster.make_class("other")).allowed.all()


def test_a_policy_that_spreads_does_not_keep_a_gang_from_fitting() -> None:
    """The two small tasks would go to one node each, and the large one nowhere."""
    running_cluster = cluster_of(2, 2)
    gang = [member(running_cluster, 2, cpu=1), member(running_cluster, 1, cpu=2)]
    assert where(place_gang(gang, running_cluster.workspace(score=SCORES["spread"]))) == {2: {1: 1}, 1: {2: 2}}


def test_the_rules_of_its_members_hold_for_a_gang() -> None:
    running_cluster = cluster_of(4, 4)
    assert place_gang([member(running_cluster, 3, distinct="host", cpu=1)], running_cluster.workspace()) is None
    assert where(place_gang([member(running_cluster, 2, distinct="host", cpu=1)], running_cluster.workspace())) == {
        2: {1: 1, 2: 1}
    }


def test_members_that_need_every_node_come_before_those_that_can_choose() -> None:
    """The smaller group would take the small node, of which the larger one needs all there is."""
    running_cluster = cluster_of(1, 2, 2, 8)
    gang = [member(running_cluster, 3, distinct="host", cpu=1), member(running_cluster, 4, distinct="host", cpu=1)]
    for score in ("bin-pack", "e-pvm", "spread"):
        found = where(place_gang(gang, running_cluster.workspace(score=SCORES[score])))
        assert found == {1: {2: 1, 3: 1, 4: 1}, 2: {1: 1, 2: 1, 3: 1, 4: 1}}


def test_a_resource_that_no_node_has_keeps_a_gang_waiting() -> None:
    running_cluster = cluster_of(4)
    assert place_gang([member(running_cluster, 1, cpu=1, gpu=1)], running_cluster.workspace()) is None


@pytest.mark.parametrize("name", ["round-robin", "e-pvm", "bin-pack", "spread"])
@given(seed=st.integers(0, 2**32))
@settings(max_examples=60)
def test_a_gang_is_never_placed_in_part_and_always_where_a_greedy_finds_room(name: str, seed: int) -> None:
    rng = random.Random(seed)
    running_cluster = cluster_of(*(rng.randrange(1, 6) for _ in range(rng.randrange(1, 5))))
    gang = [
        member(running_cluster, rng.randrange(1, 4), distinct=rng.choice(["", "", "host"]), cpu=rng.randrange(1, 4))
        for _ in range(rng.randrange(1, 4))
    ]
    note(f"seed {seed}: {[(each.task_class.needs, each.count) for each in gang]}")
    workspace = running_cluster.workspace(score=SCORES[name])
    before = trace(workspace)
    greedy_fits = one_by_one(gang, running_cluster.workspace(score=SCORES[name]))
    placed = place_gang(gang, workspace)
    if placed is None:
        assert trace(workspace) == before
        assert not greedy_fits
    else:
        found = where(placed)
        for each in gang:
            assert sum(found[each.task_class.id].values()) == each.count
            assert not each.task_class.rules.distinct or set(found[each.task_class.id].values()) == {1}  # type: ignore[union-attr]
        assert (workspace.ledger.free >= 0).all()
        assert fits_somehow(
            gang,
            [
                int(each)
                for each in running_cluster.cluster.nodes.capacity[1:, 0][: running_cluster.cluster.nodes.count - 1]
            ],
        )


def one_by_one(gang: Sequence[Queued], workspace: Workspace) -> bool:
    """Whether every task finds a node if they are put there one after another, in order."""
    for each in gang:
        for _ in range(each.count):
            picked = workspace.pick(each, 1)
            if not len(picked.rows):
                return False
            workspace.put(each.task_class, picked)
    return True


def fits_somehow(gang: Sequence[Queued], free: list[int]) -> bool:
    """Every way to give every task a node, until one fits."""
    tasks: list[TaskClass] = [each.task_class for each in gang for _ in range(each.count)]
    for rows in product(range(len(free)), repeat=len(tasks)):
        load = np.zeros(len(free), dtype=np.int64)
        np.add.at(load, list(rows), [each.needs["cpu"] for each in tasks])
        if (load <= free).all():
            return True
    return False


def trace(workspace: Workspace) -> tuple[object, ...]:
    ledger = workspace.ledger
    columns = (ledger.free, ledger.tasks, ledger.owner, ledger.reserved, ledger.kept)
    return (ledger.cursor, *(column.tolist() for column in columns))
