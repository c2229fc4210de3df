"""Reservations: when and where a blocked item will fit, who may go ahead of it, and that large tasks do not starve."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given, note, settings
from hypothesis import strategies as st

from shunter.planning.planner import Stages
from shunter.planning.reserve.backfill import PlannedStart, Reservation, hold, reserve
from shunter.planning.reserve.occupancy import read_occupancy
from shunter.planning.reserve.wait_thresholds import WaitThresholds
from shunter.planning.score.gangs import Item, place_gang
from shunter.planning.score.scores import SCORES
from shunter.planning.view import NEVER, Queued, Rules, TaskClass
from tests.unit.planning.cluster_builder import chosen
from tests.unit.planning.planner_harness import STAGES, PlannerHarness, cluster_of
from tests.unit.planning.running_cluster import RunningCluster, Task

NO_VICTIMS = 1000  # a gap that no priority exceeds


def item_of(task_class: TaskClass, count: int = 1, gang: int = 0) -> Item:
    return Item((Queued(task_class, count, 0),), gang)


def reserved(
    running_cluster: RunningCluster, item: Item, now_ms: int = 0, last: PlannedStart | None = None
) -> Reservation | None:
    workspace = running_cluster.workspace(score=SCORES["bin-pack"])
    occupancy = read_occupancy(running_cluster.view(), workspace.ledger)
    assert occupancy is not None
    return reserve(item, workspace, occupancy, now_ms, last)


def where(planned_start: PlannedStart) -> dict[int, int]:
    (_, picked), *rest = planned_start.placed
    assert not rest
    return dict(zip(picked.rows.tolist(), picked.counts.tolist(), strict=True))


# ---- when and where ----


def test_the_reservation_is_where_room_comes_free_first() -> None:
    running_cluster = cluster_of(4, 4)
    small = running_cluster.make_class("small", cpu=2)
    for row, end_ms in ((1, 9_000), (1, 5_000), (2, 7_000), (2, 6_000)):
        running_cluster.run(small, row, end_ms=end_ms)
    found = reserved(running_cluster, item_of(running_cluster.make_class("large", cpu=4)))
    assert found is not None
    assert (found.planned_start.at_ms, where(found.planned_start)) == (7_000, {2: 1})


def test_a_gang_is_reserved_for_the_time_when_all_of_it_fits() -> None:
    running_cluster = cluster_of(4, 4)
    small = running_cluster.make_class("small", cpu=4)
    for row, end_ms in ((1, 9_000), (2, 7_000)):
        running_cluster.run(small, row, end_ms=end_ms)
    gang = running_cluster.make_class("gang", cpu=2, rules=Rules(0, gang=1))
    found = reserved(running_cluster, item_of(gang, 3, gang=1))
    assert found is not None
    assert found.planned_start.at_ms == 9_000


def test_tasks_that_do_not_say_when_they_end_count_as_never() -> None:
    running_cluster = cluster_of(4)
    running_cluster.run(running_cluster.make_class("small", cpu=1), 1)
    assert reserved(running_cluster, item_of(running_cluster.make_class("large", cpu=4))) is None


def test_a_task_that_was_told_to_end_does_so_soon_and_a_late_one_is_as_late_again() -> None:
    running_cluster = cluster_of(4, 8)
    running_cluster.run(running_cluster.make_class("late", cpu=8), 2, end_ms=7_000)
    large = item_of(running_cluster.make_class("large", cpu=4))
    found = reserved(running_cluster, large, now_ms=10_000)
    assert found is not None
    assert found.planned_start.at_ms == 13_000
    running_cluster = cluster_of(4)
    running_cluster.run(running_cluster.make_class("stopping", cpu=4), 1, stopping=True)
    found = reserved(running_cluster, large, now_ms=10_000)
    assert found is not None
    assert found.planned_start.at_ms == 15_000


def test_what_was_promised_stands_where_nothing_earlier_is_found() -> None:
    """Two small tasks and a large one fit in just one way, which was found before."""
    running_cluster = cluster_of(4)
    running_cluster.run(running_cluster.make_class("small", cpu=4), 1, end_ms=5_000)
    item = item_of(running_cluster.make_class("large", cpu=4))
    first = reserved(running_cluster, item)
    assert first is not None
    running_cluster.add(4)
    running_cluster.run(running_cluster.make_class("small", cpu=4), 2, end_ms=9_000)
    assert reserved(running_cluster, item, 1_000, first.planned_start) is not None
    later = replace(first.planned_start, at_ms=3_000)  # promised before anything is expected to end: it cannot stand
    found = reserved(running_cluster, item, 1_000, later)
    assert found is not None
    assert found.planned_start.at_ms == 5_000


def test_room_is_held_on_the_node_that_lacks_least() -> None:
    running_cluster = cluster_of(4, 4, 2)
    small = running_cluster.make_class("small", cpu=1)
    for row in (1, 1, 1, 2, 2):
        running_cluster.run(small, row)
    workspace = running_cluster.workspace()
    occupancy = read_occupancy(running_cluster.view(), workspace.ledger)
    assert occupancy is not None
    found = hold(item_of(running_cluster.make_class("large", cpu=4)), workspace, occupancy)
    assert found is not None
    assert (found.planned_start.at_ms, where(found.planned_start)) == (0, {2: 1})
    assert hold(item_of(running_cluster.make_class("larger", cpu=5)), workspace, occupancy) is None


# ---- in the planner ----


def blocked_gang() -> tuple[PlannerHarness, TaskClass]:
    """Two nodes of 4, one of them busy for 10 s, and a gang that needs both."""
    harness = PlannerHarness(cluster_of(4, 4))
    harness.run(harness.running_cluster.make_class("early", cpu=4), 1, end_s=10)
    gang = harness.running_cluster.make_class("gang", cpu=4, rules=Rules(0, gang=7))
    harness.queue(gang, 2, estimate_s=5)
    return harness, gang


def test_only_what_ends_in_time_goes_ahead_of_a_blocked_gang() -> None:
    harness, gang = blocked_gang()
    short, long, unknown = (harness.running_cluster.make_class(name, cpu=1) for name in ("short", "long", "unknown"))
    harness.queue(short, 2, estimate_s=10)
    harness.queue(long, 1, estimate_s=11)
    harness.queue(unknown, 1, real_s=99)
    decision = harness.decide()
    assert chosen(decision) == {short.id: {2: 2}}
    assert decision.reasons == {
        gang.id: "room on n1, n2 is reserved for it from about 00:00 UTC",
        long.id: "room is reserved for gang gang until about 00:00 UTC",
        unknown.id: "room is reserved for gang gang until about 00:00 UTC",
    }
    assert harness.run_until_started(gang.id) == 10_000


def test_what_the_gang_does_not_need_is_free_for_all() -> None:
    harness = PlannerHarness(cluster_of(4, 6))
    harness.run(harness.running_cluster.make_class("early", cpu=4), 1, end_s=10)
    gang = harness.running_cluster.make_class("gang", cpu=4, rules=Rules(0, gang=7))
    harness.queue(gang, 2, estimate_s=5)
    unknown = harness.running_cluster.make_class("unknown", cpu=1)
    harness.queue(unknown, 9, real_s=99)
    assert chosen(harness.decide()) == {unknown.id: {2: 2}}
    assert harness.run_until_started(gang.id) == 10_000


def test_short_tasks_do_not_use_up_what_long_ones_may_have() -> None:
    """Beside the gang's 4 there are 2 left; short tasks fill the gang's part first as far as they are ahead."""
    harness = PlannerHarness(cluster_of(4, 6))
    harness.run(harness.running_cluster.make_class("early", cpu=4), 1, end_s=10)
    gang = harness.running_cluster.make_class("gang", cpu=4, rules=Rules(0, gang=7))
    harness.queue(gang, 2, estimate_s=5)
    short, long = harness.running_cluster.make_class("short", cpu=1), harness.running_cluster.make_class("long", cpu=1)
    harness.queue(short, 4, estimate_s=9)
    harness.queue(long, 9, real_s=99)
    assert chosen(harness.decide()) == {short.id: {2: 4}, long.id: {2: 2}}
    assert harness.run_until_started(gang.id) == 10_000


def test_a_second_gang_goes_ahead_only_beside_the_first() -> None:
    harness, gang = blocked_gang()
    other = harness.running_cluster.make_class("other", cpu=2, rules=Rules(0, gang=8))
    harness.queue(other, 2, estimate_s=20)
    assert chosen(harness.decide()) == {}
    quick = harness.running_cluster.make_class("quick", cpu=2, rules=Rules(0, gang=9))
    harness.queue(quick, 2, estimate_s=8)
    assert chosen(harness.decide()) == {quick.id: {2: 2}}
    assert harness.run_until_started(gang.id) == 10_000


def test_whoever_was_held_back_goes_on_when_the_gang_is_gone() -> None:
    harness, _ = blocked_gang()
    long = harness.running_cluster.make_class("long", cpu=4)
    harness.queue(long, 1, estimate_s=99)
    assert chosen(harness.decide()) == {}
    harness.queued.pop(0)  # the gang was cancelled, and no node changed
    assert chosen(harness.decide()) == {long.id: {2: 1}}


def test_a_single_task_gets_a_reservation_when_it_has_waited_long_enough() -> None:
    harness = PlannerHarness(cluster_of(4), replace(STAGES, wait_thresholds=WaitThresholds(reserve_after_s=60)))
    harness.run(harness.running_cluster.make_class("early", cpu=2), 1, end_s=100)
    large = harness.running_cluster.make_class("large", cpu=4)
    harness.queue(large, 1, estimate_s=5)
    small = harness.running_cluster.make_class("small", cpu=1)
    harness.queue(small, 1, estimate_s=500)
    harness.now_ms = 59_000
    assert chosen(harness.decide()) == {small.id: {1: 1}}
    harness.queue(small_again := harness.running_cluster.make_class("small", cpu=1), 1, estimate_s=500)
    harness.now_ms = 60_000
    decision = harness.decide()
    assert chosen(decision) == {}
    assert decision.reasons[small_again.id] == "room is reserved for large until about 00:09 UTC"


def test_a_large_task_does_not_starve_when_nobody_says_how_long_it_runs() -> None:
    """Small tasks of unknown length come without end; each leaves a hole that is too small for the large one."""
    harness = PlannerHarness(
        cluster_of(4, 4), replace(STAGES, wait_thresholds=WaitThresholds(reserve_after_s=5, hold_after_s=20))
    )
    large = harness.running_cluster.make_class("large", cpu=4)
    for number in range(8):
        harness.run(
            harness.running_cluster.make_class("first", cpu=1), 1 + number % 2, end_s=1 + number, is_known=False
        )
    harness.queue(large)
    seen = []
    for _ in range(100):
        harness.queue(harness.running_cluster.make_class("small", cpu=1), 1, real_s=8)
        decision = harness.decide()
        seen.append(decision.reasons.get(large.id))
        if large.id in harness.started_ms:
            break
        harness.step()
    assert 20_000 <= harness.started_ms[large.id] <= 40_000
    assert "room on n1 is reserved for it as it becomes free" in seen


@pytest.mark.parametrize("rules", [None, Rules(0, exclusive=True)])
def test_no_room_is_held_where_something_lasts_that_is_in_the_way(rules: Rules | None) -> None:
    """The node with the service lacks less, but always will."""
    harness = PlannerHarness(
        cluster_of(8, 8), replace(STAGES, wait_thresholds=WaitThresholds(reserve_after_s=5, hold_after_s=20))
    )
    harness.running_cluster.run(harness.running_cluster.make_class("service", cpu=4), 1, end_ms=NEVER)
    for number in range(8):
        harness.run(harness.running_cluster.make_class("first", cpu=1), 2, end_s=1 + number, is_known=False)
    harness.queue(large := harness.running_cluster.make_class("large", rules=rules, cpu=1 if rules else 6))
    for _ in range(100):
        harness.queue(harness.running_cluster.make_class("small", cpu=1), 1, real_s=8)
        harness.decide()
        if large.id in harness.started_ms:
            break
        harness.step()
    assert harness.started_ms[large.id] <= 40_000


# ---- properties ----


@pytest.mark.parametrize("name", ["bin-pack", "spread", "e-pvm"])
@given(seed=st.integers(0, 2**32))
@settings(max_examples=60)
def test_a_reserved_gang_never_starts_later_than_if_nobody_went_ahead(name: str, seed: int) -> None:
    stages = Stages(SCORES[name], wait_thresholds=WaitThresholds(preempt_gap=NO_VICTIMS))
    started = []
    for is_alone in (True, False):
        rng = random.Random(seed)
        harness, gang = random_harness(rng, stages)
        if not is_alone:
            for _ in range(rng.randrange(1, 6)):
                queue_random(rng, harness)
        started.append(harness.run_until_started(gang))
    note(f"seed {seed}: alone after {started[0]} ms, with others after {started[1]} ms")
    assert started[1] <= started[0]


@given(seed=st.integers(0, 2**32))
@settings(max_examples=100)
def test_nothing_is_left_behind_that_would_not_delay_the_gang(seed: int) -> None:
    rng = random.Random(seed)
    harness, gang = random_harness(
        rng, Stages(SCORES["spread"], wait_thresholds=WaitThresholds(preempt_gap=NO_VICTIMS))
    )
    for _ in range(rng.randrange(1, 6)):
        queue_random(rng, harness)
    note(f"seed {seed}")
    harness.decide()
    planned_start = harness.planner._planner_memory.reservation_cache.planned_starts.get(-7)
    if gang in harness.started_ms or planned_start is None:
        return
    needed: dict[int, int] = {}
    for queued, picked in planned_start.placed:
        for row, count in zip(picked.rows.tolist(), picked.counts.tolist(), strict=True):
            needed[row] = needed.get(row, 0) + count * queued.task_class.needs["cpu"]
    for queued in [each for each in harness.queued if each.count and not each.task_class.rules]:
        need, ends_ms = queued.task_class.needs["cpu"], harness.now_ms + queued.estimate_s * 1000
        for row in range(1, harness.running_cluster.cluster.nodes.count):
            in_time = queued.estimate_s > 0 and ends_ms <= planned_start.at_ms
            then = free(harness.running_cluster, row, planned_start.at_ms) - needed.get(row, 0)
            assert free(harness.running_cluster, row) < need or (not in_time and then < need), (
                f"{queued} fits on row {row}"
            )


def random_harness(rng: random.Random, stages: Stages) -> tuple[PlannerHarness, int]:
    harness = PlannerHarness(cluster_of(*(rng.randrange(2, 7) for _ in range(rng.randrange(1, 4)))), stages)
    for row in range(1, harness.running_cluster.cluster.nodes.count):
        for _ in range(rng.randrange(4)):
            each = harness.running_cluster.make_class("running", cpu=rng.randrange(1, 3))
            if free(harness.running_cluster, row) >= each.needs["cpu"]:
                harness.run(each, row, end_s=rng.randrange(1, 9))
    largest = int(harness.running_cluster.cluster.nodes.capacity[:, 0].max())
    gang = harness.running_cluster.make_class("gang", cpu=rng.randrange(1, largest + 1), rules=Rules(0, gang=7))
    count = sum(int(cpu) // gang.needs["cpu"] for cpu in harness.running_cluster.cluster.nodes.capacity[:, 0])
    members = [harness.queue(gang, rng.randrange(1, count + 1), estimate_s=3)]
    small = Queued(harness.running_cluster.make_class("gang", cpu=1, rules=Rules(0, gang=7)), 1, 0, estimate_s=3)
    empty = cluster_of(
        *harness.running_cluster.cluster.nodes.capacity[1 : harness.running_cluster.cluster.nodes.count, 0].tolist()
    )
    if rng.random() < 0.5 and place_gang([*members, small], empty.workspace(score=stages.score)):
        harness.queue(small.task_class, 1, estimate_s=3)
    return harness, gang.id


def queue_random(rng: random.Random, harness: PlannerHarness) -> None:
    estimate_s = rng.choice([0, 1, 2, 5, 20])
    each = harness.running_cluster.make_class("other", cpu=rng.randrange(1, 4))
    harness.queue(each, rng.randrange(1, 4), estimate_s, real_s=estimate_s or rng.randrange(1, 30))


def free(running_cluster: RunningCluster, row: int, at_ms: int = 0) -> int:
    """Of cpu, when everything has ended that is known to end by then."""
    held: Sequence[Task] = [task for task in running_cluster.tasks if task.row == row and not 0 < task.end_ms <= at_ms]
    return int(running_cluster.cluster.nodes.capacity[row, 0]) - sum(task.task_class.needs["cpu"] for task in held)
