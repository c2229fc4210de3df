"""A moved instance runs on the named node; a service is never below its minimum."""

from __future__ import annotations

import pytest

from shunter.model.errors import Conflict
from shunter.model.job.spec import Affinity, JobOptions, Update
from shunter.model.lifecycles import NodeEvent
from shunter.ports.admin import QueueChange
from tests.unit.engine.fake_workers import FakeWorkers, healthy_count
from tests.unit.engine.harness import Harness, run_scenario, spec
from tests.unit.engine.service_specs import ALWAYS, service


def test_a_service_starts_on_the_new_node_before_it_leaves_the_old_one() -> None:
    """R-27: the old one is gone when the new one is well."""

    async def scenario(harness: Harness) -> None:
        first = await harness.join("n1", cpu=4)
        fake_workers = FakeWorkers(harness)
        [job] = await harness.submit(service(2))
        await fake_workers.process(3)
        second = await harness.join("n2", cpu=4)
        await harness.engine.move(job.job_id, ("main", 1), "n2", "ada")
        for _ in range(20):
            await fake_workers.process(0.25)
            assert healthy_count(harness, job.job_id) >= 2
        assert (fake_workers.indexes_on(first), fake_workers.indexes_on(second)) == ([0], [1])
        with pytest.raises(Conflict, match="is already on node 'n2'"):
            await harness.engine.move(job.job_id, ("main", 1), "n2", "ada")

    run_scenario(scenario)


def test_after_a_move_later_placements_are_free() -> None:
    async def scenario(harness: Harness) -> None:
        first = await harness.join("n1", cpu=4)
        fake_workers = FakeWorkers(harness)
        [job] = await harness.submit(service(1))
        await fake_workers.process(3)
        second = await harness.join("n2", cpu=4)
        await harness.engine.move(job.job_id, ("main", 0), "n2", "ada")
        await fake_workers.advance(5)
        assert fake_workers.indexes_on(second) == [0]
        fake_workers.active.clear()
        await harness.engine.node_event(second, NodeEvent.TIMED_OUT, "gone")
        await fake_workers.process(3)
        assert fake_workers.indexes_on(first) == [0]
        assert harness.counts(job.job_id) == {"running": 1}

    run_scenario(scenario)


def test_a_move_that_finds_no_room_in_time_is_given_up_and_the_old_one_stays() -> None:
    async def scenario(harness: Harness) -> None:
        first = await harness.join("n1", cpu=1)
        fake_workers = FakeWorkers(harness)
        [job] = await harness.submit(service(1, update=Update(healthy_for_s=1.0, deadline_s=10.0)))
        await fake_workers.process(3)
        second = await harness.join("n2", cpu=1)
        await harness.submit(spec("other"))
        await fake_workers.process()
        assert fake_workers.indexes_on(second) == [0]
        await harness.engine.move(job.job_id, ("main", 0), "n2", "ada")
        await fake_workers.advance(9)
        assert fake_workers.indexes_on(first) == [0]
        await fake_workers.advance(3)
        assert harness.counts(job.job_id) == {"running": 1}
        assert fake_workers.indexes_on(first) == [0]

    run_scenario(scenario)


def test_a_batch_task_is_stopped_and_runs_on_the_named_node_next() -> None:
    async def scenario(harness: Harness) -> None:
        first = await harness.join("n1", cpu=4)
        fake_workers = FakeWorkers(harness)
        [job] = await harness.submit(spec("batch", 3))
        await fake_workers.process(1)
        second = await harness.join("n2", cpu=4)
        await harness.engine.move(job.job_id, ("main", 1), "n2", "ada")
        await fake_workers.process(1)
        assert (fake_workers.indexes_on(first), fake_workers.indexes_on(second)) == ([0, 2], [1])
        [moved] = [event for event in await harness.events() if event.type == "tasks.moving"]
        assert (moved.name, moved.node, moved.reason) == ("batch/1", "n2", "moved to node n2 by ada")
        for index in range(3):
            await fake_workers.end(fake_workers.find(index), 0)
        finished = await harness.store.finished_job(job.job_id)
        assert finished is not None and finished.state == "succeeded"

    run_scenario(scenario)


