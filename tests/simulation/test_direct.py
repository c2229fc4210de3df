"""A simulated fleet connected directly to the real engine, as in `shunter up --simulate-nodes`, in virtual time."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from shunter.adapters.memory.store import MemoryStore
from shunter.engine.engine import Engine
from shunter.engine.settings import EngineSettings
from shunter.model.errors import StoreFailed, Unavailable
from shunter.model.job.spec import SERVICE, SYSTEM, Container, GroupSpec, HealthCheck, JobSpec, Port, Restart, TaskSpec
from shunter.model.lifecycles import TaskState
from shunter.model.protocol.worker_messages import Inventory, Shutdown
from shunter.planning.planner import build_policy
from shunter.ports.store import Commit
from shunter.simulation.fleet.direct import SimulatedWorkers
from shunter.simulation.fleet.fleet import simulated_hellos
from shunter.simulation.runtime.loop import VirtualClock, run_virtual

NODES = 20


class FailingStore(MemoryStore):
    """Fails one commit when told to. A new epoch takes as long as it is told to."""

    fails_next = False
    epoch_takes_s = 0.0

    async def begin_epoch(self, term: int = 0) -> int:
        await asyncio.sleep(self.epoch_takes_s)
        return await super().begin_epoch(term)

    async def commit(self, commit: Commit) -> None:
        if self.fails_next:
            self.fails_next = False
            raise StoreFailed("told to fail")
        await super().commit(commit)


class Cluster:
    def __init__(self, store: FailingStore) -> None:
        self.store = store
        self.clock = VirtualClock()
        self.workers = SimulatedWorkers(self.clock, random.Random(1))
        policy = build_policy("spread")
        self.engine = Engine(
            store=store, workers=self.workers, policy=policy, clock=self.clock, random=random.Random(2),
            settings=EngineSettings(),
        )  # fmt: skip

    async def start(self) -> None:
        await self.engine.start()
        self._running = asyncio.create_task(self.engine.run())
        await self.workers.start(self.engine, simulated_hellos(NODES, cpus=2))

    async def submit(self, count: int, *command: str, **env: str) -> int:
        task = TaskSpec(command, env)
        spec = JobSpec("default", "", (GroupSpec("main", count, task, {"cpu": 1000}),))
        return (await self.engine.submit([spec], "test"))[0].job_id

    async def ended(self, job_id: int) -> str:
        """The state in which a job ended, as history has it."""
        while (finished := await self.store.finished_job(job_id)) is None:
            await self.clock.sleep(0.5)
        return finished.state


def run_in_cluster(scenario: Callable[[Cluster], Coroutine[Any, Any, None]], store: FailingStore | None = None) -> None:
    async def main(_rng: random.Random) -> None:
        cluster = Cluster(store or FailingStore())
        await cluster.start()
        await scenario(cluster)
        await cluster.workers.stop()
        await cluster.engine.stop()

    run_virtual(main, seed=0)


def test_an_array_runs_in_simulated_time() -> None:
    async def scenario(cluster: Cluster) -> None:
        began_s = cluster.clock.now()
        job = await cluster.submit(400, "sleep", "3")
        assert await cluster.ended(job) == "succeeded"
        elapsed_s = cluster.clock.now() - began_s
        assert 30 <= elapsed_s <= 33, "400 tasks of 3 s in 40 lanes"

    run_in_cluster(scenario)


def test_exit_codes_come_from_the_command() -> None:
    async def scenario(cluster: Cluster) -> None:
        assert await cluster.ended(await cluster.submit(3, "false")) == "failed"
        assert await cluster.ended(await cluster.submit(3, "work", SHUNTER_SIM_DURATION="0")) == "succeeded"

    run_in_cluster(scenario)


def test_a_stopped_job_is_cancelled() -> None:
    async def scenario(cluster: Cluster) -> None:
        job = await cluster.submit(100, "sleep", "1h")
        await cluster.clock.sleep(2)
        await cluster.engine.stop_tasks(job, None, now=False)
        assert await cluster.ended(job) == "cancelled"
        assert all(node.machine.is_idle() for node in cluster.workers.fleet.nodes)

    run_in_cluster(scenario)


def test_a_failed_commit_makes_every_node_come_again_and_no_result_is_lost() -> None:
    async def scenario(cluster: Cluster) -> None:
        job = await cluster.submit(200, "sleep", "2")
        await cluster.clock.sleep(1)
        epoch = cluster.engine.epoch
        cluster.store.fails_next = True
        assert await cluster.ended(job) == "succeeded"
        assert cluster.engine.epoch == epoch + 1
        assert all(node.epoch == cluster.engine.epoch for node in cluster.workers.fleet.nodes)

    run_in_cluster(scenario)


def test_nothing_is_taken_from_workers_while_the_state_is_loaded_again() -> None:
    """What a worker said before is about a state that may be long gone."""

    async def scenario(cluster: Cluster) -> None:
        cluster.store.fails_next, cluster.store.epoch_takes_s = True, 1.0
        with pytest.raises(Unavailable):
            await cluster.submit(1, "true")
        with pytest.raises(Unavailable):
            await cluster.engine.inventory(1, Inventory(1, [], []))
        await cluster.clock.sleep(5)
        assert await cluster.ended(await cluster.submit(1, "true")) == "succeeded"

    run_in_cluster(scenario)


def test_tasks_of_an_earlier_fleet_run_again() -> None:
    store = FailingStore()
    jobs: list[int] = []

    async def first(cluster: Cluster) -> None:
        jobs.append(await cluster.submit(60, "sleep", "5"))
        await cluster.clock.sleep(2)

    async def second(cluster: Cluster) -> None:
        assert await cluster.ended(jobs[0]) == "succeeded"

    run_in_cluster(first, store)
    run_in_cluster(second, store)


def test_a_shutdown_queues_tasks_again() -> None:
    async def scenario(cluster: Cluster) -> None:
        job = await cluster.submit(10, "sleep", "1h")
        await cluster.clock.sleep(1)
        cluster.engine.pause_placement()
        for node in cluster.workers.fleet.nodes:
            cluster.workers.send(node.id, Shutdown(stop_tasks=True))
        await cluster.clock.sleep(1)
        counts = cluster.engine.state.jobs[job].task_sets[0].counts
        assert counts[1] == 10, "all queued"
        assert not cluster.engine.state.nodes.view.reserved.any()  # it would stay so in the next life

    run_in_cluster(scenario)


def test_logs_and_statistics_of_simulated_tasks_can_be_read() -> None:
    async def scenario(cluster: Cluster) -> None:
        job = await cluster.submit(1, "sleep", "5")
        await cluster.clock.sleep(1)
        node = next(node for node in cluster.workers.fleet.nodes if node.machine.running)
        piece = await cluster.workers.read_log(node.id, job, 0, "stdout", 0, 1000)
        assert node.hello.name.encode() in piece.data
        assert not piece.eof
        assert (await cluster.workers.read_log(node.id, job, 0, "stderr", 0, 1000)).data == b""
        stats = await cluster.workers.read_stats(node.id)
        assert [(task.job, task.index) for task in stats.tasks] == [(job, 0)]
        assert stats.machine.cpu_busy == 0.5
        with pytest.raises(Unavailable):
            await cluster.workers.read_stats(9999)

    run_in_cluster(scenario)


def test_services_and_system_jobs_run_on_simulated_nodes() -> None:
    async def scenario(cluster: Cluster) -> None:
        serve = TaskSpec((), container=Container("web"), ports=(Port("http", 80),), health=(HealthCheck("tcp"),))
        agent = TaskSpec(("sleep", "infinity"))
        restart = Restart("always")
        web = JobSpec("default", "web", (GroupSpec("main", 3, serve, {"cpu": 1000}, restart),), SERVICE)
        everywhere = JobSpec("default", "agent", (GroupSpec("main", 1, agent, {"cpu": 100}, restart),), SYSTEM)
        answers = await cluster.engine.submit([web, everywhere], "test")
        await cluster.clock.sleep(30)
        service, system = (cluster.engine.state.jobs[answer.job_id] for answer in answers)
        assert service.counts()[TaskState.RUNNING] == 3
        assert all(is_healthy for group in service.task_sets for is_healthy, _ in (group.health or {}).values())
        assert sum(len(group.ports or {}) for group in service.task_sets) == 3
        assert system.counts()[TaskState.RUNNING] == NODES
        for answer in answers:
            await cluster.engine.stop_tasks(answer.job_id, None, now=False)
            assert await cluster.ended(answer.job_id) == "cancelled"

    run_in_cluster(scenario)
