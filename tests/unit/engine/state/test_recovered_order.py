"""The processing order is the same in a running manager and in one that has loaded a snapshot."""

from __future__ import annotations

from shunter.engine import changes as c
from shunter.engine.state.registries.dependencies import EdgeRegistry
from shunter.engine.state.snapshot_writer import make_snapshot
from shunter.engine.state.snapshots import load
from tests.unit.engine.fake_workers import FakeWorkers
from tests.unit.engine.harness import Harness, run_scenario, spec
from tests.unit.engine.object_harness import apply_drafts, command, queue, setup_testbed


def test_dependents_are_in_the_same_order_in_a_registry_that_was_loaded() -> None:
    book, loaded = EdgeRegistry(), EdgeRegistry()
    book.add(3, [1, 9])
    book.add(4, [2])
    book.appliers()[c.EdgeRetargeted](c.EdgeRetargeted(3, 0, 2))
    book.add(5, [2])
    loaded.load(book.dump())
    assert book.dependents(2) == loaded.dependents(2) == [(3, 0), (4, 0), (5, 0)]


def test_tasks_that_were_moved_wait_for_their_node_in_the_order_in_which_that_was_asked() -> None:
    async def scenario(harness: Harness) -> None:
        await harness.join("n1", cpu=3)
        await harness.join("n2", cpu=1)
        fake_workers = FakeWorkers(harness)
        await harness.submit(spec("fill", constraints=("node.name == 'n2'",)))
        await fake_workers.process(1)
        [job] = await harness.submit(spec(count=3, constraints=("node.name in ['n1', 'n2']",)))
        await fake_workers.process(1)
        for index in (2, 0):
            await harness.engine.move(job.job_id, ("main", index), "n2", "ada")
        for state in (harness.engine.state, load(make_snapshot(harness.engine.state))):
            assert [index for _, _, index in state.moves.pinned] == [2, 0]

    run_scenario(scenario)


def test_a_scheduling_has_its_jobs_in_the_order_in_which_it_claimed_them() -> None:
    async def scenario(harness: Harness) -> None:
        await setup_testbed(harness)
        await apply_drafts(harness, command("a"), command("b"))
        await apply_drafts(harness, queue("q", "b", "a"))
        for state in (harness.engine.state, load(make_snapshot(harness.engine.state))):
            [claimed_jobs] = state.objects.claimed_jobs.values()
            assert [job.name for job in claimed_jobs] == ["b", "a"]

    run_scenario(scenario)