def test_a_queued_batch_task_waits_for_its_node_and_no_other() -> None:
    async def scenario(harness: Harness) -> None:
        first = await harness.join("n1", cpu=1)
        second = await harness.join("n2", cpu=1)
        fake_workers = FakeWorkers(harness)
        [job] = await harness.submit(spec("batch", 3))
        await fake_workers.process()
        await harness.engine.move(job.job_id, ("main", 2), "n2", "ada")
        await fake_workers.end(fake_workers.find(fake_workers.indexes_on(first)[0]), 0)
        await fake_workers.process()
        assert fake_workers.indexes_on(first) == []
        await fake_workers.end(fake_workers.find(fake_workers.indexes_on(second)[0]), 0)
        await fake_workers.process()
        assert fake_workers.indexes_on(second) == [2]

    run_scenario(scenario)


def test_when_the_named_node_takes_no_more_work_the_task_goes_anywhere() -> None:
    async def scenario(harness: Harness) -> None:
        first = await harness.join("n1", cpu=1)
        second = await harness.join("n2", cpu=1)
        fake_workers = FakeWorkers(harness)
        [job] = await harness.submit(spec("batch", 3))
        await fake_workers.process()
        await harness.engine.move(job.job_id, ("main", 2), "n2", "ada")
        await harness.engine.cordon_node("n2", "")
        await fake_workers.end(fake_workers.find(fake_workers.indexes_on(first)[0]), 0)
        await fake_workers.process()
        assert fake_workers.indexes_on(first) == [2]
        assert len(fake_workers.indexes_on(second)) == 1
        assert harness.engine.state.moves.pinned == {}

    run_scenario(scenario)


def test_when_the_named_node_can_never_take_it_any_more_the_task_goes_anywhere() -> None:
    """A worker that comes back may have less, and labels change."""

    async def scenario(harness: Harness) -> None:
        await harness.join("n1", cpu=2)
        second = await harness.join("n2", cpu=2)
        fake_workers = FakeWorkers(harness)
        await harness.submit(spec("others", 2, needs={"cpu": 2000}))
        [large] = await harness.submit(spec("large", needs={"cpu": 2000}))
        [fussy] = await harness.submit(spec("fussy", constraints=("node.labels.disk != 'tape'",)))
        near = (Affinity("node", "node.labels.disk != 'tape'", require=True),)
        [picky] = await harness.submit(spec("picky", affinity=near))
        await harness.engine.label_node("n2", {"disk": "ssd"})
        await fake_workers.process()
        for job in (large, fussy, picky):
            await harness.engine.move(job.job_id, ("main", 0), "n2", "ada")
        await harness.engine.label_node("n2", {"disk": "tape"})
        fake_workers.active.pop(fake_workers.find(fake_workers.indexes_on(second)[0]))
        await harness.join("n2", cpu=1, boot="b2")
        await fake_workers.process()
        assert harness.engine.state.moves.pinned == {}
        freed = {event.name: event.reason for event in await harness.events() if event.type == "tasks.moving"}
        assert freed == {
            "large/0": "cannot run on node n2: cpu: needs 2, the node has 1",
            "fussy/0": "cannot run on node n2: constraint is false: node.labels.disk != 'tape'",
            "picky/0": "cannot run on node n2: affinity: the node does not match node.labels.disk != 'tape'",
        }

    run_scenario(scenario)


@pytest.mark.parametrize("type_", ["batch", "service"])
def test_a_task_that_was_moved_starts_beside_nobody_whom_it_avoids(type_: str) -> None:
    async def scenario(harness: Harness) -> None:
        first = await harness.join("n1", cpu=4)
        second = await harness.join("n2", cpu=4)
        await harness.engine.cordon_node("n1", "")
        fake_workers = FakeWorkers(harness)
        await harness.submit(spec("noisy"))
        await fake_workers.process()
        assert fake_workers.indexes_on(second) == [0]
        await harness.engine.release_node("n1", "cordon")
        away = (Affinity("job", "job.name == 'noisy'", require=True, anti=True),)
        [shy] = await harness.submit(spec("shy", type=type_, affinity=away, restart=ALWAYS))
        await fake_workers.process(3)
        assert fake_workers.indexes_on(first) == [0]
        await harness.engine.move(shy.job_id, ("main", 0), "n2", "ada")
        await fake_workers.advance(3)
        assert fake_workers.indexes_on(first) == ([0] if type_ == "service" else [])
        assert len(fake_workers.indexes_on(second)) == 1
        await fake_workers.end(next(task for task, active in fake_workers.active.items() if active.node == second), 0)
        await fake_workers.advance(3)
        assert (fake_workers.indexes_on(first), fake_workers.indexes_on(second)) == ([], [0])

    run_scenario(scenario)


