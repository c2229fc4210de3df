"""Jobs that run everywhere, by their required affinities: on which nodes, and beside whom."""

from __future__ import annotations

import pytest

from shunter.model.job.spec import Affinity, Restart
from tests.unit.engine.fake_workers import Players
from tests.unit.engine.harness import Stage, play, spec
from tests.unit.engine.service_specs import system

BESIDE_DB = Affinity("job", "job.name == 'db'", require=True)
NOT_BESIDE_DB = Affinity("job", "job.name == 'db'", require=True, anti=True)


async def db_on(stage: Stage, players: Players, node: str, affinity: tuple[Affinity, ...] = ()) -> int:
    [db] = await stage.submit(spec("db", constraints=(f"node.name == '{node}'",), affinity=affinity))
    await players.act(1)
    return db.job_id


@pytest.mark.parametrize(("anti", "expected"), [(False, [1]), (True, [0])])
def test_a_required_affinity_to_nodes_decides_which_nodes_match(anti: bool, expected: list[int]) -> None:
    async def scene(stage: Stage) -> None:
        nodes = [await stage.join("n1"), await stage.join("n2")]
        await stage.engine.label_node("n2", {"disk": "ssd"})
        players = Players(stage)
        rule = Affinity("node", "node.labels.disk == 'ssd'", require=True, anti=anti)
        [job] = await stage.submit(system(affinity=(rule,)))
        await players.act(1)
        assert [index for node in nodes for index in players.on(node)] == expected
        assert stage.counts(job.job_id) == {"running": 1}
        await stage.engine.label_node(f"n{expected[0] + 1}", {"disk": "" if not anti else "ssd"})
        await players.act(1)
        assert players.playing == {}

    play(scene)


def test_it_runs_beside_the_jobs_that_it_wants_follows_them_and_stays_where_it_is() -> None:
    async def scene(stage: Stage) -> None:
        first, second = await stage.join("n1"), await stage.join("n2")
        players = Players(stage)
        [agent] = await stage.submit(system(affinity=(BESIDE_DB,)))
        await players.act(1)
        assert players.playing == {}
        db = await db_on(stage, players, "n2")
        assert (players.on(first), len(players.on(second)), stage.counts(agent.job_id)) == ([], 2, {"running": 1})
        await stage.engine.stop_tasks(db, None, False)
        await players.act(1)
        assert players.on(second) == [1]
        await db_on(stage, players, "n1")
        assert stage.counts(agent.job_id) == {"running": 2}

    play(scene)


def test_it_waits_with_its_restart_until_the_job_that_it_wants_beside_it_is_back() -> None:
    async def scene(stage: Stage) -> None:
        node = await stage.join("n1")
        players = Players(stage)
        db = await db_on(stage, players, "n1")
        [agent] = await stage.submit(system(affinity=(BESIDE_DB,)))
        await players.act(1)
        await stage.engine.stop_tasks(db, None, False)
        await players.act(1)
        [task] = players.playing
        await players.end(task, 1)
        await players.act(5)
        assert "running" not in stage.counts(agent.job_id)
        await db_on(stage, players, "n1")
        assert len(players.on(node)) == 2

    play(scene)


def test_it_keeps_away_from_the_jobs_that_it_does_not_want_beside_it() -> None:
    async def scene(stage: Stage) -> None:
        first, second = await stage.join("n1"), await stage.join("n2")
        players = Players(stage)
        db = await db_on(stage, players, "n2")
        [agent] = await stage.submit(system(affinity=(NOT_BESIDE_DB,)))
        await players.act(1)
        assert (players.on(first), stage.counts(agent.job_id)) == ([0], {"running": 1})
        await stage.engine.stop_tasks(db, None, False)
        await players.act(1)
        assert players.on(second) == [1]
        other = await db_on(stage, players, "n1")
        assert stage.counts(other) == {"queued": 1}  # it holds both ways

    play(scene)


def test_it_is_kept_away_by_jobs_that_do_not_want_it_beside_them() -> None:
    async def scene(stage: Stage) -> None:
        first, second = await stage.join("n1"), await stage.join("n2")
        players = Players(stage)
        shy = Affinity("job", "job.name == 'agent'", require=True, anti=True)
        db = await db_on(stage, players, "n2", affinity=(shy,))
        [agent] = await stage.submit(system())
        await players.act(1)
        assert (players.on(first), stage.counts(agent.job_id)) == ([0], {"running": 1})
        await stage.engine.stop_tasks(db, None, False)
        await players.act(1)
        assert players.on(second) == [1]

    play(scene)


def test_a_sysbatch_runs_once_beside_each_and_ends() -> None:
    async def scene(stage: Stage) -> None:
        await stage.join("n1")
        second = await stage.join("n2")
        players = Players(stage)
        await db_on(stage, players, "n2")
        [job] = await stage.submit(system(type="sysbatch", affinity=(BESIDE_DB,), restart=Restart()))
        await players.act(1)
        assert stage.counts(job.job_id) == {"running": 1}
        [task] = [task for task in players.playing if task[0] == job.job_id]
        assert players.playing[task].node == second
        await players.end(task, 0)
        await players.act(1)
        assert job.job_id not in stage.engine.state.jobs

    play(scene)


def test_a_manager_that_takes_over_goes_on_with_whom_it_finds_beside() -> None:
    async def scene(stage: Stage) -> None:
        await stage.join("n1")
        players = Players(stage)
        [agent] = await stage.submit(system(affinity=(BESIDE_DB,)))
        await stage.revive()
        await db_on(stage, players, "n1")
        assert stage.counts(agent.job_id) == {"running": 1}

    play(scene)
