"""Placement of executors on full nodes: a slot's room belongs to its testbed, and its node to the executor."""

from __future__ import annotations

from random import Random

import pytest

from shunter.model.objects.batch_jobs import BatchJobState
from shunter.model.objects.object_meta import ObjectName
from shunter.model.objects.objects import SCHEDULING, TESTBED, Draft
from shunter.model.objects.schedulings import SchedulingSpec, SchedulingState, SlotJob
from shunter.model.objects.testbeds import TestbedSpec
from shunter.model.protocol.worker_messages import Order
from tests.unit.engine.harness import Harness, run_scenario, spec
from tests.unit.engine.object_harness import LABEL, apply_drafts, command, queue, scheduling, slots, state_of

JOBS = ("a", "b", "c")
ROUNDS = 4  # schedulings and background jobs in one run


class BusyCluster:
    """A cluster of random nodes, some of them with slots, and background jobs of random sizes on all the rest."""

    def __init__(self, harness: Harness, random: Random) -> None:
        self.harness, self.random = harness, random
        self.node_cpu: dict[int, int] = {}
        self.node_id: dict[str, int] = {}
        self.slot_cpu = random.choice([200, 300, 500])
        self.slots_per_node = random.randint(1, 3)
        self.background: list[tuple[int, Order]] = []  # that run
        self.size: dict[str, int] = {}  # of a background job's tasks
        self.executors = 0  # that were started, over all

    async def open(self) -> None:
        names = [f"n{number}" for number in range(self.random.randint(2, 5))]
        for name in names:
            cpu = self.random.randint(2, 6)
            self.node_id[name] = await self.harness.join(name, cpu=cpu)
            self.node_cpu[self.node_id[name]] = 1000 * cpu
        labelled = self.random.sample(names, self.random.randint(1, len(names)))
        for number, name in enumerate(labelled):
            await self.harness.engine.label_node(name, {LABEL: str(number)})
        size = {"cpu": self.slot_cpu, "memory": 2**20}
        testbed_draft = Draft(TESTBED, ObjectName("default", "bed"), TestbedSpec(self.slots_per_node, LABEL, size))
        await apply_drafts(self.harness, testbed_draft, *(command(job) for job in JOBS))

    async def fill(self) -> None:
        """A background job with more tasks than fit anywhere: it takes all the room there is for its size."""
        name, cpu = f"fill{len(self.size)}", self.random.choice([50, 100, 350, 700, 1000, 1900])
        self.size[name] = cpu
        await self.harness.submit(spec(name, self.random.randint(1, 60), needs={"cpu": cpu}))

    async def schedule(self, name: str) -> dict[str, list[int]]:
        """A Scheduling by a queue or by slots; of the latter, which job must get which slots."""
        count = len(slots(self.harness))
        if self.random.random() < 0.5:
            queued = [self.random.choice(JOBS) for _ in range(self.random.randint(1, count))]
            await apply_drafts(self.harness, queue(name, *queued))
            return {}
        ids = self.random.sample(range(count), count)
        wanted: dict[str, list[int]] = {}
        for number, job in enumerate(self.random.sample(JOBS, min(len(JOBS), count))):
            wanted[job] = sorted(ids[number :: len(JOBS)])
        entries = tuple(SlotJob(ObjectName("default", job), tuple(found)) for job, found in wanted.items())
        strategy = SchedulingSpec(ObjectName("default", "bed"), slots=entries, mode="relaxed")
        await apply_drafts(self.harness, Draft(SCHEDULING, ObjectName("default", name), strategy))
        return wanted

    def take_orders(self, wanted: dict[str, list[int]]) -> list[tuple[int, Order]]:
        """The executors that were ordered, each on the node of its slot; the background's orders are kept."""
        found, executors = slots(self.harness), []
        for node, order in self.harness.orders():
            if not order.job_name.startswith("bj."):
                self.background.append((node, order))
                continue
            [slot_id] = map(int, order.entries)
            assert node == self.node_id[found[slot_id][0]], (order, found)
            job = order.job_name.removeprefix("bj.")
            assert not wanted or slot_id in wanted[job]
            executors.append((node, order))
        self.executors += len(executors)
        return executors

    async def run(self, name: str) -> None:
        wanted = await self.schedule(name)
        live = self.take_orders(wanted)
        while live:  # in any order, with background work that comes and goes between
            node, order = live.pop(self.random.randrange(len(live)))
            if self.random.random() < 0.5:
                await self.harness.started(node, order)
            await self.mark_dirty()
            await self.harness.end(node, order)
            live += self.take_orders(wanted)
            self.check_room()
        assert scheduling(self.harness, name) is SchedulingState.COMPLETED
        await self.harness.engine.delete_object(SCHEDULING, ObjectName("default", name))
        await self.harness.settle()
        assert {state_of(self.harness, job) for job in JOBS} == {BatchJobState.READY}

    async def mark_dirty(self) -> None:
        if self.background and self.random.random() < 0.5:
            await self.harness.end(*self.background.pop(self.random.randrange(len(self.background))))
        elif self.random.random() < 0.3:
            await self.fill()

    def check_room(self) -> None:
        """By a count of our own: what runs beside the slots, and the slots, fit on each node."""
        used = dict.fromkeys(self.node_cpu, 0)
        for place, _, _ in slots(self.harness):
            used[self.node_id[place]] += self.slot_cpu
        for node, order in self.background:
            used[node] += self.size[order.job_name] * (order.last - order.first + 1)
        assert all(used[node] <= cpu for node, cpu in self.node_cpu.items()), used
        view = self.harness.engine.state.nodes.view
        assert (view.reserved[: view.count] <= view.capacity[: view.count]).all()


@pytest.mark.parametrize("seed", range(50))
def test_every_executor_runs_on_the_node_of_its_slot_whatever_fills_the_nodes(seed: int) -> None:
    """S0-15."""

    async def scenario(harness: Harness) -> None:
        filled = BusyCluster(harness, Random(seed))
        await filled.open()
        for number in range(ROUNDS):
            await filled.fill()
            filled.take_orders({})
            filled.check_room()
            await filled.run(f"s{number}")
        assert filled.executors >= ROUNDS
        assert filled.background, "something filled the spare room"

    run_scenario(scenario, depth_max=1)  # no task waits in a lane, so that all of an order's tasks run
