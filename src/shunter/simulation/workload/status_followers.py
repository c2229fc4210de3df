"""Clients that follow the events of a world with several managers. Each leaves its manager in mid-stream, from time to
time or because that fails, and resumes at another one after the last event that it has received.

Created by `simulation.world`; `simulation.checks.status_order` judges what they are told."""

from __future__ import annotations

import asyncio
import random
from contextlib import aclosing
from typing import TYPE_CHECKING

from shunter.gateway.scope import cluster_scope
from shunter.gateway.streams.events import Events
from shunter.model.errors import NotFound, ShunterError
from shunter.ports.admin import EventPosition, EventQuery
from shunter.simulation.checks.reference_records import require

if TYPE_CHECKING:
    from shunter.simulation.runtime.manager import SimulatedManager
    from shunter.simulation.world import World

FOLLOWERS = 2
STAY_S = 2.0  # at one manager, on average
RETRY_S = 0.1
CATCH_UP_MAX_S = 60.0  # after the faults


class StatusFollowers:
    def __init__(self, world: World, seed: int) -> None:
        self._world = world
        self._rng = random.Random(seed + 2)
        self._events: dict[int, Events] = {}  # by number of the manager

    async def run(self) -> None:
        await asyncio.gather(*(self._follow(f"follower {number}") for number in range(FOLLOWERS)))

    async def _follow(self, who: str) -> None:
        world, status = self._world, self._world.checkers.status
        position = EventPosition(world.checkers.shadow.version)
        status.begin(who, position.version)
        over_s = world.clock.now() + world.scenario.fault_period_s
        while world.clock.now() < over_s or status.missing(who):
            late_s = world.clock.now() - over_s
            require(
                late_s < CATCH_UP_MAX_S, f"{who} misses {status.missing(who)} events {late_s:.0f} s after the faults"
            )
            if not world.live_managers:
                await world.clock.sleep(RETRY_S)
                continue
            position = await self._stay(who, self._rng.choice(world.live_managers), position)

    async def _stay(self, who: str, manager: SimulatedManager, position: EventPosition) -> EventPosition:
        """Follow at one manager for a while; returns the last position that was received."""
        world, status = self._world, self._world.checkers.status
        try:
            async with asyncio.timeout(self._rng.expovariate(1 / STAY_S)):
                await manager.gate.wait_open()
                stream = await self._events_of(manager).subscribe(EventQuery(after=position))
                async with aclosing(stream):
                    async for chunk in stream:
                        for message in chunk.split(b"\n\n")[:-1]:
                            position = _position(message)
                            if b"\ndata: " in message:
                                status.on_event(who, manager.name, message + b"\n\n")
                world.trace.record("follow.ended", f"{manager.name} {who}")
        except TimeoutError:
            world.trace.record("follow.left", f"{manager.name} {who}")
        except NotFound:  # history has dropped what comes next, and says so
            world.trace.record("follow.gone", f"{manager.name} {who}")
            position = EventPosition(world.checkers.shadow.version)
            status.begin(who, position.version)
        except ShunterError as error:
            world.trace.record("follow.refused", f"{manager.name} {who} {type(error).__name__}")
            await world.clock.sleep(RETRY_S)
        return position

    def _events_of(self, manager: SimulatedManager) -> Events:
        """They read old rounds from the store without its faults, whose random numbers are those of the world."""
        if manager.number not in self._events:
            self._events[manager.number] = Events(manager.engine, self._world.store, cluster_scope(manager.engine))
        return self._events[manager.number]


def _position(message: bytes) -> EventPosition:
    id = message.partition(b"\n")[0].removeprefix(b"id: ").decode()
    version, _, number = id.partition("-")
    return EventPosition(int(version), int(number) if number else None)
