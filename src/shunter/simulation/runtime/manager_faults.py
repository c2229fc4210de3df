"""Injects the faults of worlds with several managers: pauses that outlast the lease, stalls, cuts from the store or
from the election, servers that are away, commits that land late, and restarts of one manager after the other.

Created by `simulation.world`, next to `simulation.runtime.faults`. When `run` returns, all of these faults are over."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Coroutine
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from shunter.engine.state.snapshot_writer import SLICE_JOBS
from shunter.simulation.runtime.coordination import DELAY_DEFAULT_S, LEASE_S
from shunter.simulation.runtime.upgrades import UPGRADES_EVERY

if TYPE_CHECKING:
    from shunter.simulation.runtime.manager import SimulatedManager
    from shunter.simulation.scenario import Scenario
    from shunter.simulation.world import World

PERIOD_S = 4.0  # on average, between two faults
COMMIT_WAIT_MAX_S = 3.0
FORMAT_SETTLE_S = 3.0


def with_managers(scenario: Scenario, seed: int) -> Scenario:
    """One to five managers. In every third world old rounds are cut so early that followers miss some, and in every
    eighth the managers are upgraded one after the other."""
    settings = replace(scenario.settings, format_settle_s=FORMAT_SETTLE_S, snapshot_slice_jobs=SLICE_JOBS)
    if seed % 3 == 0:
        retention = replace(settings.retention, rounds_age_s=1.0, rounds_max=5)
        settings = replace(settings, snapshot_rounds=5, retention=retention)
    return replace(
        scenario,
        managers=1 + seed % 5,
        managers_seed=seed,
        is_upgraded=seed % UPGRADES_EVERY == 1,
        has_objects=seed % 2 == 1,
        settings=settings,
    )


class ManagerFaults:
    """It draws from a random generator of its own, so that other choices of a seed do not depend on it."""

    def __init__(self, world: World, seed: int) -> None:
        self._world = world
        self._rng = random.Random(seed)

    async def run(self) -> None:
        world, rng = self._world, self._rng
        deadline_s = world.clock.now() + world.scenario.fault_period_s
        names = rng.sample(sorted(KINDS), rng.randint(1, len(KINDS)))
        episodes: list[asyncio.Task[None]] = []
        while world.clock.now() < deadline_s:
            await world.clock.sleep(rng.expovariate(1 / PERIOD_S))
            name = rng.choice(names)
            world.trace.record(f"fault.{name}")
            episodes.append(asyncio.create_task(KINDS[name](self)))
        await asyncio.gather(*episodes)

    # ---- processes ----

    async def _leader_paused(self) -> None:
        """Longer than its lease: another one leads when it wakes up."""
        leader = self._world.leader
        if leader is not None:
            if self._rng.random() < 0.5:
                await self._wait_for_commit(leader)
            leader.pause()
            await self._sleep_between(LEASE_S, 3 * LEASE_S)
            leader.resume()

    async def _store_fails_at_deposed_leader(self) -> None:
        """It was paused in the middle of a commit and has lost its connection. It connects again, but may not lead."""
        leader = self._world.leader
        if leader is not None:
            await self._wait_for_commit(leader)
            leader.pause()
            leader.store.is_connection_lost = True
            await self._sleep_between(1.5 * LEASE_S, 3 * LEASE_S)
            leader.resume()

    async def _leader_killed(self) -> None:
        leader = self._world.leader
        if leader is not None:
            leader.kill()

    async def _follower_killed(self) -> None:
        followers = [manager for manager in self._world.live_managers if not manager.is_leading]
        if followers:
            self._rng.choice(followers).kill()

    async def _event_loop_stalled(self) -> None:
        """Longer than the lease, which is renewed all the same."""
        manager = self._pick_manager()
        if manager is not None:
            manager.stall()
            await self._sleep_between(LEASE_S, 3 * LEASE_S)
            manager.resume()

    async def _leader_steps_down(self) -> None:
        leader = self._world.leader
        if leader is not None:
            leader.engine.step_down()

    async def _rolling_restart(self) -> None:
        for manager in self._world.live_managers:
            if not manager.is_terminated:
                self._world.spawn(manager.stop(leave_running=True))
                await manager.wait_terminated()
                await self._sleep_between(0.5, 2.0)

    # ---- what they depend on ----

    async def _cut_from_store(self) -> None:
        manager = self._pick_manager()
        if manager is not None:
            manager.store.is_cut_off = True
            await self._sleep_between(0.3, 6.0)
            manager.store.is_cut_off = False

    async def _cut_from_election(self) -> None:
        manager = self._pick_manager()
        if manager is not None:
            self._world.servers.cut_off.add(manager.name)
            await self._sleep_between(0.3, 6.0)
            self._world.servers.cut_off.discard(manager.name)

    async def _servers_away(self) -> None:
        self._world.servers.is_up = False
        await self._sleep_between(0.3, 2 * LEASE_S)
        self._world.servers.is_up = True

    async def _answers_lost(self) -> None:
        self._world.servers.loss_rate = 0.4
        await self._sleep_between(1.0, 8.0)
        self._world.servers.loss_rate = 0.0

    async def _slow_servers(self) -> None:
        self._world.servers.delay_s = self._rng.uniform(0.05, 0.5)
        await self._sleep_between(1.0, 8.0)
        self._world.servers.delay_s = DELAY_DEFAULT_S

    async def _late_commits(self) -> None:
        """The connection breaks in the middle of a commit, which may become durable later or never."""
        self._world.disk.late_rate = 0.3
        await self._sleep_between(0.2, 3.0)
        self._world.disk.late_rate = 0.0

    async def _wait_for_commit(self, manager: SimulatedManager) -> None:
        """Until its next commit is on the way, if there is one soon."""
        manager.store.commit_begun.clear()
        await self._world.clock.wait(manager.store.commit_begun, COMMIT_WAIT_MAX_S)

    def _pick_manager(self) -> SimulatedManager | None:
        """The leader in one half of the cases."""
        managers = self._world.live_managers
        if self._rng.random() < 0.5 and self._world.leader is not None:
            return self._world.leader
        return self._rng.choice(managers) if managers else None

    async def _sleep_between(self, min_s: float, max_s: float) -> None:
        await self._world.clock.sleep(self._rng.uniform(min_s, max_s))


KINDS: dict[str, Callable[[ManagerFaults], Coroutine[Any, Any, None]]] = {
    "leader_paused": ManagerFaults._leader_paused,
    "store_fails_at_deposed_leader": ManagerFaults._store_fails_at_deposed_leader,
    "leader_killed": ManagerFaults._leader_killed,
    "follower_killed": ManagerFaults._follower_killed,
    "event_loop_stalled": ManagerFaults._event_loop_stalled,
    "leader_steps_down": ManagerFaults._leader_steps_down,
    "rolling_restart": ManagerFaults._rolling_restart,
    "cut_from_store": ManagerFaults._cut_from_store,
    "cut_from_election": ManagerFaults._cut_from_election,
    "servers_away": ManagerFaults._servers_away,
    "answers_lost": ManagerFaults._answers_lost,
    "slow_servers": ManagerFaults._slow_servers,
    "late_commits": ManagerFaults._late_commits,
}
