"""Cuts the network links of workers for a long time, in worlds whose jobs have `disconnect` and `at_most_once`. Runs
alongside the other faults of such worlds.

It has its own random source, so that worlds without cuts stay as they are."""

from __future__ import annotations

import random
from dataclasses import replace as with_fields
from typing import TYPE_CHECKING

from msgspec.structs import replace

from shunter.model.job.spec import LONG_RUNNING, GroupSpec, JobSpec
from shunter.simulation.scenario import Scenario

if TYPE_CHECKING:
    from shunter.simulation.world import World

EVERY_S = (1.0, 15.0)
CUT_S = (0.5, 60.0)
LONG_TASK_S, LONG_TASKS_MAX = "40", 4  # long enough to outlive a cut


class LinkCuts:
    def __init__(self, world: World, seed: int) -> None:
        self._world = world
        self._rng = random.Random(seed)

    async def run(self) -> None:
        """Cuts at random moments until the scenario's faults are over; the last one ends later."""
        clock, network = self._world.clock, self._world.network
        deadline_s = clock.now() + self._world.scenario.fault_period_s
        while clock.now() < deadline_s:
            await clock.sleep(self._rng.uniform(*EVERY_S))
            names = sorted(self._world.workers)
            chosen = self._rng.sample(names, self._rng.randint(1, len(names)))
            self._world.trace.record("fault.link_cut", " ".join(chosen))
            for name in chosen:
                network.partition(name)
            await clock.sleep(self._rng.uniform(*CUT_S))
            for connection in list(network.connections):
                if connection.worker.name in chosen and self._rng.random() < 0.7:
                    connection.reset("link cut")
            for name in chosen:
                network.heal(name)


def with_disconnects(scenario: Scenario, seed: int) -> Scenario:
    """The same jobs, some of which say what happens while their node is away. A repeated submit stays the same."""
    rng = random.Random(seed)
    drawn: dict[int, list[JobSpec]] = {}
    submits = []
    for submit in scenario.submits:
        if id(submit.specs) not in drawn:
            drawn[id(submit.specs)] = [_with_disconnect(spec, rng) for spec in submit.specs]
        submits.append(with_fields(submit, specs=drawn[id(submit.specs)]))
    return with_fields(scenario, submits=submits, cuts_seed=seed)


def _with_disconnect(spec: JobSpec, rng: random.Random) -> JobSpec:
    may_run_once = spec.type not in LONG_RUNNING
    return replace(spec, groups=tuple(_draw_group(group, may_run_once, rng) for group in spec.groups))


def _draw_group(group: GroupSpec, may_run_once: bool, rng: random.Random) -> GroupSpec:
    task = replace(group.task, stop_after_s=rng.choice((0.0, 10.0, 20.0)))
    if may_run_once and group.count <= LONG_TASKS_MAX and rng.random() < 0.3:
        task = replace(task, env={**task.env, "SHUNTER_SIM_DURATION": LONG_TASK_S}, run_timeout_s=0.0)
    return replace(
        group,
        task=task,
        replace_after_s=rng.choice((0.0, 0.0, 8.0)),
        at_most_once=may_run_once and rng.random() < 0.6,
    )
