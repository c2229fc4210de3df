"""What policies are told of what runs, and the built-in planner acting on it."""

from __future__ import annotations

from msgspec import structs

from shunter.engine.cluster_view import build_view
from tests.unit.engine.stage import Stage, play, spec


def test_what_runs_is_told_by_class_node_and_expected_end() -> None:
    async def scene(stage: Stage) -> None:
        node = await stage.join("n1", cpu=4)
        await stage.submit(spec("known", 2, priority=20, estimate_s=60.0))
        [(_, order)] = stage.orders()
        await stage.started(node, order)
        await stage.submit(spec("unknown", priority=70))
        view = build_view(stage.engine.state)
        assert view.running is not None and view.lowest_priority is not None
        running = view.running()
        started = int(running.started_ms[0])
        assert running.node.tolist() == [node, node]
        assert running.priority.tolist() == [20, 70]
        assert running.end_ms.tolist() == [started + 60_000, 0]
        assert running.count.tolist() == [2, 1]
        assert not running.is_stopping.any()
        assert view.lowest_priority() == 20

    play(scene)


def test_tasks_without_a_lane_hold_nothing() -> None:
    async def scene(stage: Stage) -> None:
        node = await stage.join("n1", cpu=4)
        await stage.submit(spec("many", 4))
        [lanes] = stage.engine.state.nodes.records[node].lanes.values()
        assert lanes.width == 4
        lanes.width = 3  # as if one more than there are lanes had been handed out
        view = build_view(stage.engine.state)
        assert view.running is not None
        assert int(view.running().count.sum()) == 3
        lanes.width = 4

    play(scene)


def test_an_empty_cluster_tells_of_nothing() -> None:
    async def scene(stage: Stage) -> None:
        view = build_view(stage.engine.state)
        assert view.running is not None and view.lowest_priority is not None
        assert len(view.running().count) == 0
        assert view.lowest_priority() > 100

    play(scene)


def test_the_built_in_planner_preempts_for_an_important_job_and_keeps_the_room_for_it() -> None:
    async def scene(stage: Stage) -> None:
        node = await stage.join("n1", cpu=2)
        [low] = await stage.submit(spec("low", 2, priority=10))
        [(_, order)] = stage.orders()
        await stage.started(node, order)
        [high] = await stage.submit(spec("high", priority=90))
        assert stage.counts(low.job_id) == {"running": 1, "stopping": 1}
        [stop] = stage.stops()
        [peer] = await stage.submit(spec("peer", priority=19))
        assert stage.counts(low.job_id) == {"running": 1, "stopping": 1}, "nobody more ends while one is ending"
        ended = structs.replace(order, first=stop.first, last=stop.last)
        await stage.end(node, ended, exit_code=143, how="stopped")
        assert stage.counts(high.job_id) == {"assigned": 1}
        assert stage.counts(peer.job_id) == {"queued": 1}

    play(scene)


def test_the_winner_starts_though_the_job_of_its_victim_has_waited_longer() -> None:
    async def scene(stage: Stage) -> None:
        node = await stage.join("n1", cpu=1)
        [low] = await stage.submit(spec("low", 5, priority=10))
        [(_, order)] = stage.orders()
        await stage.started(node, order)
        await stage.settle(seconds=3600)
        [high] = await stage.submit(spec("high", priority=90))
        assert stage.counts(low.job_id) == {"queued": 4, "stopping": 1}
        await stage.end(node, order, exit_code=143, how="stopped")
        assert stage.counts(high.job_id) == {"assigned": 1}
        assert stage.counts(low.job_id) == {"queued": 5}

    play(scene)
