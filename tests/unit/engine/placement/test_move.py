"""An instance that is asked to move runs on the named node; a service is never below its minimum."""

from __future__ import annotations

import pytest

from shunter.engine.jobs.queue_admin import QueuePatch
from shunter.model.errors import Conflict
from shunter.model.job.spec import Affinity, JobOptions, Update
from shunter.model.lifecycles import NodeEvent
from tests.unit.engine.fake_workers import Players, healthy
from tests.unit.engine.harness import Stage, play, spec
from tests.unit.engine.service_specs import ALWAYS, service


def test_a_service_starts_on_the_new_node_before_it_leaves_the_old_one() -> None:
    """R-27: the old one is gone when the new one is well."""

    async def scene(stage: Stage) -> None:
        first = await stage.join("n1", cpu=4)
        players = Players(stage)
        [job] = await stage.submit(service(2))
        await players.act(3)
        second = await stage.join("n2", cpu=4)
        await stage.engine.move(job.job_id, ("main", 1), "n2", "ada")
        for _ in range(20):
            await players.act(0.25)
            assert healthy(stage, job.job_id) >= 2
        assert (players.on(first), players.on(second)) == ([0], [1])
        with pytest.raises(Conflict, match="is on node n2 already"):
            await stage.engine.move(job.job_id, ("main", 1), "n2", "ada")

    play(scene)


def test_after_a_move_later_placements_are_free() -> None:
    async def scene(stage: Stage) -> None:
        first = await stage.join("n1", cpu=4)
        players = Players(stage)
        [job] = await stage.submit(service(1))
        await players.act(3)
        second = await stage.join("n2", cpu=4)
        await stage.engine.move(job.job_id, ("main", 0), "n2", "ada")
        await players.pass_time(5)
        assert players.on(second) == [0]
        players.playing.clear()
        await stage.engine.node_event(second, NodeEvent.TIMED_OUT, "gone")
        await players.act(3)
        assert players.on(first) == [0]
        assert stage.counts(job.job_id) == {"running": 1}

    play(scene)


def test_a_move_that_finds_no_room_in_time_is_given_up_and_the_old_one_stays() -> None:
    async def scene(stage: Stage) -> None:
        first = await stage.join("n1", cpu=1)
        players = Players(stage)
        [job] = await stage.submit(service(1, update=Update(healthy_for_s=1.0, deadline_s=10.0)))
        await players.act(3)
        second = await stage.join("n2", cpu=1)
        await stage.submit(spec("other"))
        await players.act()
        assert players.on(second) == [0]
        await stage.engine.move(job.job_id, ("main", 0), "n2", "ada")
        await players.pass_time(9)
        assert players.on(first) == [0]
        await players.pass_time(3)
        assert stage.counts(job.job_id) == {"running": 1}
        assert players.on(first) == [0]

    play(scene)


def test_a_batch_task_is_stopped_and_runs_on_the_named_node_next() -> None:
    async def scene(stage: Stage) -> None:
        first = await stage.join("n1", cpu=4)
        players = Players(stage)
        [job] = await stage.submit(spec("batch", 3))
        await players.act(1)
        second = await stage.join("n2", cpu=4)
        await stage.engine.move(job.job_id, ("main", 1), "n2", "ada")
        await players.act(1)
        assert (players.on(first), players.on(second)) == ([0, 2], [1])
        [moved] = [event for event in await stage.events() if event.type == "tasks.moving"]
        assert (moved.name, moved.node, moved.reason) == ("batch/1", "n2", "moved to node n2 by ada")
        for index in range(3):
            await players.end(players.find(index), 0)
        finished = await stage.store.finished_job(job.job_id)
        assert finished is not None and finished.state == "succeeded"

    play(scene)


def test_a_queued_batch_task_waits_for_its_node_and_no_other() -> None:
    async def scene(stage: Stage) -> None:
        first = await stage.join("n1", cpu=1)
        second = await stage.join("n2", cpu=1)
        players = Players(stage)
        [job] = await stage.submit(spec("batch", 3))
        await players.act()
        await stage.engine.move(job.job_id, ("main", 2), "n2", "ada")
        await players.end(players.find(players.on(first)[0]), 0)
        await players.act()
        assert players.on(first) == []
        await players.end(players.find(players.on(second)[0]), 0)
        await players.act()
        assert players.on(second) == [2]

    play(scene)


