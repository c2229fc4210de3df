"""Lets an engine follow or lead, as one of several managers. `app.manager` runs it; so does the simulation.

follow and campaign  ->  elected: take the lead  ->  fenced, lease lost or asked to step down  ->  follow again
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from random import Random
from typing import Any

from shunter.engine.engine import Engine
from shunter.engine.upgrade import watch_formats
from shunter.log import Log
from shunter.model.errors import Fenced, NewerFormat, ShunterError, Unavailable
from shunter.model.rest.manager_views import SCHEDULER
from shunter.ports.clock import Clock
from shunter.ports.coordination import Coordination, Lease, ManagerRecord

STORE_LOOK_EVERY_S = 1.0  # while a manager leads
STORE_LOOK_MAX_S = 3.0  # long lists may keep all connections busy for a while
STORE_MISSES_MAX = 2  # looks in a row that fail, before another manager should lead
RETRY_MAX_S = 1.0  # before the next campaign of a manager that could not lead, so that another one can try
log = Log(__name__)

AskLag = Callable[[ManagerRecord], Awaitable[float | None]]


class LeaderElector:
    """`on_lead` starts what only a leader runs, and `on_step_down` ends it. Both may be called many times. A manager
    that is no candidate only follows."""

    def __init__(
        self,
        engine: Engine,
        coordination: Coordination,
        clock: Clock,
        random: Random,
        on_lead: Callable[[], Awaitable[None]],
        on_step_down: Callable[[], Awaitable[None]],
        *,
        deputies: Deputies,
        is_candidate: bool = True,
    ) -> None:
        self._engine, self._coordination = engine, coordination
        self._clock, self._random = clock, random
        self._on_lead, self._on_step_down = on_lead, on_step_down
        self._deputies, self._is_candidate = deputies, is_candidate

    async def run(self) -> None:
        """Until the engine stops. Raises NewerFormat if this program cannot read what other managers write."""
        if not self._is_candidate:
            await self._engine.follow()
            return
        while True:
            lease = await self._follow_until_elected()
            if lease is None:
                return
            try:
                await self._lead(lease)
                return
            except NewerFormat:
                raise
            except Fenced as error:
                log.info("leader.stepped_down", term=lease.term, reason=error)
            except ShunterError as error:
                log.error("leader.failed", term=lease.term, error=error)
            finally:
                await self._coordination.resign(lease)
            await self._clock.sleep(self._random.uniform(0, RETRY_MAX_S))

    async def _follow_until_elected(self) -> Lease | None:
        """None if the engine stops."""
        following = asyncio.create_task(self._engine.follow())
        campaign = asyncio.create_task(self._campaign())
        try:
            await asyncio.wait((following, campaign), return_when=asyncio.FIRST_COMPLETED)
            if not following.done():
                return campaign.result()
            if campaign.done():  # elected at the same moment
                await self._coordination.resign(campaign.result())
            following.result()
            return None
        finally:
            await _cancel(following, campaign)

    async def _campaign(self) -> Lease:
        """Servers of the election that lost their data count from 1 again; the store remembers the newest term."""
        while True:
            try:
                return await self._coordination.acquire(above=await self._engine.leading_term())
            except ShunterError as error:
                log.warning("campaign.failed", error=error)
                await self._clock.sleep(RETRY_MAX_S)

    async def _lead(self, lease: Lease) -> None:
        if lease.term:  # a manager that is alone need not ask what the others know
            await self._look_at_store()  # a new epoch could wait for a minute, while another manager may reach it
            self._engine.allow_format(0)
        await self._engine.start(lease)
        watching = [asyncio.create_task(self._wake_when_lost(lease))]
        if lease.term:
            settle_s = self._engine.settings.format_settle_s
            watching.append(asyncio.create_task(self._watch_store()))
            watching.append(asyncio.create_task(watch_formats(self._engine, self._coordination, self._clock, settle_s)))
        try:
            await self._on_lead()
            await self._engine.run()
        finally:
            await _cancel(*watching)
            await self._on_step_down()

    async def _wake_when_lost(self, lease: Lease) -> None:
        """An idle engine would not notice."""
        await lease.wait_lost()
        self._engine.wake()

    async def _watch_store(self) -> None:
        """A leader that cannot reach the store steps down, if another manager reaches it. A failed commit shows that
        too, but a leader without work commits nothing, one that cannot read history refuses all submits, and a network
        that drops everything lets a commit wait for a minute."""
        misses, missed_at = 0, 0.0
        while misses < STORE_MISSES_MAX or not await self._deputies.reach_store(since=missed_at):
            await self._clock.sleep(STORE_LOOK_EVERY_S)
            try:
                await self._look_at_store()
                misses = 0
            except ShunterError as error:
                misses += 1
                missed_at = self._clock.now() if misses == 1 else missed_at
                log.warning("leader.store_unreachable", misses=misses, misses_max=STORE_MISSES_MAX, error=error)
        self._engine.give_up_store()

    async def _look_at_store(self) -> None:
        try:
            async with asyncio.timeout(STORE_LOOK_MAX_S):
                await self._engine.leading_term()
        except TimeoutError:
            raise Unavailable(f"the store has not answered for {STORE_LOOK_MAX_S:g} s") from None


class Deputies:
    """The managers that could lead instead of this one. `ask_lag` asks one of them how old its state may be: the time
    since its last good look at the store, or None if it has no state. Raises Unavailable if it does not answer."""

    def __init__(self, own_name: str, coordination: Coordination, clock: Clock, ask_lag: AskLag) -> None:
        self._own_name, self._coordination = own_name, coordination
        self._clock, self._ask_lag = clock, ask_lag

    async def reach_store(self, since: float) -> bool:
        """Whether one of them has read the store after this time, or may have: it is registered and does not answer."""
        schedulers = [
            manager
            for manager in self._coordination.managers()
            if SCHEDULER in manager.roles and manager.name != self._own_name
        ]
        return any(await asyncio.gather(*(self._has_read(manager, since) for manager in schedulers)))

    async def _has_read(self, manager: ManagerRecord, since: float) -> bool:
        asked_at = self._clock.now()
        try:
            lag_s = await self._ask_lag(manager)
        except Unavailable:
            return True
        return lag_s is not None and asked_at - lag_s > since


async def _cancel(*tasks: asyncio.Task[Any]) -> None:
    """It raises what cancels the caller, and nothing else."""
    for task in tasks:
        task.cancel()
    await asyncio.wait(tasks)
