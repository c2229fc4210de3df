"""Connects a simulated fleet directly to the engine, without a network: the workers of `shunter up --simulate-nodes N`
and of the engine's benchmark. Used by `app` and `benchmarks`."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Coroutine, Iterable
from typing import Any, Protocol

from shunter.log import Log
from shunter.model.errors import Rejected, ShunterError, Unavailable
from shunter.model.protocol.worker_messages import (
    Ack,
    Hello,
    Inventory,
    LogData,
    MachineStats,
    ManagerMessage,
    Orders,
    Recall,
    Refused,
    Report,
    Shutdown,
    StatsData,
    Stop,
    Welcome,
)
from shunter.ports.clock import Clock
from shunter.ports.workers import AttemptKey
from shunter.simulation.fleet.fleet import Fleet
from shunter.simulation.fleet.node import SimulatedNode

log = Log(__name__)
STATS_EVERY_S = 5.0  # of real time; statistics are only looked at by people


class FleetEngine(Protocol):
    """What a fleet needs of the engine."""

    async def hello_many(self, hellos: list[Hello]) -> list[Welcome | Refused]: ...

    async def inventory(self, node: int, inventory: Inventory) -> None: ...

    async def report(self, node: int, report: Report) -> None: ...

    def heartbeat(self, node: int, stats: MachineStats) -> None: ...


class SimulatedWorkers:
    """The workers port. `start` after the engine runs; `stop` ends every task's future."""

    def __init__(self, clock: Clock, rng: random.Random) -> None:
        self.fleet = Fleet(clock, rng, self._flush)
        self._clock = clock
        self._engine: FleetEngine | None = None
        self._by_id: dict[int, SimulatedNode] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self.heartbeat_s = STATS_EVERY_S  # as the clock counts, which may run faster than real time

    async def start(self, engine: FleetEngine, hellos: Iterable[Hello], *, is_driven: bool = False) -> None:
        """All nodes at once; returns when the engine knows them and has been sent their inventories. With `is_driven`,
        the caller advances the fleet, and no heartbeats are sent, so that idle time costs nothing."""
        self._engine = engine
        for hello in hellos:
            self.fleet.add(hello)
        await self._join(engine)
        if not is_driven:
            self._spawn(self.fleet.run())
            self._spawn(self._send_heartbeats(engine))

    async def stop(self) -> None:
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def report_now(self) -> None:
        """Report what has happened, without waiting for the next turn of the loop."""
        if nodes := self.fleet.take_dirty():
            await self._report([node for node in nodes if node.id in self._by_id])

    # ---- the workers port ----

    def send(self, node: int, message: ManagerMessage) -> None:
        simulated = self._by_id.get(node)
        if simulated is None:
            return
        now = self._clock.now()
        if isinstance(message, Orders):
            simulated.order(message, now)
        elif isinstance(message, Ack):
            simulated.acknowledge(message.seq)
        elif isinstance(message, Stop):
            simulated.stop(message.epoch, message.ranges, now)
        elif isinstance(message, Recall):
            simulated.recall(message.epoch, message.reservations)
        elif isinstance(message, Shutdown) and message.stop_tasks:
            simulated.shut_down(now)

    def reject(self, node: int, error: ShunterError) -> None:
        """Simulated nodes are our own code: they have nothing to be refused."""
        raise AssertionError(f"simulated node {node}: {error}")

    def suspend(self, reason: str) -> None:
        """Nodes without a network are never silent."""

    def reset(self, reason: str) -> None:
        log.info("fleet.reset", reason=reason)
        if self._engine is not None:
            self._by_id.clear()  # until the engine has the inventories, nothing is sent and nothing reported
            self._spawn(self._rejoin(self._engine))

    async def read_log(
        self,
        node: int,
        segment: int,
        record: int,
        stream: str,
        offset: int,
        size_max: int,
        unstarted_attempt: AttemptKey | None = None,  # noqa: ARG002
    ) -> LogData:
        simulated = self._find(node)
        line = f"simulated task {record} of job {segment} on {simulated.hello.name}\n" if stream == "stdout" else ""
        is_running = any(
            running_range.job == segment and running_range.first <= record <= running_range.last
            for running_range in simulated.machine.running
        )
        return LogData(0, line.encode()[offset : offset + size_max], eof=not is_running)

    async def read_stats(self, node: int) -> StatsData:
        simulated = self._find(node)
        now = self._clock.now()
        return StatsData(0, simulated.machine_stats(now), simulated.task_stats(now))

    # ---- what goes the other way ----

    async def _join(self, engine: FleetEngine) -> None:
        answers = await engine.hello_many([node.hello for node in self.fleet.nodes])
        for node, answer in zip(self.fleet.nodes, answers, strict=True):
            if isinstance(answer, Refused):
                raise Rejected(f"simulated node {node.hello.name} was refused: {answer.reason}")
            node.id, node.epoch = answer.node, answer.epoch
            self._by_id[node.id] = node
        for node in self.fleet.nodes:
            await engine.inventory(node.id, node.take_inventory())
            engine.heartbeat(node.id, node.machine_stats(self._clock.now()))

    async def _rejoin(self, engine: FleetEngine) -> None:
        while True:
            try:
                return await self._join(engine)
            except Unavailable as error:
                log.warning("fleet.join_failed", error=error)
                await asyncio.sleep(error.retry_after_s)

    def _flush(self, nodes: list[SimulatedNode]) -> None:
        self._spawn(self._report([node for node in nodes if node.id in self._by_id]))

    async def _report(self, nodes: list[SimulatedNode]) -> None:
        assert self._engine is not None
        try:
            for node in nodes:
                await self._engine.report(node.id, node.take_report())
        except Unavailable as error:  # a reset follows, and the inventories will have it all
            log.info("fleet.report_refused", error=error)

    async def _send_heartbeats(self, engine: FleetEngine) -> None:
        sent_at = self._clock.now()
        while True:
            await asyncio.sleep(STATS_EVERY_S)
            now = self._clock.now()
            self.heartbeat_s, sent_at = now - sent_at, now
            for node in list(self._by_id.values()):
                engine.heartbeat(node.id, node.machine_stats(now))

    def _spawn(self, coroutine: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(coroutine)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def _find(self, node: int) -> SimulatedNode:
        simulated = self._by_id.get(node)
        if simulated is None:
            raise Unavailable(f"node {node} is not connected")
        return simulated
