"""One manager process in a simulated world: the real engine and the real watcher on simulated ports.

Created by `simulation.world`. A killed manager is never used again: the next one has a new number."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable
from functools import partial
from typing import Protocol

from shunter.engine.changes.formats import FORMATS, Formats
from shunter.engine.engine import Engine
from shunter.engine.leader_elector import Deputies, LeaderElector
from shunter.engine.policy.policy_loop import run_policy_loop
from shunter.engine.settings import EngineSettings
from shunter.model.errors import NewerFormat, ShunterError, Unavailable
from shunter.model.protocol.worker_messages import LogData, ManagerMessage, Shutdown, StatsData
from shunter.planning.view import Policy
from shunter.ports.clock import Clock
from shunter.ports.coordination import ManagerRecord
from shunter.ports.store import Commit, FinishedJob, Purged, Store
from shunter.ports.workers import AttemptKey
from shunter.simulation.runtime.coordination import ElectionServers, OnHeld, SimulatedCoordination
from shunter.simulation.runtime.disk import Disk, FaultyStore
from shunter.simulation.runtime.process import Gate, GatedClock
from shunter.simulation.secret_keys import SimulatedKeys
from shunter.simulation.trace import Trace
from shunter.simulation.workload.policies import run_inline
from shunter.watcher.settings import WatcherSettings
from shunter.watcher.watcher import Watcher

OnEnd = Callable[["SimulatedManager"], None]
FindLive = Callable[[str], "SimulatedManager | None"]

WATCHER_SETTINGS = WatcherSettings(timeout_s=3.0, return_s=6.0)  # short, so that short faults are enough
PURGE_EVERY_S = 7.0
MEMBER_PURGE_EVERY_S = 2.0  # of one of several managers: often enough to cut off followers
STOP_MAX_S = 10.0


class ManagerObserver(Protocol):
    """Receives the actions of a manager."""

    def durable(self, manager: SimulatedManager, commit: Commit, is_late: bool) -> None: ...

    def purged(self, purged: Purged, left: list[FinishedJob]) -> None: ...

    def begun(self, manager: SimulatedManager, term: int, epoch: int) -> None: ...

    def reloads(self, manager: SimulatedManager) -> None: ...

    def sent(self, manager: SimulatedManager, node: int, message: ManagerMessage) -> None: ...

    def recovered(self, manager: SimulatedManager) -> None: ...


class SimulatedManager:
    """`on_end` is called once, when the process is gone, whatever ended it."""

    def __init__(
        self,
        number: int,
        clock: Clock,
        trace: Trace,
        rng: random.Random,
        on_end: OnEnd,
        place: int = 0,
        formats: Formats = FORMATS,
    ) -> None:
        self.number = number
        self.place, self.formats = place, formats
        self._on_end = on_end
        self.gate = Gate()  # of the event loop
        self.thread_gate = Gate()  # of the thread that renews the lease
        self.is_leading = False
        self.is_terminated = False
        self._is_stopping = False
        self._terminated = asyncio.Event()
        self._trace = trace
        self._clock = GatedClock(clock, self.gate)
        self._rng = random.Random(rng.getrandbits(32))
        self._true_clock = clock
        self._main_task: asyncio.Task[None] | None = None
        self._background_tasks: list[asyncio.Task[None]] = []
        self.watcher = Watcher(self._clock, WATCHER_SETTINGS, lambda: self.known_leader[0])
        self.engine: Engine
        self.store: FaultyStore
        self.coordination: SimulatedCoordination | None = None  # None: it is the only manager

    @property
    def name(self) -> str:
        return f"m{self.number}"

    @property
    def has_lease(self) -> bool:
        lease = None if self.coordination is None else self.coordination.lease
        return lease is not None and lease.is_held()

    @property
    def known_leader(self) -> tuple[str, int]:
        """The name and the term of the manager that leads, as this one knows it."""
        return ("", 0) if self.coordination is None else self.coordination.leader_and_term()

    def campaign(self, servers: ElectionServers, on_held: OnHeld, find_live: FindLive) -> None:
        """Be one of several managers. Called before `start`."""
        self._find_live = find_live
        self.coordination = SimulatedCoordination(
            self.name, servers, self._true_clock, self.thread_gate, self._rng, on_held
        )

    def start(
        self,
        policy: Policy,
        settings: EngineSettings,
        store: Store,
        disk: Disk,
        observer: ManagerObserver,
        secret_keys: SimulatedKeys | None = None,
    ) -> None:
        """Begin to live; `is_leading` turns true when it answers."""
        durable = partial(observer.durable, self)
        begun = partial(observer.begun, self)
        self.store = FaultyStore(store, disk, self._clock, self.gate, durable, observer.purged, begun)
        self.engine = Engine(
            store=self.store,
            workers=_ObservedWorkers(self, observer),
            policy=policy,
            clock=self._clock,
            random=self._rng,
            settings=settings,
            formats=self.formats,
            secret_keys=secret_keys,
        )
        self._main_task = asyncio.create_task(self._run(observer))

    def kill(self) -> None:
        """As with kill -9: whatever it was doing stays undone."""
        self._trace.record("manager.killed", self.name)
        self._end()
        if self.coordination is not None:
            self.coordination.kill()
        if self._main_task is not None:
            self._main_task.cancel()

    async def wait_terminated(self) -> None:
        """Wait until the process has ended."""
        await self._terminated.wait()

    def pause(self) -> None:
        """As with SIGSTOP: all threads stand still."""
        self.gate.pause()
        self.thread_gate.pause()

    def stall(self) -> None:
        """Only the event loop stands still; the renewals of the lease go on."""
        self.gate.pause()

    def resume(self) -> None:
        self.gate.resume()
        self.thread_gate.resume()

    async def stop(self, leave_running: bool) -> None:
        """An orderly end: tasks are queued again or left alone, then a snapshot."""
        self._is_stopping = True
        engine, deadline_s = self.engine, self._clock.now() + STOP_MAX_S
        engine.pause_placement()
        if not leave_running and self.is_leading:
            for node in list(engine.state.nodes.records):
                self.watcher.send(node, Shutdown(stop_tasks=True))
            while engine.state.nodes.tasks.any() and self._clock.now() < deadline_s:
                await self._clock.sleep(0.1)
        self.is_leading = False
        await self.watcher.stop("the manager stops")
        try:
            await engine.stop()
            if self.coordination is not None:
                await self.coordination.close()
        except ShunterError as error:
            self._trace.record("manager.stop_failed", f"{self.name} {error}")
        self._trace.record("manager.stopped", self.name)
        self._end()

    async def _run(self, observer: ManagerObserver) -> None:
        try:
            if self.coordination is None:
                await self._run_alone(observer)
            else:
                lead = partial(self._lead, observer)
                await self.coordination.register(ManagerRecord(self.name, format=self.formats.newest))
                deputies = Deputies(self.name, self.coordination, self._clock, self._ask_lag)
                elector = LeaderElector(
                    self.engine, self.coordination, self._clock, self._rng, lead, self._step_down, deputies=deputies
                )
                await elector.run()
            if self._is_stopping:
                await self.wait_terminated()
        except NewerFormat as error:
            self._trace.record("manager.too_old", f"{self.name} {error}")
        except ShunterError as error:
            self._trace.record("manager.ended", f"{self.name} {error}")
        finally:
            self._cancel_background_tasks()
            self._end()

    async def _ask_lag(self, other: ManagerRecord) -> float | None:
        """A paused process does not answer."""
        found = self._find_live(other.name)
        if found is None or not found.gate.is_running:
            raise Unavailable(f"{other.name} did not answer")
        return found.engine.lag_s

    async def _run_alone(self, observer: ManagerObserver) -> None:
        await self.engine.start()
        observer.recovered(self)
        running = asyncio.create_task(self.engine.run())
        self._background_tasks = [running]
        await self._start_leading()
        await running

    async def _lead(self, observer: ManagerObserver) -> None:
        observer.recovered(self)
        await self._start_leading()

    async def _start_leading(self) -> None:
        engine = self.engine
        self._background_tasks.append(asyncio.create_task(self._purge_periodically()))
        if not engine.policy.fast:
            self._background_tasks.append(
                asyncio.create_task(run_policy_loop(engine, engine.policy, self._clock, run_inline))
            )
        await self.watcher.start(engine, list(engine.state.nodes.records), term=engine.term)
        self.is_leading = True
        self._trace.record("manager.leads", f"{self.name} epoch {engine.epoch} version {engine.state.version}")

    async def _step_down(self) -> None:
        self.is_leading = False
        self._trace.record("manager.follows", self.name)
        self._cancel_background_tasks()
        await self.watcher.step_down("the manager does not lead any more")

    def _cancel_background_tasks(self) -> None:
        for task in self._background_tasks:
            task.cancel()
        self._background_tasks = []

    async def _purge_periodically(self) -> None:
        while True:
            await self._clock.sleep(PURGE_EVERY_S if self.coordination is None else MEMBER_PURGE_EVERY_S)
            try:
                await self.engine.purge()
            except ShunterError as error:
                self._trace.record("purge.failed", f"{self.name} {error}")

    def _end(self) -> None:
        self.is_leading = False
        self.gate.kill()
        self.thread_gate.kill()
        if not self.is_terminated:
            self.is_terminated = True
            self._terminated.set()
            self._on_end(self)


class _ObservedWorkers:
    """The engine's workers port; the checkers see what is sent."""

    def __init__(self, manager: SimulatedManager, observer: ManagerObserver) -> None:
        self._manager = manager
        self._observer = observer

    @property
    def heartbeat_s(self) -> float:
        return self._manager.watcher.heartbeat_s

    def send(self, node: int, message: ManagerMessage) -> None:
        self._observer.sent(self._manager, node, message)
        self._manager.watcher.send(node, message)

    def reject(self, node: int, error: ShunterError) -> None:
        self._manager.watcher.reject(node, error)

    def suspend(self, reason: str) -> None:
        self._observer.reloads(self._manager)
        self._manager.watcher.suspend(reason)

    def reset(self, reason: str) -> None:
        self._manager.watcher.reset(reason)

    async def read_log(
        self,
        node: int,
        segment: int,
        record: int,
        stream: str,
        offset: int,
        size_max: int,
        unstarted_attempt: AttemptKey | None = None,
    ) -> LogData:
        return await self._manager.watcher.read_log(node, segment, record, stream, offset, size_max, unstarted_attempt)

    async def read_stats(self, node: int) -> StatsData:
        return await self._manager.watcher.read_stats(node)