def test_when_the_named_node_takes_no_more_work_the_task_goes_anywhere() -> None:
    async def scene(stage: Stage) -> None:
        first = await stage.join("n1", cpu=1)
        second = await stage.join("n2", cpu=1)
        players = Players(stage)
        [job] = await stage.submit(spec("batch", 3))
        await players.act()
        await stage.engine.move(job.job_id, ("main", 2), "n2", "ada")
        await stage.engine.cordon_node("n2", "")
        await players.end(players.find(players.on(first)[0]), 0)
        await players.act()
        assert players.on(first) == [2]
        assert len(players.on(second)) == 1
        assert stage.engine.state.moves.bound == {}

    play(scene)


def test_when_the_named_node_can_never_take_it_any_more_the_task_goes_anywhere() -> None:
    """A worker that comes back may have less, and labels change."""

    async def scene(stage: Stage) -> None:
        await stage.join("n1", cpu=2)
        second = await stage.join("n2", cpu=2)
        players = Players(stage)
        await stage.submit(spec("others", 2, needs={"cpu": 2000}))
        [large] = await stage.submit(spec("large", needs={"cpu": 2000}))
        [fussy] = await stage.submit(spec("fussy", constraints=("node.labels.disk != 'tape'",)))
        near = (Affinity("node", "node.labels.disk != 'tape'", require=True),)
        [picky] = await stage.submit(spec("picky", affinity=near))
        await stage.engine.label_node("n2", {"disk": "ssd"})
        await players.act()
        for job in (large, fussy, picky):
            await stage.engine.move(job.job_id, ("main", 0), "n2", "ada")
        await stage.engine.label_node("n2", {"disk": "tape"})
        players.playing.pop(players.find(players.on(second)[0]))
        await stage.join("n2", cpu=1, boot="b2")
        await players.act()
        assert stage.engine.state.moves.bound == {}
        freed = {event.name: event.reason for event in await stage.events() if event.type == "tasks.moving"}
        assert freed == {
            "large/0": "cannot run on node n2: cpu: needs 2, it has 1",
            "fussy/0": "cannot run on node n2: constraint does not hold: node.labels.disk != 'tape'",
            "picky/0": "cannot run on node n2: affinity: not node.labels.disk != 'tape'",
        }

    play(scene)


@pytest.mark.parametrize("type_", ["batch", "service"])
def test_a_task_that_was_moved_starts_beside_nobody_whom_it_avoids(type_: str) -> None:
    async def scene(stage: Stage) -> None:
        first = await stage.join("n1", cpu=4)
        second = await stage.join("n2", cpu=4)
        await stage.engine.cordon_node("n1", "")
        players = Players(stage)
        await stage.submit(spec("noisy"))
        await players.act()
        assert players.on(second) == [0]
        await stage.engine.release_node("n1", "cordon")
        away = (Affinity("job", "job.name == 'noisy'", require=True, anti=True),)
        [shy] = await stage.submit(spec("shy", type=type_, affinity=away, restart=ALWAYS))
        await players.act(3)
        assert players.on(first) == [0]
        await stage.engine.move(shy.job_id, ("main", 0), "n2", "ada")
        await players.pass_time(3)
        assert players.on(first) == ([0] if type_ == "service" else [])
        assert len(players.on(second)) == 1
        await players.end(next(task for task, playing in players.playing.items() if playing.node == second), 0)
        await players.pass_time(3)
        assert (players.on(first), players.on(second)) == ([], [0])

    play(scene)


def test_a_held_task_that_was_moved_to_a_node_that_is_gone_runs_once_it_is_released() -> None:
    async def scene(stage: Stage) -> None:
        await stage.join("n1", cpu=1)
        second = await stage.join("n2", cpu=1)
        [job] = await stage.submit(spec("a", options=JobOptions(held=True)))
        await stage.engine.move(job.job_id, ("main", 0), "n2", "ada")
        await stage.engine.node_event(second, NodeEvent.TIMED_OUT, "gone")
        await stage.settle()
        assert stage.orders() == []
        await stage.engine.hold(job.job_id, False)
        await stage.settle()
        assert len(stage.orders()) == 1

    play(scene)


