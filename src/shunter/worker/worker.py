"""The node's worker: takes orders from a manager, has keepers run them, reports what happened.

Implements `ports.workers.WorkerEnd`, whatever carries the messages. It holds nothing that must survive it: keepers hold
the tasks and their results, and the next life of the worker finds them again.
"""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Callable, Coroutine
from typing import Any

from shunter.log import Log
from shunter.model.messages import (
    Ack,
    Ended,
    Goodbye,
    Heartbeat,
    Held,
    LogData,
    Lost,
    MachineStats,
    ManagerMessage,
    Order,
    Orders,
    ReadLog,
    ReadStats,
    Recall,
    Refused,
    Returned,
    SetHeartbeat,
    Shutdown,
    StatsData,
    Stop,
    StopRange,
    TaskStats,
    Welcome,
)
from shunter.ports.clock import Clock
from shunter.ports.workers import Uplink
from shunter.worker.fleet import Fleet
from shunter.worker.keepers import Keeper
from shunter.worker.lanes import Lanes
from shunter.worker.ledger import Ledger, Span
from shunter.worker.logs import read_log
from shunter.worker.machine import introduce
from shunter.worker.outbox import Outbox
from shunter.worker.protocol import KeeperReport, TakenRange
from shunter.worker.settings import WorkerSettings
from shunter.worker.specs import Specs
from shunter.worker.stats import MachineSampler, tree_usage

log = Log(__name__)

CLUSTER_STOPPED = "cluster stopped"
KILL_MAX_S = 10.0  # for tasks to be gone after their grace, when the cluster stops
STOP_GRACE_UNKNOWN_S = 5.0  # for a task of an earlier life, whose spec only its keeper knows


