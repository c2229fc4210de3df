"""The node's worker: takes orders from a manager, has keepers run them, and reports what happened.

Implements `ports.workers.WorkerHandler` for any transport. It holds nothing that must survive it: keepers hold the
tasks and their results, and the next worker process finds them again."""

from __future__ import annotations

import asyncio
import random
import uuid
from collections.abc import Callable, Coroutine
from typing import Any

from shunter.log import Log
from shunter.model.protocol.contact import TaskKey
from shunter.model.protocol.refusals import RefusalCode
from shunter.model.protocol.worker_messages import (
    Ack,
    Goodbye,
    Heartbeat,
    LogData,
    MachineStats,
    ManagerMessage,
    Orders,
    Ping,
    Pong,
    ReadLog,
    ReadStats,
    Recall,
    Refused,
    SetHeartbeat,
    Shutdown,
    StatsData,
    Stop,
    TaskStats,
    Welcome,
)
from shunter.ports.clock import Clock
from shunter.ports.tracing.tracer import Tracer
from shunter.ports.workers import Uplink
from shunter.worker.contact_watch import ContactWatch
from shunter.worker.grants import Devices, Grants, HostPorts
from shunter.worker.health.keeper_health import KeeperHealth
from shunter.worker.health.monitor import Monitor
from shunter.worker.logs import read_log
from shunter.worker.machine import build_hello
from shunter.worker.outbox import Outbox
from shunter.worker.process.assignments import CLUSTER_STOPPED, Assignments
from shunter.worker.process.keeper_client import Keeper
from shunter.worker.process.keeper_pool import KeeperPool
from shunter.worker.process.protocol import KeeperReport
from shunter.worker.range_spans import RangeSpans
from shunter.worker.runtimes.attempt_records import RecordStore
from shunter.worker.runtimes.attempt_runner import RunnerContext
from shunter.worker.runtimes.attempts import Attempts
from shunter.worker.runtimes.port import Attempt
from shunter.worker.runtimes.registry import PROCESS, RuntimeRegistry
from shunter.worker.samples import Samples, keeper_usage
from shunter.worker.settings import WorkerSettings
from shunter.worker.stats import MachineSampler
from shunter.worker.steady_time import convert_report

log = Log(__name__)

KILL_MAX_S = 10.0  # for tasks to be gone after their grace, when the cluster stops


