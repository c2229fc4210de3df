"""Whatever people ask of a service, and however its versions behave, it is never below its minimum while nothing
crashes, and comes to the wanted version and count in the end. Random, by seed, in virtual time."""

from __future__ import annotations

import random
from dataclasses import dataclass, field

import pytest

from shunter.model.errors import Rejected
from shunter.model.job.spec import HealthCheck, TaskSpec, Update
from tests.unit.engine.fake_workers import Players, healthy
from tests.unit.engine.harness import Stage, play
from tests.unit.engine.service_specs import service

STEPS = 50
NODES = 3


@dataclass
class Story:
    """One service, and someone who does things to it. Versions with an odd number are sick."""

    stage: Stage
    dice: random.Random
    update: Update
    count: int = 4
    version: int = 0
    job: int = 0
    reached: int = 0
    good: int = 0  # the last version that was seen to be all of it
    has_crashed: bool = False
    drained: set[str] = field(default_factory=set)

    async def open(self) -> Players:
        for number in range(NODES):
            await self.stage.join(f"n{number + 1}", cpu=40)
        players = Players(self.stage, is_sick=lambda spec, _: int(spec.command[-1]) % 2 == 1)
        [job] = await self.stage.submit(self.spec(0))
        self.job = job.job_id
        await players.pass_time(4)
        self.reached = healthy(self.stage, self.job)
        assert self.reached == self.count
        return players

    def spec(self, version: int):  # type: ignore[no-untyped-def]
        task = TaskSpec(("serve", str(version)), health=(HealthCheck("tcp", port="80"),))
        return service(self.count, str(version), task=task, update=self.update)

    async def do_something(self, players: Players) -> None:
        name = f"n{self.dice.randint(1, NODES)}"
        match self.dice.choice(["scale", "update", "update", "restart", "move", "drain", "one", "nothing", "crash"]):
            case "scale":
                self.count = self.dice.randint(1, 7)
                self.reached = min(self.reached, self.count)
                await self.stage.engine.scale(self.job, {"": self.count}, "ada")
            case "update":
                self.version += self.dice.randint(1, 2)
                await self.stage.submit(self.spec(self.version))
            case "restart":
                await self.stage.engine.restart(self.job, None, "ada")
            case "one":
                await self.stage.engine.restart(self.job, ("main", self.dice.randrange(self.count)), "ada")
            case "move":
                await self._try(
                    self.stage.engine.move(self.job, ("main", self.dice.randrange(self.count)), name, "ada")
                )
            case "drain" if name in self.drained:
                self.drained.remove(name)
                await self.stage.engine.undrain_node(name)
            case "drain" if len(self.drained) < NODES - 1:
                self.drained.add(name)
                await self.stage.engine.drain_node(name, None, "ada")
            case "crash" if players.playing and self.has_crashed:
                await players.end(self.dice.choice(list(players.playing)), 1)
                self.reached = min(self.reached, healthy(self.stage, self.job))

    async def _try(self, asked) -> None:  # type: ignore[no-untyped-def]
        """What is refused changes nothing."""
        try:
            await asked
        except Rejected:
            pass

    def check(self) -> None:
        now = healthy(self.stage, self.job)
        least = min(self.count, self.reached) - self.update.unavailable_max
        assert now >= least, f"{now} healthy, at least {least} must be"
        self.reached = min(max(self.reached, now), self.count)


@pytest.mark.parametrize("seed", range(24))
def test_a_service_is_never_below_its_minimum_and_settles(seed: int) -> None:
    """R-27: whatever is asked of it."""
    dice = random.Random(seed)
    update = Update(
        parallel=dice.randint(1, 3), unavailable_max=dice.choice([0, 0, 1, 2]), healthy_for_s=1.0, deadline_s=6.0
    )

    async def scene(stage: Stage) -> None:
        story = Story(stage, dice, update, has_crashed=seed % 3 == 2)
        players = await story.open()
        for _ in range(STEPS):
            await story.do_something(players)
            for _ in range(dice.randint(1, 8)):
                await players.act(0.25)
                story.check()
        for _ in range(240):
            await players.act(0.5)
            story.check()
        lasting = stage.engine.state.lasting.jobs[story.job]
        job = stage.engine.state.jobs[story.job]
        assert lasting.status == "steady", lasting
        wanted = job.blueprint.groups[0].task.command[-1]
        assert int(wanted) % 2 == 0
        if story.version % 2 == 0:
            assert int(wanted) == story.version
        shown = sorted(playing.shown for playing in players.playing.values())
        if not story.has_crashed:
            assert shown == list(range(story.count))
            assert set(players.commands()) == {wanted}
        assert len(job.groups) <= story.count

    play(scene)
