"""Anti-affinity during updates: running tasks follow the spec they were started with, also after a takeover by another
manager."""

from __future__ import annotations

import pytest

from shunter.engine.placement.cluster_view import build_view
from shunter.engine.recovery import load_state
from shunter.engine.state.fingerprints.fingerprint import fingerprint
from shunter.engine.state.snapshot_writer import make_snapshot
from shunter.engine.state.snapshots import load
from shunter.engine.state.state import State
from shunter.model.job.spec import Affinity
from tests.unit.engine.fake_workers import FakeWorkers
from tests.unit.engine.harness import Harness, run_scenario, spec
from tests.unit.engine.service_specs import service, system

NOT_WITH_DB = (Affinity("job", "job.name == 'db'", require=True, anti=True),)


async def lives(harness: Harness) -> list[State]:
    """The state as it is, from a snapshot, and from the rounds."""
    replayed = await load_state(harness.store)
    return [harness.engine.state, load(make_snapshot(harness.engine.state)), replayed]


def excluded_nodes(state: State, job_id: int) -> list[int]:
    """The nodes from which a job is kept by the anti-affinities of others."""
    repels = build_view(state).repels
    counts = repels(state.jobs[job_id].task_sets[0].task_class.id) if repels is not None else None
    return [] if counts is None else counts.nonzero()[0].tolist()


@pytest.mark.parametrize("is_first", [True, False])
def test_old_and_new_tasks_of_an_update_keep_away_whom_their_own_specs_name(is_first: bool) -> None:
    """The first version has the anti-affinity and the second has not, or the other way round."""

    async def scenario(harness: Harness) -> None:
        first = await harness.join("n1", cpu=1)
        fake_workers = FakeWorkers(harness)
        old, new = (NOT_WITH_DB, ()) if is_first else ((), NOT_WITH_DB)
        await harness.submit(service(1, "v1", affinity=old))
        await fake_workers.advance(5)
        second = await harness.join("n2", cpu=1)
        fake_workers.ignores_stops = True
        await harness.submit(service(1, "v2", affinity=new))
        await fake_workers.advance(5)
        assert sorted(fake_workers.commands()) == ["v1", "v2"]
        assert [node for node in (first, second) if fake_workers.indexes_on(node)] == [first, second]
        [db] = await harness.submit(spec("db"))
        expected = [first] if is_first else [second]
        assert [excluded_nodes(state, db.job_id) for state in await lives(harness)] == [expected] * 3
        live, loaded, replayed = [fingerprint(state) for state in await lives(harness)]
        assert live == loaded == replayed

    run_scenario(scenario)


def test_a_service_whose_old_tasks_are_gone_keeps_nobody_away() -> None:
    async def scenario(harness: Harness) -> None:
        await harness.join("n1", cpu=3)
        fake_workers = FakeWorkers(harness)
        await harness.submit(service(1, "v1", affinity=NOT_WITH_DB))
        await fake_workers.advance(5)
        await harness.submit(service(1, "v2"))
        await fake_workers.advance(20)
        assert fake_workers.commands() == ["v2"]
        for state in await lives(harness):
            assert build_view(state).repels is None
        [db] = await harness.submit(spec("db"))
        await fake_workers.process(1)
        assert harness.counts(db.job_id) == {"running": 1}

    run_scenario(scenario)


def test_a_system_job_starts_where_an_update_has_let_go_of_an_anti_affinity() -> None:
    async def scenario(harness: Harness) -> None:
        node = await harness.join("n1", cpu=4)
        fake_workers = FakeWorkers(harness)
        shy = (Affinity("job", "job.name == 'agent'", require=True, anti=True),)
        await harness.submit(service(1, "v1", affinity=shy))
        await fake_workers.advance(5)
        [agent] = await harness.submit(system("agent"))
        await fake_workers.process(1)
        assert harness.counts(agent.job_id) == {}
        await harness.submit(service(1, "v2"))
        await fake_workers.advance(20)
        assert sorted(fake_workers.commands()) == ["agent", "v2"]
        assert len(fake_workers.indexes_on(node)) == 2

    run_scenario(scenario)
