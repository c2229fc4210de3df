"""Injects faults from a seed: crashes, pauses, lost and repeated messages, partitions, slow disks and failing commits.

Created by `simulation.world`. Every fault has an end; when `run` returns, all faults are over."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any

from shunter.simulation.runtime.disk import LATENCY_DEFAULT_S
from shunter.simulation.runtime.network import DELAY_DEFAULT_S

if TYPE_CHECKING:
    from shunter.simulation.runtime.manager import SimulatedManager
    from shunter.simulation.runtime.worker import SimulatedWorker
    from shunter.simulation.world import World


class Faults:
    def __init__(self, world: World) -> None:
        self._world = world
        self._rng = world.rng
        self._nodes_to_join = list(world.scenario.extra)

    async def run(self) -> None:
        """Misfortune at random moments until the scenario's trouble is over."""
        scenario, clock = self._world.scenario, self._world.clock
        deadline_s = clock.now() + scenario.fault_period_s
        if not scenario.fault_rate:
            await clock.sleep(scenario.fault_period_s)
            return
        episodes: list[asyncio.Task[None]] = []
        names = self._rng.sample(sorted(KINDS), self._rng.randint(1, len(KINDS)))
        while clock.now() < deadline_s:
            await clock.sleep(self._rng.expovariate(scenario.fault_rate))
            name = self._rng.choice(names)
            self._world.trace.record(f"fault.{name}")
            episodes.append(asyncio.create_task(KINDS[name](self)))
        await asyncio.gather(*episodes)

    # ---- managers ----

    async def _manager_crash(self) -> None:
        manager = self._newest_manager()
        if manager is not None:
            manager.kill()

    async def _manager_restart(self) -> None:
        manager = self._newest_manager()
        if manager is not None and manager.is_leading:
            self._world.spawn(manager.stop(leave_running=self._rng.random() < 0.5))
            await manager.wait_terminated()  # it may be killed before it has stopped

    async def _manager_pause(self) -> None:
        manager = self._newest_manager()
        if manager is None:
            return
        manager.pause()
        await self._sleep_between(0.1, 8.0)
        manager.resume()

    async def _manager_replaced(self) -> None:
        """A manager is paused, another takes over, and the old one resumes without knowing it."""
        manager = self._newest_manager()
        if manager is None or not manager.is_leading or self._world.scenario.managers:
            return
        manager.pause()
        await self._sleep_between(0.1, 3.0)
        if not manager.is_terminated:
            self._world.start_manager()
        for connection in self._world.network.connections_of(manager):
            await self._sleep_between(0.0, 1.0)
            connection.reset("manager replaced")
        await self._sleep_between(0.0, 5.0)
        manager.resume()

    def _newest_manager(self) -> SimulatedManager | None:
        managers = self._world.managers
        return managers[-1] if managers and not managers[-1].is_terminated else None

    # ---- nodes ----

    async def _worker_crash(self) -> None:
        worker = self._pick_worker()
        if worker is not None:
            worker.crash()

    async def _worker_resized(self) -> None:
        """Restart a worker with another size. The first node never gets too small for any task."""
        workers = [worker for worker in self._world.workers.values() if worker.name != "node-0" and not worker.is_off]
        if workers:
            self._rng.choice(workers).resize(self._rng.choice((500, 1000, 3000, 16_000)))

    async def _keeper_crash(self) -> None:
        worker = self._pick_worker()
        if worker is not None:
            worker.lose_keeper(self._rng.randrange(1000))

    async def _machine_lost(self) -> None:
        worker = self._pick_worker()
        if worker is None:
            return
        worker.switch_off()
        await self._sleep_between(0.1, 15.0)
        worker.switch_on()

    async def _node_pause(self) -> None:
        worker = self._pick_worker()
        if worker is None or not worker.gate.is_running:
            return
        worker.pause()
        await self._sleep_between(0.1, 12.0)
        worker.resume()

    async def _node_joins(self) -> None:
        if self._nodes_to_join:
            self._world.add_node(self._nodes_to_join.pop())

    async def _node_leaves(self) -> None:
        """A node leaves, with or without a Goodbye. Only nodes that joined later leave for good, because all jobs must
        still fit."""
        extra = [worker for name, worker in self._world.workers.items() if name.startswith("extra-")]
        if extra and self._rng.random() < 0.5:
            self._rng.choice(extra).leave()
        elif extra:
            self._rng.choice(extra).switch_off()

    def _pick_worker(self) -> SimulatedWorker | None:
        workers = [worker for worker in self._world.workers.values() if not worker.is_off]
        return self._rng.choice(workers) if workers else None

    # ---- the network ----

    async def _connection_reset(self) -> None:
        connections = self._world.network.connections
        if connections:
            self._rng.choice(connections).reset("reset")

    async def _duplication(self) -> None:
        self._world.network.duplicate_rate = 0.3
        await self._sleep_between(1.0, 10.0)
        self._world.network.duplicate_rate = 0.0

    async def _delay(self) -> None:
        self._world.network.delay_s = self._rng.uniform(0.05, 0.7)
        await self._sleep_between(1.0, 10.0)
        self._world.network.delay_s = DELAY_DEFAULT_S

    async def _partition(self) -> None:
        """Some workers cannot be reached; some of their connections outlive it and some do not."""
        network = self._world.network
        names = [name for name in sorted(self._world.workers) if self._rng.random() < 0.5]
        for name in names:
            network.partition(name)
        await self._sleep_between(0.2, 12.0)
        for connection in list(network.connections):
            if connection.worker.name in names and self._rng.random() < 0.5:
                connection.reset("partition")
        for name in names:
            network.heal(name)

    # ---- the disk ----

    async def _slow_disk(self) -> None:
        self._world.disk.latency_s = self._rng.uniform(0.05, 0.8)
        await self._sleep_between(0.5, 6.0)
        self._world.disk.latency_s = LATENCY_DEFAULT_S

    async def _commit_fails_before(self) -> None:
        self._world.disk.fail_before_rate = self._rng.choice((0.3, 1.0))
        await self._sleep_between(0.05, 2.0)
        self._world.disk.fail_before_rate = 0.0

    async def _commit_fails_after(self) -> None:
        self._world.disk.fail_after_rate = self._rng.choice((0.3, 1.0))
        await self._sleep_between(0.05, 2.0)
        self._world.disk.fail_after_rate = 0.0

    async def _sleep_between(self, min_s: float, max_s: float) -> None:
        await self._world.clock.sleep(self._rng.uniform(min_s, max_s))


KINDS: dict[str, Callable[[Faults], Coroutine[Any, Any, None]]] = {
    "manager_crash": Faults._manager_crash,
    "manager_restart": Faults._manager_restart,
    "manager_pause": Faults._manager_pause,
    "manager_replaced": Faults._manager_replaced,
    "worker_crash": Faults._worker_crash,
    "worker_resized": Faults._worker_resized,
    "keeper_crash": Faults._keeper_crash,
    "machine_lost": Faults._machine_lost,
    "node_pause": Faults._node_pause,
    "node_joins": Faults._node_joins,
    "node_leaves": Faults._node_leaves,
    "connection_reset": Faults._connection_reset,
    "duplication": Faults._duplication,
    "delay": Faults._delay,
    "partition": Faults._partition,
    "slow_disk": Faults._slow_disk,
    "commit_fails_before": Faults._commit_fails_before,
    "commit_fails_after": Faults._commit_fails_after,
}