class Worker:
    def __init__(self, settings: WorkerSettings, clock: Clock) -> None:
        self._settings = settings
        self._clock = clock
        self._boot = uuid.uuid4().hex
        self._ledger = Ledger()
        self._specs = Specs()
        self._outbox = Outbox()
        self._fleet = Fleet(settings, clock, self)
        self._lanes = Lanes(self._ledger, self._specs, self._fleet.want)
        self._superseding: list[Span] = []  # newer attempts that wait for older ones to end
        self._uplink: Uplink | None = None
        self._epoch = 0
        self._heartbeat_s = 0.0
        self._heartbeat_changed = asyncio.Event()
        self._background: set[asyncio.Task[None]] = set()
        self._shutting_down = False
        self.finished = asyncio.Event()  # set when a Shutdown has been carried out

    async def start(self) -> None:
        """Find the keepers of an earlier life and what they have; start the warm ones."""
        limits = await self._fleet.start()
        self._hello = introduce(self._settings, self._boot, limits)
        self._sampler = MachineSampler(self._settings.home)
        self._spawn(self._beat())

    async def stop(self, end_keepers: bool) -> None:
        """Leave. With `end_keepers`, tasks are stopped first, as by Shutdown; else keepers and tasks go on."""
        if end_keepers:
            await self._shut_down()
        for task in self._background:
            task.cancel()
        await asyncio.gather(*self._background, return_exceptions=True)
        await self._fleet.close()
        self._uplink = None
        self._outbox.disconnect()

    # ---- ports.workers.WorkerEnd ----

    def connected(self, uplink: Uplink) -> None:
        self._uplink = uplink
        uplink.send(self._hello)

    def disconnected(self, reason: str) -> None:
        log.info("manager.disconnected", reason=reason)
        self._uplink = None
        self._outbox.disconnect()

    def received(self, message: ManagerMessage) -> None:
        self._reactions[type(message)](self, message)

    # ---- what the manager says ----

    def _on_welcome(self, message: Welcome) -> None:
        if self._is_stale(message.epoch) or self._uplink is None:
            return
        log.info("manager.connected", node=message.node, epoch=message.epoch)
        self._outbox.connect(self._uplink, self._held())
        self._set_heartbeat(message.heartbeat_s)

    def _on_refused(self, message: Refused) -> None:
        log.error("manager.refused", code=message.code, reason=message.reason)

    def _on_orders(self, message: Orders) -> None:
        if self._is_stale(message.epoch) or self._shutting_down:
            return
        touched = {}
        for order in message.orders:
            reservation = self._lanes.reservation(order.reservation)
            reservation.width = order.width
            touched[order.reservation] = reservation
            for first, last in self._ledger.news(order):
                span = Span(order, first, last, self._specs.number(message.specs[order.spec]))
                if self._supersede(order, first, last):
                    self._superseding.append(span)
                else:
                    self._ledger.add(span)
                    reservation.push(span)
        for reservation in touched.values():
            self._lanes.dispatch(reservation)
        if self._specs.are_many:
            spans = [*self._ledger.spans(), *self._superseding]
            self._specs.keep_only({span.spec for span in spans if span.spec is not None})

    def _on_stop(self, message: Stop) -> None:
        if self._is_stale(message.epoch):
            return
        for wanted in message.ranges:
            self._stop(wanted)

    def _on_recall(self, message: Recall) -> None:
        if self._is_stale(message.epoch):
            return
        for id in message.reservations:
            reservation = self._lanes.known(id)
            if reservation is None:
                continue
            for span in list(reservation.queue):
                self._return(self._lanes.withdraw(span, span.first, span.last))
            for keeper in reservation.keepers:
                keeper.take("reservations", [id], self._return_taken(keeper))

    def _on_ack(self, message: Ack) -> None:
        done = self._outbox.acknowledge(message.seq)
        for ended in done.ended:
            self._ledger.remove_ended(ended)
        for keeper, seq in done.keepers.items():
            keeper.acknowledge(seq)

    def _on_set_heartbeat(self, message: SetHeartbeat) -> None:
        self._set_heartbeat(message.heartbeat_s)

    def _on_read_log(self, message: ReadLog) -> None:
        self._send(read_log(self._settings.home / "logs", message))

    def _on_read_stats(self, message: ReadStats) -> None:
        tasks = []
        for keeper in self._fleet.keepers:
            running = keeper.running
            if running is not None:
                name = running.job, running.group, running.index, running.attempt
                tasks.append(TaskStats(*name, *tree_usage(running.pid)))
        self._send(StatsData(message.request, self._sample(), tasks))

    def _on_shutdown(self, message: Shutdown) -> None:
        if message.stop_tasks:
            self._spawn(self._shut_down())
        else:
            self._send(Goodbye("cluster stopped, tasks go on"))
            self.finished.set()

    _reactions: dict[type, Callable[..., None]] = {
        Welcome: _on_welcome, Refused: _on_refused, Orders: _on_orders, Stop: _on_stop, Recall: _on_recall,
        Ack: _on_ack, SetHeartbeat: _on_set_heartbeat, ReadLog: _on_read_log, ReadStats: _on_read_stats,
        Shutdown: _on_shutdown,
    }  # fmt: skip

    # ---- what keepers say: worker.fleet.FleetOwner ----

    def keeper_ready(self, keeper: Keeper) -> None:
        """A new keeper, or one of an earlier life with what it has."""
        for span in keeper.spans:
            self._ledger.add(span)
        if keeper.spans:
            self._lanes.adopt(keeper)
        else:
            self._lanes.release(keeper, self._clock.now())
            self._lanes.dispatch_all()

    def keeper_reported(self, keeper: Keeper, report: KeeperReport) -> None:
        reservation = None if keeper.reservation is None else self._lanes.known(keeper.reservation)
        if self._shutting_down:
            self._turn_stopped_into_lost(keeper, report)
        for ended in report.ended:
            self._ledger.add_ended(ended)
            self._note_ended(keeper, ended)
            if reservation is not None:
                reservation.learn(ended)
        if report.started:
            keeper.running = report.started[-1]
        self._outbox.add_keeper_report(keeper, report)
        self._go_on(keeper)

    def keeper_gone(self, keeper: Keeper, reason: str) -> None:
        """Whatever it had is lost; what it reported before stays reported."""
        self._lanes.remove(keeper)
        for span in keeper.spans:
            self._ledger.remove(span)
            order = span.order
            self._outbox.add_lost(Lost(order.job, order.group, order.attempt, span.first, span.last, reason))
        keeper.spans.clear()
        self._retry_superseding()
        self._lanes.dispatch_all()

    def dispatch_all(self) -> None:
        self._lanes.dispatch_all()

    def idle_keepers(self) -> list[Keeper]:
        return self._lanes.idle

    def retire(self, keeper: Keeper) -> None:
        self._lanes.remove(keeper)

    # ---- inside ----

    def _note_ended(self, keeper: Keeper, ended: Ended) -> None:
        job, group, first, count = ended.job, ended.group, ended.first, len(ended.ended_ms)
        running = keeper.running
        if running is not None and (running.job, running.group) == (job, group):
            keeper.running = None if first <= running.index < first + count else running
        for span in keeper.spans:
            if span.first == first and span.key == (job, group):
                if keeper.shorten(span, count):
                    self._ledger.remove(span)
                return

    def _go_on(self, keeper: Keeper) -> None:
        """After news of a keeper: refill it, or let it go."""
        reservation = None if keeper.reservation is None else self._lanes.known(keeper.reservation)
        if self._superseding:
            self._retry_superseding()
        if reservation is None:
            return
        if not keeper.held:
            self._lanes.release(keeper, self._clock.now())
        self._lanes.dispatch(reservation)
        if not keeper.held:
            self._lanes.dispatch_all()

    def _turn_stopped_into_lost(self, keeper: Keeper, report: KeeperReport) -> None:
        """A task that the cluster's stopping ended has no result of its own."""
        for ended in [ended for ended in report.ended if ended.how == "stopped"]:
            report.ended.remove(ended)
            self._note_ended(keeper, ended)
            name = ended.job, ended.group, ended.attempt
            self._outbox.add_lost(Lost(*name, ended.first, ended.first, CLUSTER_STOPPED))

    def _supersede(self, order: Order, first: int, last: int) -> bool:
        """End what this worker still holds of older attempts; says whether any of it is in a keeper."""
        in_keeper = False
        for span in self._ledger.overlapping(order.job, order.group, first, last):
            if span.keeper is None:
                self._lanes.withdraw(span, first, last)
            else:
                in_keeper = True
                self._end_in_keeper(span.keeper, StopRange(order.job, order.group, first, last, 0.0))
        return in_keeper

    def _retry_superseding(self) -> None:
        waiting, self._superseding = self._superseding, []
        for span in waiting:
            if self._ledger.overlapping(*span.key, span.first, span.last):
                self._superseding.append(span)
            else:
                reservation = self._lanes.reservation(span.order.reservation)
                self._ledger.add(span)
                reservation.push(span)
                self._lanes.dispatch(reservation)

    def _stop(self, wanted: StopRange) -> None:
        keepers = set()
        for span in self._ledger.overlapping(wanted.job, wanted.group, wanted.first, wanted.last):
            if span.keeper is None:
                self._return(self._lanes.withdraw(span, wanted.first, wanted.last))
            else:
                keepers.add(span.keeper)
        for keeper in keepers:
            self._end_in_keeper(keeper, wanted)
        for span in list(self._superseding):
            if span.key == (wanted.job, wanted.group) and span.first <= wanted.last and span.last >= wanted.first:
                self._superseding.remove(span)
                self._return(span)

    def _end_in_keeper(self, keeper: Keeper, wanted: StopRange) -> None:
        """Take back what has not started, then stop the one that runs; the keeper obeys in this order."""
        place = wanted.job, wanted.group, wanted.first, wanted.last
        keeper.take("range", place, self._return_taken(keeper))
        keeper.stop(*place, wanted.grace_s)

    def _return_taken(self, keeper: Keeper) -> Callable[[list[TakenRange]], None]:
        def taken(ranges: list[TakenRange]) -> None:
            for span in self._lanes.take_back(keeper, ranges):
                self._return(span)
            self._go_on(keeper)
            self._fleet.news()

        return taken

    def _return(self, span: Span) -> None:
        order = span.order
        self._outbox.add_returned(Returned(order.job, order.group, order.attempt, span.first, span.last))

    async def _shut_down(self) -> None:
        """Stop every task gracefully, report it lost, wait for the manager to have it, end the keepers."""
        self._shutting_down = True
        longest_s = 0.0
        for span in list(self._ledger.spans()):
            order = span.order
            grace_s = STOP_GRACE_UNKNOWN_S if span.spec is None else self._specs[span.spec].stop_grace_s
            longest_s = max(longest_s, grace_s)
            self._stop(StopRange(order.job, order.group, span.first, span.last, grace_s))
        await self._fleet.idle(longest_s + KILL_MAX_S)
        if self._uplink is not None:
            try:
                await asyncio.wait_for(self._outbox.emptied(), self._settings.shutdown_ack_max_s)
            except TimeoutError:
                log.warning("shutdown.unacknowledged")
        await self._fleet.end()
        self._send(Goodbye(CLUSTER_STOPPED))
        self.finished.set()

    def _held(self) -> list[Held]:
        held = []
        for span in self._ledger.spans():
            order, first = span.order, span.first
            running = None if span.keeper is None else span.keeper.running
            if running is not None and span.key == (running.job, running.group) and running.index == first:
                place = running.started_ms, running.segment, running.record
                held.append(Held(order.job, order.group, order.attempt, first, first, True, *place))
                first += 1
            if first <= span.last:
                held.append(Held(order.job, order.group, order.attempt, first, span.last, False))
        held += [Held(*span.key, span.order.attempt, span.first, span.last, False) for span in self._superseding]
        return held

    def _is_stale(self, epoch: int) -> bool:
        if epoch < self._epoch:
            log.warning("epoch.stale", epoch=epoch, seen=self._epoch)
            return True
        self._epoch = epoch
        return False

    def _send(self, message: Heartbeat | LogData | StatsData | Goodbye) -> None:
        if self._uplink is not None:
            self._uplink.send(message)

    def _sample(self) -> MachineStats:
        running = sum(keeper.held > 0 for keeper in self._fleet.keepers)
        return self._sampler.sample(int(self._clock.now() * 1000), running, len(self._fleet.keepers))

    def _set_heartbeat(self, heartbeat_s: float) -> None:
        self._heartbeat_s = heartbeat_s
        self._heartbeat_changed.set()

    async def _beat(self) -> None:
        while True:
            self._heartbeat_changed.clear()
            changed = await self._clock.wait(self._heartbeat_changed, self._heartbeat_s or None)
            if self._heartbeat_s and (changed or self._uplink is not None):
                self._send(Heartbeat(self._sample()))

    def _spawn(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._background.add(task)
        task.add_done_callback(self._background.discard)
