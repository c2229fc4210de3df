"""The view of running tasks that policies get, and how the built-in planner uses it."""

from __future__ import annotations

from msgspec import structs

from shunter.engine.placement.cluster_view import build_view
from shunter.model.job.spec import JobOptions
from tests.unit.engine.harness import Harness, run_scenario, spec


def test_what_runs_is_told_by_class_node_and_expected_end() -> None:
    async def scenario(harness: Harness) -> None:
        node = await harness.join("n1", cpu=4)
        await harness.submit(spec("known", 2, priority=20, estimate_s=60.0))
        [(_, order)] = harness.orders()
        await harness.started(node, order)
        await harness.submit(spec("unknown", priority=70))
        view = build_view(harness.engine.state)
        assert view.running is not None and view.lowest_priority is not None
        running = view.running()
        started = int(running.started_ms[0])
        assert running.node.tolist() == [node, node]
        assert running.priority.tolist() == [20, 70]
        assert running.end_ms.tolist() == [started + 60_000, 0]
        assert running.count.tolist() == [2, 1]
        assert not running.is_stopping.any()
        assert view.lowest_priority() == 20

    run_scenario(scenario)


def test_tasks_that_are_the_only_ones_of_their_classes_are_told_like_others() -> None:
    async def scenario(harness: Harness) -> None:
        node = await harness.join("n1", cpu=8)
        for number in (3, 1, 2):
            await harness.submit(spec(f"job-{number}", priority=10 * number, estimate_s=float(number)))
        for sent_to, order in harness.orders()[:2]:
            await harness.started(sent_to, order)
        [lanes, *_] = harness.engine.state.nodes.records[node].lanes.values()
        assert lanes.width == 1
        alone = build_view(harness.engine.state).running
        assert alone is not None
        one_by_one = alone()
        assert one_by_one.class_ids.tolist() == sorted(set(one_by_one.class_ids.tolist()))
        assert (one_by_one.count.tolist(), one_by_one.priority.tolist()) == ([1, 1, 1], [30, 10, 20])
        started = one_by_one.started_ms.tolist()
        assert one_by_one.end_ms.tolist() == [started[0] + 3_000, started[1] + 1_000, -2_000]

        await harness.submit(spec("many", 2, priority=40))  # now one class has two tasks, and all are grouped
        grouped = alone()
        assert grouped.count.tolist() == [1, 1, 1, 2]
        for name in ("class_ids", "node", "count", "priority", "started_ms", "end_ms", "is_stopping"):
            assert getattr(grouped, name)[:3].tolist() == getattr(one_by_one, name).tolist()

    run_scenario(scenario)


def test_tasks_without_a_lane_hold_nothing() -> None:
    async def scenario(harness: Harness) -> None:
        node = await harness.join("n1", cpu=4)
        await harness.submit(spec("many", 4))
        [lanes] = harness.engine.state.nodes.records[node].lanes.values()
        assert lanes.width == 4
        lanes.width = lanes.task_class.width = 3  # as if one more than there are lanes had been handed out
        view = build_view(harness.engine.state)
        assert view.running is not None
        assert int(view.running().count.sum()) == 3
        lanes.width = lanes.task_class.width = 4

    run_scenario(scenario)


def test_an_empty_cluster_tells_of_nothing() -> None:
    async def scenario(harness: Harness) -> None:
        view = build_view(harness.engine.state)
        assert view.running is not None and view.lowest_priority is not None
        assert len(view.running().count) == 0
        assert view.lowest_priority() > 100

    run_scenario(scenario)


def test_the_built_in_planner_preempts_for_an_important_job_and_keeps_the_room_for_it() -> None:
    async def scenario(harness: Harness) -> None:
        node = await harness.join("n1", cpu=2)
        [low] = await harness.submit(spec("low", 2, priority=10))
        [(_, order)] = harness.orders()
        await harness.started(node, order)
        [high] = await harness.submit(spec("high", priority=90))
        assert harness.counts(low.job_id) == {"running": 1, "stopping": 1}
        [stop] = harness.stops()
        [peer] = await harness.submit(spec("peer", priority=19))
        assert harness.counts(low.job_id) == {"running": 1, "stopping": 1}, "nobody more ends while one is ending"
        ended = structs.replace(order, first=stop.first, last=stop.last)
        await harness.end(node, ended, exit_code=143, how="stopped")
        assert harness.counts(high.job_id) == {"assigned": 1}
        assert harness.counts(peer.job_id) == {"queued": 1}

    run_scenario(scenario)


def test_the_winner_starts_though_the_job_of_its_victim_has_waited_longer() -> None:
    async def scenario(harness: Harness) -> None:
        node = await harness.join("n1", cpu=1)
        [low] = await harness.submit(spec("low", 5, priority=10))
        [(_, order)] = harness.orders()
        await harness.started(node, order)
        await harness.settle(seconds=3600)
        [high] = await harness.submit(spec("high", priority=90))
        assert harness.counts(low.job_id) == {"queued": 4, "stopping": 1}
        await harness.end(node, order, exit_code=143, how="stopped")
        assert harness.counts(high.job_id) == {"assigned": 1}
        assert harness.counts(low.job_id) == {"queued": 5}

    run_scenario(scenario)


def test_a_task_that_comes_back_is_as_old_as_its_job_and_goes_before_who_came_later() -> None:
    async def scenario(harness: Harness) -> None:
        node = await harness.join("n1", cpu=1)
        [old] = await harness.submit(spec("old", priority=50))
        [(_, order)] = harness.orders()
        await harness.started(node, order)
        submitted_ms = harness.engine.state.jobs[old.job_id].submitted_ms
        await harness.settle(600.0)
        [new] = await harness.submit(spec("new", priority=55, needs={"cpu": 1000, "memory": 1}))
        await harness.submit(spec("boss", priority=90, needs={"cpu": 1000, "memory": 2}))
        await harness.end(node, order, 143)
        [(_, boss)] = harness.orders()
        [back] = [each for each in build_view(harness.engine.state).queued if each.task_class.priority == 50]
        assert back.since_ms == submitted_ms, "not since it was preempted"
        await harness.end(node, boss)
        assert harness.counts(old.job_id) == {"assigned": 1}, "twenty points of age against five of priority"
        assert harness.counts(new.job_id) == {"queued": 1}

    run_scenario(scenario)


def test_a_job_does_not_grow_old_before_it_is_to_start() -> None:
    async def scenario(harness: Harness) -> None:
        await harness.submit(spec("later", options=JobOptions(start_in_s=3_600.0)))
        await harness.settle(3_601.0)
        [queued] = build_view(harness.engine.state).queued
        job = next(iter(harness.engine.state.jobs.values()))
        assert queued.since_ms == job.submitted_ms + 3_600_000

    run_scenario(scenario)
