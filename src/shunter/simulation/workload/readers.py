"""Clients that read from any manager of a world with several. Each remembers the newest version that it has seen, and
asks for at least that one.

Created by `simulation.world`; `simulation.checks.histories` judges what they read."""

from __future__ import annotations

import asyncio
import random
from typing import TYPE_CHECKING

from shunter.model.errors import ShunterError

if TYPE_CHECKING:
    from shunter.simulation.world import World

READERS = 3
PERIOD_S = 0.5
ANSWER_TIMEOUT_S = 5.0


class Readers:
    def __init__(self, world: World, seed: int) -> None:
        self._world = world
        self._rng = random.Random(seed + 1)

    async def run(self) -> None:
        await asyncio.gather(*(self._read_repeatedly() for _ in range(READERS)))

    async def _read_repeatedly(self) -> None:
        world, seen = self._world, 0
        deadline_s = world.clock.now() + world.scenario.fault_period_s
        while world.clock.now() < deadline_s:
            await world.clock.sleep(self._rng.expovariate(1 / PERIOD_S))
            try:
                async with asyncio.timeout(ANSWER_TIMEOUT_S):
                    seen = await self._read(seen)
            except (TimeoutError, ShunterError) as error:
                world.trace.record("read.refused", type(error).__name__)

    async def _read(self, seen: int) -> int:
        world, histories = self._world, self._world.checkers.histories
        if not world.live_managers:
            return seen
        manager = self._rng.choice(world.live_managers)
        begun_at = histories.begin()
        await manager.gate.wait_open()
        await manager.engine.wait_committed(seen)
        state, is_following = manager.engine.state, manager.engine.is_following
        histories.on_read(state, manager.name)
        histories.on_session_read(seen, state.version, manager.name)
        if not is_following:
            histories.on_leader_answer(begun_at, state.version, manager.name)
        world.trace.record("read.answered", f"{manager.name} version {state.version}")
        return state.version
