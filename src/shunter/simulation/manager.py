"""One manager's process in a faulty world: the real engine and the real watcher on simulated ports.

Made by `simulation.world`; a manager that was killed is never used again: the next one has a new number.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable

from shunter.engine.engine import Engine
from shunter.engine.settings import EngineSettings
from shunter.model.errors import ShunterError
from shunter.model.lifecycles import NodeState
from shunter.model.messages import LogData, ManagerMessage, StatsData
from shunter.planning.planner import build_policy
from shunter.ports.clock import Clock
from shunter.ports.store import Commit, Store
from shunter.simulation.disk import Disk, FaultyStore
from shunter.simulation.process import Gate, GatedClock
from shunter.simulation.trace import Trace
from shunter.watcher.settings import WatcherSettings
from shunter.watcher.watcher import Watcher

Durable = Callable[["SimulatedManager", Commit], None]
Sent = Callable[["SimulatedManager", int, ManagerMessage], None]
Recovered = Callable[["SimulatedManager"], None]
Over = Callable[["SimulatedManager"], None]

SETTINGS = EngineSettings(inbox_max=200, round_commands_max=20, snapshot_rounds=40, housekeeping_s=20.0)
WATCHER_SETTINGS = WatcherSettings(return_s=6.0)


class SimulatedManager:
    """`over` is called once, when the process is gone, whatever ended it."""

    def __init__(self, number: int, clock: Clock, trace: Trace, chance: random.Random, policy: str, over: Over) -> None:
        self.number = number
        self._over = over
        self.gate = Gate()
        self.is_leading = False
        self.is_over = False
        self._trace = trace
        self._clock = GatedClock(clock, self.gate)
        self._chance = random.Random(chance.getrandbits(32))
        self._policy = policy
        self._life: asyncio.Task[None] | None = None
        self.watcher = Watcher(self._clock, WATCHER_SETTINGS)
        self.engine: Engine

    @property
    def name(self) -> str:
        return f"m{self.number}"

    def start(self, store: Store, disk: Disk, durable: Durable, sent: Sent, recovered: Recovered) -> None:
        """Begin to live; `is_leading` turns true when it answers."""
        faulty = FaultyStore(store, disk, self._clock, self.gate, lambda commit: durable(self, commit))
        self.engine = Engine(
            store=faulty,
            workers=_Overheard(self, sent),
            policy=build_policy(self._policy),
            clock=self._clock,
            random=self._chance,
            settings=SETTINGS,
        )
        self._life = asyncio.create_task(self._live(recovered))

    def kill(self) -> None:
        """As with kill -9: whatever it was doing stays undone."""
        self._trace.note("manager.killed", self.name)
        self.gate.kill()
        self._end()
        if self._life is not None:
            self._life.cancel()

    def pause(self) -> None:
        self.gate.pause()

    def wake(self) -> None:
        self.gate.wake()

    async def _live(self, recovered: Recovered) -> None:
        engine, running = self.engine, None
        try:
            await engine.start()
            recovered(self)
            running = asyncio.create_task(engine.run())
            alive = [node.id for node in engine.state.nodes.records.values() if node.state is not NodeState.DOWN]
            await self.watcher.start(engine, alive)
            self.is_leading = True
            self._trace.note("manager.leads", f"{self.name} epoch {engine.epoch} version {engine.state.version}")
            await running
        except ShunterError as error:
            self._trace.note("manager.ended", f"{self.name} {error}")
        finally:
            self.gate.kill()
            if running is not None:
                running.cancel()
            self._end()

    def _end(self) -> None:
        self.is_leading = False
        if not self.is_over:
            self.is_over = True
            self._over(self)


class _Overheard:
    """The engine's workers port; the checkers hear what is sent."""

    def __init__(self, manager: SimulatedManager, sent: Sent) -> None:
        self._manager = manager
        self._sent = sent

    @property
    def heartbeat_s(self) -> float:
        return self._manager.watcher.heartbeat_s

    def send(self, node: int, message: ManagerMessage) -> None:
        self._sent(self._manager, node, message)
        self._manager.watcher.send(node, message)

    def reset(self, reason: str) -> None:
        self._manager.watcher.reset(reason)

    async def read_log(self, node: int, segment: int, record: int, stream: str, offset: int, size_max: int) -> LogData:
        return await self._manager.watcher.read_log(node, segment, record, stream, offset, size_max)

    async def read_stats(self, node: int) -> StatsData:
        return await self._manager.watcher.read_stats(node)
