"""In which order things are dealt with: the same in a manager that goes on and in one that has loaded a snapshot."""

from __future__ import annotations

from shunter.engine import changes as c
from shunter.engine.state.registries.dependencies import EdgeBook
from shunter.engine.state.snapshots import load, make_snapshot
from tests.unit.engine.fake_workers import Players
from tests.unit.engine.harness import Stage, play, spec
from tests.unit.engine.object_harness import command, make, queue, ready


def test_who_waits_for_a_job_is_in_the_same_order_in_a_book_that_was_loaded() -> None:
    book, loaded = EdgeBook(), EdgeBook()
    book.begin(3, [1, 9])
    book.begin(4, [2])
    book.appliers()[c.EdgeMoved](c.EdgeMoved(3, 0, 2))
    book.begin(5, [2])
    loaded.load(book.dump())
    assert book.dependents(2) == loaded.dependents(2) == [(3, 0), (4, 0), (5, 0)]


def test_tasks_that_were_moved_wait_for_their_node_in_the_order_in_which_that_was_asked() -> None:
    async def scene(stage: Stage) -> None:
        await stage.join("n1", cpu=3)
        await stage.join("n2", cpu=1)
        players = Players(stage)
        await stage.submit(spec("fill", constraints=("node.name == 'n2'",)))
        await players.act(1)
        [job] = await stage.submit(spec(count=3, constraints=("node.name in ['n1', 'n2']",)))
        await players.act(1)
        for index in (2, 0):
            await stage.engine.move(job.job_id, ("main", index), "n2", "ada")
        for state in (stage.engine.state, load(make_snapshot(stage.engine.state))):
            assert [index for _, _, index in state.moves.bound] == [2, 0]

    play(scene)


def test_a_scheduling_has_its_jobs_in_the_order_in_which_it_claimed_them() -> None:
    async def scene(stage: Stage) -> None:
        await ready(stage)
        await make(stage, command("a"), command("b"))
        await make(stage, queue("q", "b", "a"))
        for state in (stage.engine.state, load(make_snapshot(stage.engine.state))):
            [claimed] = state.objects.claimed.values()
            assert [job.name for job in claimed] == ["b", "a"]

    play(scene)