def test_a_held_task_that_was_moved_to_a_node_that_is_gone_runs_once_it_is_released() -> None:
    async def scenario(harness: Harness) -> None:
        await harness.join("n1", cpu=1)
        second = await harness.join("n2", cpu=1)
        [job] = await harness.submit(spec("a", options=JobOptions(held=True)))
        await harness.engine.move(job.job_id, ("main", 0), "n2", "ada")
        await harness.engine.node_event(second, NodeEvent.TIMED_OUT, "gone")
        await harness.settle()
        assert harness.orders() == []
        await harness.engine.hold(job.job_id, False)
        await harness.settle()
        assert len(harness.orders()) == 1

    run_scenario(scenario)


def test_what_cannot_run_there_at_all_is_refused_with_the_reason() -> None:
    async def scenario(harness: Harness) -> None:
        await harness.join("n1", cpu=8)
        await harness.join("n2", cpu=1)
        await harness.engine.label_node("n1", {"disk": "ssd"})
        fake_workers = FakeWorkers(harness)
        [large] = await harness.submit(spec("large", needs={"cpu": 2000}))
        [bound] = await harness.submit(spec("bound", constraints=("node.labels.disk == 'ssd'",)))
        [gang] = await harness.submit(spec("gang", 2, gang=True))
        await fake_workers.process()
        with pytest.raises(Conflict, match="cpu: needs 2, the node has 1"):
            await harness.engine.move(large.job_id, ("main", 0), "n2", "ada")
        with pytest.raises(Conflict, match="constraint is false"):
            await harness.engine.move(bound.job_id, ("main", 0), "n2", "ada")
        with pytest.raises(Conflict, match="belongs to a gang"):
            await harness.engine.move(gang.job_id, ("main", 0), "n2", "ada")
        await harness.engine.cordon_node("n2", "mended")
        [small] = await harness.submit(spec("small"))
        await fake_workers.process()
        with pytest.raises(Conflict, match="is not schedulable \\(cordon: mended\\)"):
            await harness.engine.move(small.job_id, ("main", 0), "n2", "ada")

    run_scenario(scenario)


def test_a_task_that_was_moved_waits_for_its_release_and_for_its_queue() -> None:
    async def scenario(harness: Harness) -> None:
        await harness.join("n1", cpu=4)
        [job] = await harness.submit(spec("held", options=JobOptions(held=True, queue="slow")))
        await harness.engine.move(job.job_id, ("main", 0), "n1", "ada")
        await harness.settle(1.0)
        assert not harness.orders()
        await harness.engine.patch_queue("slow", QueueChange(paused=True))
        await harness.engine.hold(job.job_id, False)
        await harness.settle(1.0)
        assert not harness.orders()
        await harness.engine.patch_queue("slow", QueueChange(paused=False))
        await harness.settle(1.0)
        assert [order.job for _, order in harness.orders()] == [job.job_id]

    run_scenario(scenario)


def test_a_task_that_was_moved_waits_until_it_shares_no_host_with_its_like() -> None:
    async def scenario(harness: Harness) -> None:
        nodes = [await harness.join("n1", cpu=4), await harness.join("n2", cpu=4)]
        [job] = await harness.submit(spec("apart", 2, distinct="host"))
        (first, order), (second, other) = harness.orders()
        assert {first, second} == set(nodes)
        await harness.engine.move(job.job_id, ("main", other.first), f"n{first}", "ada")
        await harness.end(second, other, exit_code=143, how="stopped")
        await harness.settle(1.0)
        assert not harness.orders()
        await harness.end(first, order)
        await harness.settle(1.0)
        assert [node for node, _ in harness.orders()] == [first]

    run_scenario(scenario)


def test_a_service_that_was_moved_shares_no_rack_with_its_like() -> None:
    async def scenario(harness: Harness) -> None:
        fake_workers, racks = FakeWorkers(harness), ("a", "b", "b", "c")
        nodes = [await harness.join(f"n{number}", cpu=4) for number in range(4)]
        for number, rack in enumerate(racks):
            await harness.engine.label_node(f"n{number}", {"rack": rack})
        [job] = await harness.submit(service(2, distinct="rack", constraints=("node.labels.rack != 'c'",)))
        await fake_workers.process(3)
        [in_a] = fake_workers.indexes_on(nodes[0])
        free = next(number for number in (1, 2) if not fake_workers.indexes_on(nodes[number]))
        await harness.engine.move(job.job_id, ("main", in_a), f"n{free}", "ada")
        await fake_workers.advance(5)
        assert fake_workers.indexes_on(nodes[free]) == [], "the other one is in that rack"
        assert fake_workers.indexes_on(nodes[0]) == [in_a]

    run_scenario(scenario)
