"""A service never falls below its minimum while nothing crashes, whatever users request and however its versions
behave, and reaches the wanted version and count in the end. Random, by seed, in virtual time."""

from __future__ import annotations

import random
from dataclasses import dataclass, field

import pytest

from shunter.model.errors import Rejected
from shunter.model.job.spec import HealthCheck, TaskSpec, Update
from tests.unit.engine.fake_workers import FakeWorkers, healthy_count
from tests.unit.engine.harness import Harness, run_scenario
from tests.unit.engine.service_specs import service

STEPS = 50
NODES = 3


@dataclass
class ServiceDriver:
    """One service, and someone who does things to it. Versions with an odd number are sick."""

    harness: Harness
    rng: random.Random
    update: Update
    count: int = 4
    version: int = 0
    job: int = 0
    healthy_reached: int = 0
    good: int = 0  # the last version that was seen to be all of it
    has_crashed: bool = False
    drained: set[str] = field(default_factory=set)

    async def open(self) -> FakeWorkers:
        for number in range(NODES):
            await self.harness.join(f"n{number + 1}", cpu=40)
        fake_workers = FakeWorkers(self.harness, is_unhealthy=lambda spec, _: int(spec.command[-1]) % 2 == 1)
        [job] = await self.harness.submit(self.spec(0))
        self.job = job.job_id
        await fake_workers.advance(4)
        self.healthy_reached = healthy_count(self.harness, self.job)
        assert self.healthy_reached == self.count
        return fake_workers

    def spec(self, version: int):  # type: ignore[no-untyped-def]
        task = TaskSpec(("serve", str(version)), health=(HealthCheck("tcp", port="80"),))
        return service(self.count, str(version), task=task, update=self.update)

    async def do_random_action(self, fake_workers: FakeWorkers) -> None:
        name = f"n{self.rng.randint(1, NODES)}"
        match self.rng.choice(["scale", "update", "update", "restart", "move", "drain", "one", "nothing", "crash"]):
            case "scale":
                self.count = self.rng.randint(1, 7)
                self.healthy_reached = min(self.healthy_reached, self.count)
                await self.harness.engine.scale(self.job, {"": self.count}, "ada")
            case "update":
                self.version += self.rng.randint(1, 2)
                await self.harness.submit(self.spec(self.version))
            case "restart":
                await self.harness.engine.restart(self.job, None, "ada")
            case "one":
                await self.harness.engine.restart(self.job, ("main", self.rng.randrange(self.count)), "ada")
            case "move":
                await self._ignore_rejection(
                    self.harness.engine.move(self.job, ("main", self.rng.randrange(self.count)), name, "ada")
                )
            case "drain" if name in self.drained:
                self.drained.remove(name)
                await self.harness.engine.undrain_node(name)
            case "drain" if len(self.drained) < NODES - 1:
                self.drained.add(name)
                await self.harness.engine.drain_node(name, None, "ada")
            case "crash" if fake_workers.active and self.has_crashed:
                await fake_workers.end(self.rng.choice(list(fake_workers.active)), 1)
                self.healthy_reached = min(self.healthy_reached, healthy_count(self.harness, self.job))

    async def _ignore_rejection(self, request) -> None:  # type: ignore[no-untyped-def]
        """What is refused changes nothing."""
        try:
            await request
        except Rejected:
            pass

    def check(self) -> None:
        now = healthy_count(self.harness, self.job)
        least = min(self.count, self.healthy_reached) - self.update.unavailable_max
        assert now >= least, f"{now} healthy, at least {least} must be"
        self.healthy_reached = min(max(self.healthy_reached, now), self.count)


@pytest.mark.parametrize("seed", range(24))
def test_a_service_is_never_below_its_minimum_and_settles(seed: int) -> None:
    """R-27: whatever is asked of it."""
    rng = random.Random(seed)
    update = Update(
        parallel=rng.randint(1, 3), unavailable_max=rng.choice([0, 0, 1, 2]), healthy_for_s=1.0, deadline_s=6.0
    )

    async def scenario(harness: Harness) -> None:
        driver = ServiceDriver(harness, rng, update, has_crashed=seed % 3 == 2)
        fake_workers = await driver.open()
        for _ in range(STEPS):
            await driver.do_random_action(fake_workers)
            for _ in range(rng.randint(1, 8)):
                await fake_workers.process(0.25)
                driver.check()
        for _ in range(240):
            await fake_workers.process(0.5)
            driver.check()
        service_state = harness.engine.state.services.jobs[driver.job]
        job = harness.engine.state.jobs[driver.job]
        assert service_state.status.wire_name == "steady", service_state
        wanted = job.spec_version.groups[0].task.command[-1]
        assert int(wanted) % 2 == 0
        if driver.version % 2 == 0:
            assert int(wanted) == driver.version
        visible_indexes = sorted(active.visible_index for active in fake_workers.active.values())
        if not driver.has_crashed:
            assert visible_indexes == list(range(driver.count))
            assert set(fake_workers.commands()) == {wanted}
        assert len(job.task_sets) <= driver.count

    run_scenario(scenario)
