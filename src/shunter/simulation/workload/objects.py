"""Testbeds, BatchJobs and Schedulings in a simulated world: users create, extend, resize and delete them during the
faults, and delete all of them afterwards. Driven by `simulation.workload.users`."""

from __future__ import annotations

import random
from functools import partial
from typing import TYPE_CHECKING, Any

from shunter.engine.engine import Engine
from shunter.model.errors import Busy, Rejected
from shunter.model.objects.batch_jobs import FAIL, RESTART, BatchJobSpec
from shunter.model.objects.object_meta import Document, ObjectName
from shunter.model.objects.objects import BATCH_JOB, SCHEDULING, TESTBED, Draft
from shunter.model.objects.schedulings import RELAXED, STRICT, SchedulingSpec, SlotJob
from shunter.model.objects.testbeds import DISJOINT, EXCLUSIVE, TestbedSpec
from shunter.model.resources import CPU, MEMORY
from shunter.simulation.checks.reference_records import require

if TYPE_CHECKING:
    from shunter.simulation.workload.users import Users
    from shunter.simulation.world import World

LABEL = "testbed"
GI = 2**30
TESTBED_NAMES, JOBS, SCHEDULINGS = ("bed-0", "bed-1"), 6, 4
ACTIONS_PER_S = 3.0
DELETE_MAX_S = 120.0  # within which everything is gone once it was deleted
_FAIL_RATE = 0.15  # of the jobs


class ObjectActions:
    def __init__(self, users: Users, world: World) -> None:
        self._users, self._world, self._rng = users, world, world.rng

    async def run(self) -> None:
        """Some testbeds and jobs first, then one thing after another until the trouble is over."""
        world, deadline_s = self._world, self._world.clock.now() + self._world.scenario.fault_period_s
        for number, hello in enumerate(world.scenario.hellos):
            label = partial(Engine.label_node, name=hello.name, labels={LABEL: str(number)})
            while not await self._try("label", label) and world.clock.now() < deadline_s:
                await world.clock.sleep(0.5)  # it has not joined yet
        await self._apply([draw_testbed(self._rng, name) for name in TESTBED_NAMES])
        await self._apply([draw_job(self._rng, number) for number in range(JOBS)])
        while world.clock.now() < deadline_s:
            await world.clock.sleep(self._rng.expovariate(ACTIONS_PER_S))
            await self._run_action()

    async def settle(self) -> None:
        """Delete all of it; what was running goes, and nothing is left."""
        if self._world.makes_schedulings:  # of whatever testbeds and jobs there are
            await self._settle(TESTBED, BATCH_JOB, SCHEDULING)
        for kind in (SCHEDULING, TESTBED, BATCH_JOB):
            await self._settle(kind)

    async def _settle(self, *kinds: str) -> None:
        deadline_s = self._world.clock.now() + DELETE_MAX_S
        while left := [(kind, name) for kind in kinds for name in self._names(kind)]:
            require(self._world.clock.now() < deadline_s, f"{left[0][0]} {left[0][1]} does not go")
            for kind, name in left:
                await self._try("delete", partial(Engine.delete_object, kind=kind, name=name))
            await self._world.clock.sleep(1.0)

    async def _run_action(self) -> None:
        rng = self._rng
        action = rng.choice((*["schedule"] * 8, *["delete"] * 4, "bed", "job", "relabel", "reset"))
        if action == "schedule":
            await self._apply([draw_scheduling(rng, rng.randrange(SCHEDULINGS))])
        elif action == "delete":
            kind = rng.choice((*[SCHEDULING] * 10, TESTBED, BATCH_JOB))
            names = self._names(kind)
            if names:
                await self._try("delete", partial(Engine.delete_object, kind=kind, name=rng.choice(names)))
        elif action == "bed":
            await self._apply([draw_testbed(rng, rng.choice(TESTBED_NAMES))])
        elif action == "job":
            await self._apply([draw_job(rng, rng.randrange(JOBS))])
        elif action == "relabel":
            hello, value = rng.choice(self._world.scenario.hellos), rng.choice((None, "0", "1", "7", "odd"))
            await self._try("label", partial(Engine.label_node, name=hello.name, labels={LABEL: value}))
        else:
            name = ObjectName("default", f"batch-{rng.randrange(JOBS)}")
            await self._try("reset", partial(Engine.reset_batch_job, name=name))

    async def _apply(self, drafts: list[Draft]) -> None:
        await self._try("apply", partial(Engine.apply_objects, drafts=drafts, user="ada"))

    async def _try(self, action: str, call: Any) -> bool:
        self._world.trace.record(f"object.{action}")
        try:
            await self._users.request(call)
        except (Rejected, Busy) as refusal:
            self._world.trace.record("object.refused", str(refusal)[:80])
            return False
        return True

    def _names(self, kind: str) -> list[ObjectName]:
        """As the committed rounds have them."""
        return [each.meta.object_name for each in self._world.checkers.shadow.objects.all(kind)]


def draw_testbed(rng: random.Random, name: str) -> Draft:
    size = {CPU: rng.choice((250, 500)), MEMORY: GI}
    spec = TestbedSpec(rng.choice((1, 1, 2)), LABEL, size, rng.choice((EXCLUSIVE, DISJOINT)))
    return Draft(TESTBED, ObjectName("default", name), spec)


def draw_job(rng: random.Random, number: int) -> Draft:
    env = {"SHUNTER_SIM_DURATION": f"{rng.choice((0.01, 0.5, 2, 8))}"}
    if rng.random() < _FAIL_RATE:
        env["SHUNTER_SIM_EXIT"] = "3"
    name, on_node_loss = ObjectName("default", f"batch-{number}"), (FAIL, RESTART)[number % 2]
    if rng.random() < 0.3:
        executor = {"envVars": {"SHUNTER_SIM_DURATION": "infinity"}}
        spark: Document = {"type": "Scala", "mainClass": "Work", "mainApplicationFile": "local:///work.jar"}
        spark |= {"driver": {"envVars": env}, "executor": executor}
        return Draft(BATCH_JOB, name, BatchJobSpec(spark=spark, on_node_loss=on_node_loss))
    command = {"command": ["/bin/work"], "env": env}
    return Draft(BATCH_JOB, name, BatchJobSpec(command=command, on_node_loss=on_node_loss))


def draw_scheduling(rng: random.Random, number: int) -> Draft:
    jobs = [ObjectName("default", f"batch-{rng.randrange(JOBS + 1)}") for _ in range(rng.randint(1, 6))]
    testbed = ObjectName("default", rng.choice(TESTBED_NAMES))
    timeout_s = rng.choice((3.0, 30.0, 120.0))
    if rng.random() < 0.5:
        spec = SchedulingSpec(testbed, queue=tuple(jobs), confirmation_timeout_s=timeout_s)
    else:
        slots = tuple(SlotJob(job, tuple(rng.sample(range(4), rng.randint(1, 2)))) for job in dict.fromkeys(jobs))
        mode = rng.choice((STRICT, RELAXED))
        spec = SchedulingSpec(testbed, slots=slots, mode=mode, confirmation_timeout_s=timeout_s)
    return Draft(SCHEDULING, ObjectName("default", f"sched-{number}"), spec)
