"""Whom tasks keep away, during updates: those that run follow the spec that they were started with, in a manager that
goes on and in one that takes over alike."""

from __future__ import annotations

import pytest

from shunter.engine.placement.cluster_view import build_view
from shunter.engine.recovery import recover
from shunter.engine.state.fingerprints.fingerprint import fingerprint
from shunter.engine.state.snapshots import load, make_snapshot
from shunter.engine.state.state import State
from shunter.model.job.spec import Affinity
from tests.unit.engine.fake_workers import Players
from tests.unit.engine.harness import Stage, play, spec
from tests.unit.engine.service_specs import service, system

NOT_BESIDE_DB = (Affinity("job", "job.name == 'db'", require=True, anti=True),)


async def lives(stage: Stage) -> list[State]:
    """The state as it is, from a snapshot, and from the rounds."""
    replayed, _ = await recover(stage.store)
    return [stage.engine.state, load(make_snapshot(stage.engine.state)), replayed]


def kept_from(state: State, job_id: int) -> list[int]:
    """The nodes from which a job is kept by the anti-affinities of others."""
    repels = build_view(state).repels
    counts = repels(state.jobs[job_id].groups[0].task_class.id) if repels is not None else None
    return [] if counts is None else counts.nonzero()[0].tolist()


@pytest.mark.parametrize("is_first", [True, False])
def test_old_and_new_tasks_of_an_update_keep_away_whom_their_own_specs_name(is_first: bool) -> None:
    """The first version has the anti-affinity and the second has not, or the other way round."""

    async def scene(stage: Stage) -> None:
        first = await stage.join("n1", cpu=1)
        players = Players(stage)
        old, new = (NOT_BESIDE_DB, ()) if is_first else ((), NOT_BESIDE_DB)
        await stage.submit(service(1, "v1", affinity=old))
        await players.pass_time(5)
        second = await stage.join("n2", cpu=1)
        players.ignores_stops = True
        await stage.submit(service(1, "v2", affinity=new))
        await players.pass_time(5)
        assert sorted(players.commands()) == ["v1", "v2"]
        assert [node for node in (first, second) if players.on(node)] == [first, second]
        [db] = await stage.submit(spec("db"))
        expected = [first] if is_first else [second]
        assert [kept_from(state, db.job_id) for state in await lives(stage)] == [expected] * 3
        live, loaded, replayed = [fingerprint(state) for state in await lives(stage)]
        assert live == loaded == replayed

    play(scene)


def test_a_service_whose_old_tasks_are_gone_keeps_nobody_away() -> None:
    async def scene(stage: Stage) -> None:
        await stage.join("n1", cpu=3)
        players = Players(stage)
        await stage.submit(service(1, "v1", affinity=NOT_BESIDE_DB))
        await players.pass_time(5)
        await stage.submit(service(1, "v2"))
        await players.pass_time(20)
        assert players.commands() == ["v2"]
        for state in await lives(stage):
            assert build_view(state).repels is None
        [db] = await stage.submit(spec("db"))
        await players.act(1)
        assert stage.counts(db.job_id) == {"running": 1}

    play(scene)


def test_a_system_job_starts_where_an_update_has_let_go_of_an_anti_affinity() -> None:
    async def scene(stage: Stage) -> None:
        node = await stage.join("n1", cpu=4)
        players = Players(stage)
        shy = (Affinity("job", "job.name == 'agent'", require=True, anti=True),)
        await stage.submit(service(1, "v1", affinity=shy))
        await players.pass_time(5)
        [agent] = await stage.submit(system("agent"))
        await players.act(1)
        assert stage.counts(agent.job_id) == {}
        await stage.submit(service(1, "v2"))
        await players.pass_time(20)
        assert sorted(players.commands()) == ["agent", "v2"]
        assert len(players.on(node)) == 2

    play(scene)
