"""Lanes are refilled without asking the policy, but never with room reserved for a class ahead."""

from __future__ import annotations

import random

import pytest

from shunter.model.job.spec import Affinity, JobSpec
from shunter.model.lifecycles import TaskState
from shunter.model.protocol.worker_messages import Ended, Order
from shunter.simulation.runtime.loop import VirtualClock
from tests.unit.engine.harness import Harness, run_scenario, spec

SEEDS = range(15)
STEP_S = 1.0
STEPS_MAX = 400
ROUNDING_S = 0.01  # of virtual time


class TimedWorkers:
    """Workers whose tasks take as long as their estimates say; what each job is about is told apart by its name."""

    def __init__(self, harness: Harness, durations_s: dict[int, float]) -> None:
        self.harness = harness
        self.durations_s = durations_s
        self.running: list[tuple[float, int, Order]] = []
        self.started_s: dict[int, float] = {}  # job id -> when its first task started

    async def step(self, seconds: float = STEP_S) -> None:
        """Let a while pass, and report what started and ended."""
        await self.harness.settle(seconds)
        now_s = VirtualClock().now()
        for due in [each for each in self.running if each[0] <= now_s + ROUNDING_S]:
            self.running.remove(due)
            await self._end(*due)
        while orders := self.harness.orders():
            for node, order in orders:
                await self.harness.started(node, order)
                self.started_s.setdefault(order.job, now_s)
                self.running.append((now_s + self.durations_s[order.job], node, order))

    async def _end(self, due_s: float, node: int, order: Order) -> None:
        count = order.last - order.first + 1
        name = order.job, order.group, order.attempt, order.first
        started_ms, ended_ms = round((due_s - self.durations_s[order.job]) * 1000), round(due_s * 1000)
        await self.harness.report(node, ended=[Ended(*name, [], [started_ms] * count, [ended_ms] * count, 1, 0)])


async def gang_start_s(harness: Harness, seed: int, with_small: bool) -> float:
    """When a gang starts that waits for a full cluster; `with_small`, behind it more waits of what runs already."""
    rng = random.Random(seed)
    for number in range(rng.randrange(2, 5)):
        await harness.join(f"n{number}", cpu=rng.randrange(3, 6))
    sizes = [rng.choice([500, 1000]) for _ in range(rng.randrange(1, 4))]
    workers = TimedWorkers(harness, {})

    async def submit(job: JobSpec, seconds: float) -> int:
        [submitted] = await harness.submit(job)
        workers.durations_s[submitted.job_id] = seconds
        await workers.step(0.0)
        return submitted.job_id

    for number, cpu in enumerate(sizes * 15):
        seconds = float(rng.randrange(3, 40))
        await submit(spec(f"first{number}", needs={"cpu": cpu}, estimate_s=seconds, priority=60), seconds)
        await workers.step(0.0)
    for job in list(harness.engine.state.jobs.values()):
        if not job.counts()[TaskState.RUNNING]:  # the cluster is full, and the others never were
            await harness.engine.stop_tasks(job.id, None, now=True)
    await harness.settle()
    cpu = rng.choice([2000, 3000])  # more than a lane gives up: otherwise it is given up anyway
    fits = sum(int(each) // cpu for each in harness.engine.state.nodes.view.capacity[:, 0])
    gang = spec("gang", rng.randrange(1, fits + 1), gang=True, needs={"cpu": cpu}, estimate_s=5.0, priority=60)
    gang_id = await submit(gang, 5.0)
    for number in range(60):
        seconds, cpu = float(rng.randrange(1, 60)), rng.choice(sizes)
        estimate_s = seconds if rng.random() < 0.8 else 0.0
        if with_small:
            small = spec(f"small{number}", needs={"cpu": cpu}, estimate_s=estimate_s, priority=60)
            await submit(small, seconds)
    for _ in range(STEPS_MAX):
        if gang_id in workers.started_s:
            return workers.started_s[gang_id]
        await workers.step()
    raise AssertionError("the gang never started")


@pytest.mark.parametrize("seed", SEEDS)
def test_a_reserved_gang_is_not_delayed_by_lanes_that_are_refilled(seed: int) -> None:
    """D-60: it starts no later than if nobody had come behind it."""
    found: list[float] = []

    for with_small in (False, True):

        async def scenario(harness: Harness, with_small: bool = with_small) -> None:
            found.append(await gang_start_s(harness, seed, with_small))

        run_scenario(scenario)
    alone_s, crowded_s = found
    assert crowded_s <= alone_s + ROUNDING_S


def test_no_lane_is_refilled_where_the_job_is_gone_beside_which_its_tasks_must_be() -> None:
    async def scenario(harness: Harness) -> None:
        node = await harness.join("n1", cpu=4)
        await harness.submit(spec("db"))
        [(_, db)] = harness.orders()
        beside = Affinity("job", "job.name == 'db'", require=True)
        await harness.submit(spec("array", 9, needs={"cpu": 3000}, affinity=(beside,)))
        [(_, first)] = harness.orders()
        await harness.end(node, db)
        await harness.end(node, first)
        assert not harness.orders()

    run_scenario(scenario)