def test_what_cannot_run_there_at_all_is_refused_with_the_reason() -> None:
    async def scene(stage: Stage) -> None:
        await stage.join("n1", cpu=8)
        await stage.join("n2", cpu=1)
        await stage.engine.label_node("n1", {"disk": "ssd"})
        players = Players(stage)
        [large] = await stage.submit(spec("large", needs={"cpu": 2000}))
        [bound] = await stage.submit(spec("bound", constraints=("node.labels.disk == 'ssd'",)))
        [gang] = await stage.submit(spec("gang", 2, gang=True))
        await players.act()
        with pytest.raises(Conflict, match="cpu: needs 2, it has 1"):
            await stage.engine.move(large.job_id, ("main", 0), "n2", "ada")
        with pytest.raises(Conflict, match="constraint does not hold"):
            await stage.engine.move(bound.job_id, ("main", 0), "n2", "ada")
        with pytest.raises(Conflict, match="one of a gang"):
            await stage.engine.move(gang.job_id, ("main", 0), "n2", "ada")
        await stage.engine.cordon_node("n2", "mended")
        [small] = await stage.submit(spec("small"))
        await players.act()
        with pytest.raises(Conflict, match="takes no work \\(cordon: mended\\)"):
            await stage.engine.move(small.job_id, ("main", 0), "n2", "ada")

    play(scene)


def test_a_task_that_was_moved_waits_for_its_release_and_for_its_queue() -> None:
    async def scene(stage: Stage) -> None:
        await stage.join("n1", cpu=4)
        [job] = await stage.submit(spec("held", options=JobOptions(held=True, queue="slow")))
        await stage.engine.move(job.job_id, ("main", 0), "n1", "ada")
        await stage.settle(1.0)
        assert not stage.orders()
        await stage.engine.patch_queue("slow", QueuePatch(is_paused=True))
        await stage.engine.hold(job.job_id, False)
        await stage.settle(1.0)
        assert not stage.orders()
        await stage.engine.patch_queue("slow", QueuePatch(is_paused=False))
        await stage.settle(1.0)
        assert [order.job for _, order in stage.orders()] == [job.job_id]

    play(scene)


def test_a_task_that_was_moved_waits_until_it_shares_no_host_with_its_like() -> None:
    async def scene(stage: Stage) -> None:
        nodes = [await stage.join("n1", cpu=4), await stage.join("n2", cpu=4)]
        [job] = await stage.submit(spec("apart", 2, distinct="host"))
        (first, order), (second, other) = stage.orders()
        assert {first, second} == set(nodes)
        await stage.engine.move(job.job_id, ("main", other.first), f"n{first}", "ada")
        await stage.end(second, other, exit_code=143, how="stopped")
        await stage.settle(1.0)
        assert not stage.orders()
        await stage.end(first, order)
        await stage.settle(1.0)
        assert [node for node, _ in stage.orders()] == [first]

    play(scene)


def test_a_service_that_was_moved_shares_no_rack_with_its_like() -> None:
    async def scene(stage: Stage) -> None:
        players, racks = Players(stage), ("a", "b", "b", "c")
        nodes = [await stage.join(f"n{number}", cpu=4) for number in range(4)]
        for number, rack in enumerate(racks):
            await stage.engine.label_node(f"n{number}", {"rack": rack})
        [job] = await stage.submit(service(2, distinct="rack", constraints=("node.labels.rack != 'c'",)))
        await players.act(3)
        [in_a] = players.on(nodes[0])
        free = next(number for number in (1, 2) if not players.on(nodes[number]))
        await stage.engine.move(job.job_id, ("main", in_a), f"n{free}", "ada")
        await players.pass_time(5)
        assert players.on(nodes[free]) == [], "the other one is in that rack"
        assert players.on(nodes[0]) == [in_a]

    play(scene)
