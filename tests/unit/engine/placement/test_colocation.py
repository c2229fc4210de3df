"""Per-node jobs with required affinities: on which nodes, and next to which tasks."""

from __future__ import annotations

import pytest

from shunter.model.job.spec import Affinity, Restart
from tests.unit.engine.fake_workers import FakeWorkers
from tests.unit.engine.harness import Harness, run_scenario, spec
from tests.unit.engine.service_specs import system

WITH_DB = Affinity("job", "job.name == 'db'", require=True)
NOT_WITH_DB = Affinity("job", "job.name == 'db'", require=True, anti=True)


async def db_on(harness: Harness, fake_workers: FakeWorkers, node: str, affinity: tuple[Affinity, ...] = ()) -> int:
    [db] = await harness.submit(spec("db", constraints=(f"node.name == '{node}'",), affinity=affinity))
    await fake_workers.process(1)
    return db.job_id


@pytest.mark.parametrize(("anti", "expected"), [(False, [1]), (True, [0])])
def test_a_required_affinity_to_nodes_decides_which_nodes_match(anti: bool, expected: list[int]) -> None:
    async def scenario(harness: Harness) -> None:
        nodes = [await harness.join("n1"), await harness.join("n2")]
        await harness.engine.label_node("n2", {"disk": "ssd"})
        fake_workers = FakeWorkers(harness)
        rule = Affinity("node", "node.labels.disk == 'ssd'", require=True, anti=anti)
        [job] = await harness.submit(system(affinity=(rule,)))
        await fake_workers.process(1)
        assert [index for node in nodes for index in fake_workers.indexes_on(node)] == expected
        assert harness.counts(job.job_id) == {"running": 1}
        await harness.engine.label_node(f"n{expected[0] + 1}", {"disk": "" if not anti else "ssd"})
        await fake_workers.process(1)
        assert fake_workers.active == {}

    run_scenario(scenario)


def test_it_runs_beside_the_jobs_that_it_wants_follows_them_and_stays_where_it_is() -> None:
    async def scenario(harness: Harness) -> None:
        first, second = await harness.join("n1"), await harness.join("n2")
        fake_workers = FakeWorkers(harness)
        [agent] = await harness.submit(system(affinity=(WITH_DB,)))
        await fake_workers.process(1)
        assert fake_workers.active == {}
        db = await db_on(harness, fake_workers, "n2")
        assert (fake_workers.indexes_on(first), len(fake_workers.indexes_on(second)), harness.counts(agent.job_id)) == (
            [],
            2,
            {"running": 1},
        )
        await harness.engine.stop_tasks(db, None, False)
        await fake_workers.process(1)
        assert fake_workers.indexes_on(second) == [1]
        await db_on(harness, fake_workers, "n1")
        assert harness.counts(agent.job_id) == {"running": 2}

    run_scenario(scenario)


def test_it_waits_with_its_restart_until_the_job_that_it_wants_beside_it_is_back() -> None:
    async def scenario(harness: Harness) -> None:
        node = await harness.join("n1")
        fake_workers = FakeWorkers(harness)
        db = await db_on(harness, fake_workers, "n1")
        [agent] = await harness.submit(system(affinity=(WITH_DB,)))
        await fake_workers.process(1)
        await harness.engine.stop_tasks(db, None, False)
        await fake_workers.process(1)
        [task] = fake_workers.active
        await fake_workers.end(task, 1)
        await fake_workers.process(5)
        assert "running" not in harness.counts(agent.job_id)
        await db_on(harness, fake_workers, "n1")
        assert len(fake_workers.indexes_on(node)) == 2

    run_scenario(scenario)


def test_it_keeps_away_from_the_jobs_that_it_does_not_want_beside_it() -> None:
    async def scenario(harness: Harness) -> None:
        first, second = await harness.join("n1"), await harness.join("n2")
        fake_workers = FakeWorkers(harness)
        db = await db_on(harness, fake_workers, "n2")
        [agent] = await harness.submit(system(affinity=(NOT_WITH_DB,)))
        await fake_workers.process(1)
        assert (fake_workers.indexes_on(first), harness.counts(agent.job_id)) == ([0], {"running": 1})
        await harness.engine.stop_tasks(db, None, False)
        await fake_workers.process(1)
        assert fake_workers.indexes_on(second) == [1]
        other = await db_on(harness, fake_workers, "n1")
        assert harness.counts(other) == {"queued": 1}  # it holds both ways

    run_scenario(scenario)


def test_it_is_kept_away_by_jobs_that_do_not_want_it_beside_them() -> None:
    async def scenario(harness: Harness) -> None:
        first, second = await harness.join("n1"), await harness.join("n2")
        fake_workers = FakeWorkers(harness)
        shy = Affinity("job", "job.name == 'agent'", require=True, anti=True)
        db = await db_on(harness, fake_workers, "n2", affinity=(shy,))
        [agent] = await harness.submit(system())
        await fake_workers.process(1)
        assert (fake_workers.indexes_on(first), harness.counts(agent.job_id)) == ([0], {"running": 1})
        await harness.engine.stop_tasks(db, None, False)
        await fake_workers.process(1)
        assert fake_workers.indexes_on(second) == [1]

    run_scenario(scenario)


def test_a_sysbatch_runs_once_beside_each_and_ends() -> None:
    async def scenario(harness: Harness) -> None:
        await harness.join("n1")
        second = await harness.join("n2")
        fake_workers = FakeWorkers(harness)
        await db_on(harness, fake_workers, "n2")
        [job] = await harness.submit(system(type="sysbatch", affinity=(WITH_DB,), restart=Restart()))
        await fake_workers.process(1)
        assert harness.counts(job.job_id) == {"running": 1}
        [task] = [task for task in fake_workers.active if task[0] == job.job_id]
        assert fake_workers.active[task].node == second
        await fake_workers.end(task, 0)
        await fake_workers.process(1)
        assert job.job_id not in harness.engine.state.jobs

    run_scenario(scenario)


def test_a_manager_that_takes_over_goes_on_with_whom_it_finds_beside() -> None:
    async def scenario(harness: Harness) -> None:
        await harness.join("n1")
        fake_workers = FakeWorkers(harness)
        [agent] = await harness.submit(system(affinity=(WITH_DB,)))
        await harness.restart_manager()
        await db_on(harness, fake_workers, "n1")
        assert harness.counts(agent.job_id) == {"running": 1}

    run_scenario(scenario)
