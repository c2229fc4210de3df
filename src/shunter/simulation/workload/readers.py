"""Clients of any manager of a world with several: they read, and they repeat submits that were acknowledged. Each
remembers the newest version that it has seen, and asks for at least that one.

Created by `simulation.world`; `simulation.checks.histories` judges what they are told."""

from __future__ import annotations

import asyncio
import random
from typing import TYPE_CHECKING

from shunter.model.errors import ShunterError

if TYPE_CHECKING:
    from shunter.simulation.runtime.manager import SimulatedManager
    from shunter.simulation.workload.users import Users
    from shunter.simulation.world import World

READERS = 3
PERIOD_S = 0.4
ANSWER_TIMEOUT_S = 5.0
REPEAT_RATE = 0.3


class Readers:
    def __init__(self, world: World, users: Users, seed: int) -> None:
        self._world = world
        self._users = users
        self._rng = random.Random(seed + 1)

    async def run(self) -> None:
        await asyncio.gather(*(self._ask_repeatedly() for _ in range(READERS)))

    async def _ask_repeatedly(self) -> None:
        world, seen = self._world, 0
        deadline_s = world.clock.now() + world.scenario.fault_period_s
        while world.clock.now() < deadline_s:
            await world.clock.sleep(self._rng.expovariate(1 / PERIOD_S))
            if not world.live_managers:
                continue
            manager, repeats = self._rng.choice(world.live_managers), self._rng.random() < REPEAT_RATE
            try:
                async with asyncio.timeout(ANSWER_TIMEOUT_S):
                    seen = await (self._repeat_submit(manager, seen) if repeats else self._read(manager, seen))
            except (TimeoutError, ShunterError) as error:
                world.trace.record("read.refused", f"{manager.name} {type(error).__name__}")

    async def _read(self, manager: SimulatedManager, seen: int) -> int:
        world, histories = self._world, self._world.checkers.histories
        begun_at = histories.begin()
        await manager.gate.wait_open()
        await manager.engine.wait_committed(seen)
        state, is_following = manager.engine.state, manager.engine.is_following
        histories.on_read(state, manager.name)
        if not is_following:
            histories.on_leader_answer(begun_at, state.version, manager.name)
        histories.on_session_read(seen, state.version, manager.name)
        world.trace.record("read.of_follower" if is_following else "read.of_leader", f"{manager.name} {state.version}")
        return state.version

    async def _repeat_submit(self, manager: SimulatedManager, seen: int) -> int:
        """It changes nothing, so no commit proves that the manager still leads."""
        submit = self._users.pick_answered(self._rng)
        if submit is None:
            return seen
        begun_at = self._world.checkers.histories.begin()
        await manager.gate.wait_open()
        answers = await manager.engine.submit(submit.specs, submit.user, submit.key)
        version = manager.engine.committed_version
        self._world.checkers.histories.on_leader_answer(begun_at, version, manager.name)
        self._users.check_answer(submit, answers)
        self._world.trace.record("submit.repeated", f"{manager.name} {submit.key}")
        return version