class Worker:
    """`finished` is set when a Shutdown has been carried out."""

    def __init__(self, settings: WorkerSettings, clock: Clock, tracer: Tracer | None = None) -> None:
        self._settings = settings
        self._clock = clock
        self._boot = uuid.uuid4().hex
        spans = None if tracer is None else RangeSpans(tracer, clock.now, settings.name)
        self._outbox = Outbox(spans)
        self._keeper_pool = KeeperPool(settings, clock, self)
        grants = Grants(HostPorts(settings.ports_first, settings.ports_last), Devices(settings.devices))
        self._monitor = Monitor(clock, self._outbox.add_health)
        self._health = KeeperHealth(settings, self._monitor, lambda: self._keeper_pool.isolation)
        self._assignments = Assignments(self._outbox, self._keeper_pool.request_keepers, grants, self._health, spans)
        self._runtimes = RuntimeRegistry(settings, self._on_attributes_changed)
        runner_context = RunnerContext(
            settings, clock, grants, self._monitor, self._runtimes, RecordStore(settings.home)
        )
        self._attempts = Attempts(self._outbox, grants, self._runtimes, runner_context, spans)
        grants.devices.on_freed = lambda: self._call_soon(self._devices_freed)
        self._samples = Samples(clock, self._keeper_pool, self._attempts)
        self._contact_watch = ContactWatch(
            settings.home, clock, self._send, self._held_keys, self._stop_without_contact, self._reconnect
        )
        self._uplink: Uplink | None = None
        self._last_refusal: Refused | None = None
        self._was_refused = False
        self._epoch = 0
        self._heartbeat_s = 0.0
        self._next_heartbeat_s: float | None = None  # before a manager has said how often: never
        self._heartbeat_changed = asyncio.Event()
        self._background: set[asyncio.Task[None]] = set()
        self.finished = asyncio.Event()

    @property
    def name(self) -> str:
        """The name of the worker's node."""
        return self._hello.name

    async def start(self) -> None:
        """Find the keepers of an earlier worker process with their tasks; start the warm ones."""
        self._limits = await self._keeper_pool.start()
        await self._attempts.start()
        self._refresh_hello()
        self._sampler = MachineSampler(self._settings.home)
        self._spawn(self._samples.run())
        self._spawn(self._send_heartbeats())
        self._contact_watch.start()
        self._spawn(self._contact_watch.run())

    async def stop(self, end_keepers: bool) -> None:
        """Leave. With `end_keepers`, tasks are stopped first, as by Shutdown; else keepers and tasks go on."""
        if end_keepers:
            await self._shut_down()
        for task in self._background:
            task.cancel()
        await asyncio.gather(*self._background, return_exceptions=True)
        await self._monitor.close()
        self._health.close()
        await self._attempts.close()
        await self._keeper_pool.close()
        self._uplink = None
        self._outbox.disconnect()

    # ---- ports.workers.WorkerEnd ----

    def connected(self, uplink: Uplink) -> None:
        self._uplink = uplink
        self._was_refused = False
        uplink.send(self._hello)

    def disconnected(self, reason: str) -> None:
        if not self._was_refused:  # otherwise the reason is in the log already
            log.info("manager.disconnected", reason=reason)
        self._uplink = None
        self._outbox.disconnect()
        self._contact_watch.disconnected()

    def received(self, message: ManagerMessage) -> None:
        if not (isinstance(message, Orders | Stop | Recall) and self._contact_watch.defers(message)):
            self._handlers[type(message)](self, message)

    # ---- what the manager says ----

    def _on_welcome(self, message: Welcome) -> None:
        if self._is_stale(message.epoch) or self._uplink is None:
            return
        self._last_refusal = None
        log.info("manager.connected", node=message.node, epoch=message.epoch)
        held = self._assignments.held() + self._attempts.held()
        self._send(Heartbeat(self._sample()))  # tells the manager what our clock says
        self._outbox.connect(self._uplink, held, self._monitor.current_health())
        self._set_heartbeat(message.heartbeat_s, first_in_s=0.0)

    def _on_refused(self, message: Refused) -> None:
        self._was_refused = True
        if message != self._last_refusal:
            write = log.info if message.code == RefusalCode.NOT_LEADER else log.error
            write("manager.refused", code=message.code, reason=message.reason)
        self._last_refusal = message

    def _on_orders(self, message: Orders) -> None:
        if self._is_stale(message.epoch):
            return
        if all(spec.runtime == PROCESS for spec in message.specs.values()):
            self._assignments.accept(message)
            return
        specs = dict(self._runtimes.as_processes(message.specs))
        processes = [order for order in message.orders if specs[order.spec].runtime == PROCESS]
        runtime_orders = [order for order in message.orders if specs[order.spec].runtime != PROCESS]
        self._assignments.accept(Orders(message.epoch, processes, specs))
        self._attempts.accept(Orders(message.epoch, runtime_orders, specs))

    def _on_stop(self, message: Stop) -> None:
        if not self._is_stale(message.epoch):
            for stop_range in message.ranges:
                self._assignments.stop(stop_range)
                self._attempts.stop(stop_range)

    def _on_recall(self, message: Recall) -> None:
        if not self._is_stale(message.epoch):
            for reservation in message.reservations:
                self._assignments.recall(reservation)
                self._attempts.recall(reservation)

    def _on_ack(self, message: Ack) -> None:
        done = self._outbox.acknowledge(message.seq)
        self._assignments.acknowledged(done)
        self._attempts.acknowledged(done.ended)

    def _on_set_heartbeat(self, message: SetHeartbeat) -> None:
        # At random, so that thousands of workers do not answer at the same time.
        self._set_heartbeat(message.heartbeat_s, first_in_s=random.uniform(0.0, message.heartbeat_s))

    def _on_read_log(self, message: ReadLog) -> None:
        if not message.segment:
            attempt = Attempt(message.job, message.group, message.index, message.attempt)
            message.segment = self._attempts.segment_of(attempt)
        if message.segment:
            self._send(read_log(self._settings.home / "logs", message))
        else:  # it writes nothing yet
            self._send(LogData(message.request, b"", False, next=message.offset))

    def _on_read_stats(self, message: ReadStats) -> None:
        tasks = [keeper_usage(keeper) for keeper in self._keeper_pool.keepers if keeper.running is not None]
        if self._attempts.running:
            self._spawn(self._send_stats(message.request, tasks))
        else:
            self._send(StatsData(message.request, self._sample(), tasks))

    def _on_shutdown(self, message: Shutdown) -> None:
        if message.stop_tasks:
            self._spawn(self._shut_down())
        else:
            self._send(Goodbye("the cluster is stopping, tasks keep running"))
            self.finished.set()

    def _on_pong(self, message: Pong) -> None:
        deferred = self._contact_watch.answered(message)
        if self._contact_watch.at_s is not None:
            for keeper in self._keeper_pool.keepers:  # first: they start such tasks only while there is contact
                keeper.note_contact(self._contact_watch.at_s)
        for each in deferred:
            self.received(each)

    _handlers: dict[type, Callable[..., None]] = {
        Welcome: _on_welcome,
        Refused: _on_refused,
        Orders: _on_orders,
        Stop: _on_stop,
        Recall: _on_recall,
        Ack: _on_ack,
        SetHeartbeat: _on_set_heartbeat,
        ReadLog: _on_read_log,
        ReadStats: _on_read_stats,
        Shutdown: _on_shutdown,
        Pong: _on_pong,
    }

    # ---- worker.fleet.FleetOwner ----

    def keeper_ready(self, keeper: Keeper) -> None:
        self._contact_watch.adopt(keeper.ready.result().contact_limits or ())
        if self._contact_watch.at_s is not None:
            keeper.note_contact(self._contact_watch.at_s)
        self._assignments.keeper_ready(keeper, self._clock.now())

    def keeper_reported(self, keeper: Keeper, report: KeeperReport) -> None:
        convert_report(self._clock, report)
        self._assignments.keeper_reported(keeper, report, self._clock.now())

    def keeper_disconnected(self, keeper: Keeper) -> None:
        self._assignments.lanes.remove(keeper)

    def keeper_cleaned_up(self, keeper: Keeper, reason: str) -> None:
        self._assignments.keeper_cleaned_up(keeper, reason)

    def dispatch_all(self) -> None:
        self._assignments.lanes.dispatch_all()

    def idle_keepers(self) -> list[Keeper]:
        return self._assignments.lanes.idle

    def retire(self, keeper: Keeper) -> None:
        self._assignments.lanes.remove(keeper)

    def segments_in_use(self) -> set[int]:
        return self._attempts.segments()

    # ---- inside ----

    def _devices_freed(self) -> None:
        """Keepers and runtimes share devices: try again what waits for some."""
        self._assignments.lanes.dispatch_all()
        self._attempts.devices_freed()

    def _call_soon(self, call: Callable[[], None]) -> None:
        asyncio.get_running_loop().call_soon(call)

    def _held_keys(self) -> set[TaskKey]:
        return {(held.job, held.group) for held in (*self._assignments.held(), *self._attempts.held())}

    def _stop_without_contact(self, key: TaskKey, reason: str) -> None:
        self._assignments.stop_without_contact(key, reason)
        self._attempts.stop_without_contact(key, reason)

    def _on_attributes_changed(self) -> None:
        """The node's attributes changed: reconnect, at the cost of an inventory."""
        self._refresh_hello()
        if self._uplink is not None:
            log.info("node.changed", attributes=self._runtimes.attributes)
            self._reconnect()

    def _reconnect(self) -> None:
        if self._uplink is not None:
            self._uplink.close_after_flush()

    def _refresh_hello(self) -> None:
        self._hello = build_hello(
            self._settings, self._boot, self._limits, self._keeper_pool.isolation.name, self._runtimes.attributes
        )

    async def _send_stats(self, request: int, tasks: list[TaskStats]) -> None:
        tasks += await self._attempts.usage()
        self._send(StatsData(request, self._sample(), tasks))

    async def _shut_down(self) -> None:
        """Stop every task gracefully, report it lost, wait for the manager to have it, end the keepers. A keeper whose
        results the manager could not commit stays, and the next worker process finds it."""
        grace_s = max(self._assignments.stop_all(), self._attempts.stop_all())
        await asyncio.gather(self._keeper_pool.idle(grace_s + KILL_MAX_S), self._attempts.idle(grace_s + KILL_MAX_S))
        if self._uplink is not None:
            try:
                await asyncio.wait_for(self._outbox.wait_empty(), self._settings.shutdown_ack_max_s)
            except TimeoutError:
                log.warning("shutdown.unacknowledged")
        await self._keeper_pool.end(self._outbox.keepers_with_results())
        self._send(Goodbye(CLUSTER_STOPPED))
        self.finished.set()

    def _is_stale(self, epoch: int) -> bool:
        """A leader that was replaced may still speak; it must do no harm."""
        if epoch < self._epoch:
            log.warning("epoch.stale", epoch=epoch, seen=self._epoch)
            return True
        self._epoch = epoch
        return False

    def _send(self, message: Heartbeat | LogData | StatsData | Goodbye | Ping) -> None:
        if self._uplink is not None:
            self._uplink.send(message)

    def _sample(self) -> MachineStats:
        keepers = self._keeper_pool.keepers
        running = sum(keeper.held > 0 for keeper in keepers) + self._attempts.running
        return self._sampler.sample(int(self._clock.now() * 1000), running, len(keepers))

    def _set_heartbeat(self, heartbeat_s: float, first_in_s: float) -> None:
        self._heartbeat_s = heartbeat_s
        self._next_heartbeat_s = first_in_s
        self._heartbeat_changed.set()

    async def _send_heartbeats(self) -> None:
        """Send one heartbeat per interval; the sender of the interval says when the first is due."""
        while True:
            self._heartbeat_changed.clear()
            if await self._clock.wait(self._heartbeat_changed, self._next_heartbeat_s):
                continue
            self._next_heartbeat_s = self._heartbeat_s
            if self._uplink is not None:  # else samples wait for the next manager
                self._send(Heartbeat(self._sample(), self._samples.drain()))

    def _spawn(self, coroutine: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(coroutine)
        self._background.add(task)
        task.add_done_callback(self._background.discard)
