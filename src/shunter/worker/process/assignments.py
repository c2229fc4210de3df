"""The orders that this worker has accepted: accepts each once, gives them to lanes, and stops, returns or loses them.
Used by `worker.worker`; nothing here waits or reads the machine."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from shunter.log import Log
from shunter.model.protocol.worker_messages import (
    LOST_RUNNING,
    LOST_WAITING,
    Ended,
    Held,
    Lost,
    Order,
    Orders,
    Returned,
    StopRange,
)
from shunter.worker.grants import Grants
from shunter.worker.health.keeper_health import KeeperHealth
from shunter.worker.keeper.contact import NO_CONTACT
from shunter.worker.outbox import Outbox, Unacknowledged
from shunter.worker.process.keeper_client import Keeper
from shunter.worker.process.lanes import Lanes
from shunter.worker.process.memory_peaks import raise_memory_peak
from shunter.worker.process.protocol import KeeperReport, ReclaimedRange, Termination
from shunter.worker.process.range_ledger import TaskRange, TaskRangeLedger
from shunter.worker.process.specs import Specs
from shunter.worker.range_spans import RangeSpans

log = Log(__name__)

CLUSTER_STOPPED = "cluster stopped"
ANY_ATTEMPT = 2**31
STOP_GRACE_UNKNOWN_S = 5.0  # for a task of an earlier worker process, whose spec only its keeper knows


class Assignments:
    """`request_keepers` requests this many more keepers."""

    def __init__(
        self,
        outbox: Outbox,
        request_keepers: Callable[[int], None],
        grants: Grants,
        health: KeeperHealth,
        spans: RangeSpans | None = None,
    ) -> None:
        self._spans = spans
        self._outbox = outbox
        self._health = health
        self._ledger = TaskRangeLedger()
        self._specs = Specs()
        self._superseding: list[TaskRange] = []  # newer attempts that wait for older ones to end
        self._closing = False
        self._without_contact: dict[tuple[int, int], str] = {}  # (job, group) -> why its tasks were told to stop
        self._grants = grants
        self.lanes = Lanes(self._ledger, self._specs, request_keepers, grants)

    # ---- what the manager says ----

    def accept(self, message: Orders) -> None:
        """Act on new orders; skip those that this worker already has or has ended."""
        if self._closing:
            return
        touched = {}
        for order in message.orders:
            reservation = self.lanes.reservation(order.reservation)
            reservation.width = order.width
            touched[order.reservation] = reservation
            for first, last in self._ledger.new_parts(order):
                if self._spans is not None:
                    self._spans.begin(order, first, last)
                task_range = TaskRange(order, first, last, self._specs.number(message.specs[order.spec]))
                if self._supersede(order, first, last):
                    self._superseding.append(task_range)
                else:
                    self._ledger.add(task_range)
                    reservation.push(task_range)
        for reservation in touched.values():
            self.lanes.dispatch(reservation)
        if self._specs.needs_pruning:
            task_ranges = [*self._ledger.task_ranges(), *self._superseding]
            self._specs.prune({task_range.spec for task_range in task_ranges if task_range.spec is not None})

    def stop(self, stop_range: StopRange) -> None:
        """Return tasks that have not started; stop running ones."""
        newest = stop_range.attempt or ANY_ATTEMPT
        self._end(stop_range, newest)
        for task_range in list(self._superseding):
            overlaps = (
                task_range.key == (stop_range.job, stop_range.group)
                and task_range.first <= stop_range.last
                and task_range.last >= stop_range.first
            )
            if overlaps and task_range.order.attempt <= newest:
                self._superseding.remove(task_range)
                self._return(task_range)

    def recall(self, id: int) -> None:
        """Return the tasks of a reservation that have not started: our own queue at once, the keepers' when they
        confirm."""
        reservation = self.lanes.find_reservation(id)
        if reservation is None:
            return
        for task_range in list(reservation.queue):
            self._return(self.lanes.withdraw(task_range, task_range.first, task_range.last))
        for keeper in reservation.keepers:
            keeper.reclaim("reservations", [id], self._return_reclaimed(keeper))

    def stop_all(self) -> float:
        """The cluster stops: stop everything and accept nothing more. Returns the longest grace period."""
        self._closing = True
        longest_s = 0.0
        for task_range in list(self._ledger.task_ranges()):
            grace_s = STOP_GRACE_UNKNOWN_S if task_range.spec is None else self._specs[task_range.spec].stop_grace_s
            longest_s = max(longest_s, grace_s)
            self.stop(StopRange(*task_range.key, task_range.first, task_range.last, grace_s))
        return longest_s

    def stop_without_contact(self, key: tuple[int, int], reason: str) -> None:
        """Stop tasks that must not run without contact with a manager. They count as lost, not as failed."""
        held = list(self._ledger.task_ranges())
        self._without_contact = {key: reason} | {
            each: why
            for each, why in self._without_contact.items()
            if any(task_range.key == each for task_range in held)
        }
        for task_range in [each for each in held if each.key == key]:
            grace_s = STOP_GRACE_UNKNOWN_S if task_range.spec is None else self._specs[task_range.spec].stop_grace_s
            self.stop(StopRange(*key, task_range.first, task_range.last, grace_s, task_range.order.attempt))

    def acknowledged(self, done: Unacknowledged) -> None:
        for ended in done.ended:
            self._ledger.remove_ended(ended)
        for keeper, seq in done.keepers.items():
            keeper.acknowledge(seq)

    def held(self) -> list[Held]:
        """For the inventory: all that has not ended."""
        held = []
        for task_range in self._ledger.task_ranges():
            name = (*task_range.key, task_range.order.attempt)
            first = task_range.first
            running = None if task_range.keeper is None else task_range.keeper.running
            if running is not None and task_range.key == (running.job, running.group) and running.index == first:
                place = running.started_ms, running.segment, running.record
                held.append(Held(*name, first, first, True, *place, running.ports))
                first += 1
            if first <= task_range.last:
                held.append(Held(*name, first, task_range.last, False))
        held += [
            Held(*task_range.key, task_range.order.attempt, task_range.first, task_range.last, False)
            for task_range in self._superseding
        ]
        return held

    # ---- what keepers say ----

    def keeper_ready(self, keeper: Keeper, now: float) -> None:
        """A new keeper, or one of an earlier worker process with its tasks."""
        for task_range in keeper.task_ranges:
            self._ledger.add(task_range)
            if self._spans is not None:
                self._spans.begin(task_range.order, task_range.first, task_range.last)
        if keeper.task_ranges:
            self.lanes.adopt(keeper)
            self._adopt_running(keeper)
        else:
            self.lanes.release(keeper, now)
            self.lanes.dispatch_all()

    def keeper_reported(self, keeper: Keeper, report: KeeperReport, now: float) -> None:
        reservation = None if keeper.reservation is None else self.lanes.find_reservation(keeper.reservation)
        if self._closing or self._without_contact or any(ended.detail for ended in report.ended):
            self._turn_stopped_into_lost(keeper, report)
        for ended in report.ended:
            self._ledger.add_ended(ended)
            self._note_ended(keeper, ended)
            if reservation is not None:
                reservation.adapt_window(ended)
        if report.started:
            keeper.running, keeper.memory_peak_bytes = report.started[-1], 0
            self._watch_health(keeper)
        self._outbox.add_keeper_report(keeper, report)
        self._refill_or_release(keeper, now)

    def keeper_cleaned_up(self, keeper: Keeper, reason: str) -> None:
        """Its tasks are lost; its earlier reports stay valid."""
        if keeper.task_ranges:
            self._report_lost(keeper, reason)
        for task_range in keeper.task_ranges:
            self._ledger.remove(task_range)
            self._health.forget_range(*task_range.key, task_range.order.attempt, task_range.first, len(task_range))
            self._grants.ports.release(
                *task_range.key, task_range.order.attempt, range(task_range.first, task_range.last + 1)
            )
        keeper.task_ranges.clear()
        self._grants.devices.release(keeper)
        self._retry_superseding()
        self.lanes.dispatch_all()

    # ---- inside ----

    def _report_lost(self, keeper: Keeper, reason: str) -> None:
        """Which task a dead keeper ran is clear if that task was reported to run, or if it had no other. Otherwise the
        first is lost as by any other fault; its reservation then gives keepers one task at a time, which makes it clear
        if it happens again. A keeper that was told to end, or to stop its tasks because the cluster stops or this
        worker lost contact, did not die of a task."""
        is_clear = keeper.running is not None or keeper.held == 1
        for position, task_range in enumerate(keeper.task_ranges):
            stopped = self._stopped_because(task_range.key)
            running, waiting = LOST_RUNNING if is_clear else "", LOST_WAITING
            if keeper.is_ending or stopped is not None:
                running = waiting = ""
            name = *task_range.key, task_range.order.attempt
            first = task_range.first
            if position == 0:
                self._outbox.add_lost(Lost(*name, first, first, stopped or reason, running))
                first += 1
            if first <= task_range.last:
                self._outbox.add_lost(Lost(*name, first, task_range.last, stopped or reason, waiting))
        reservation = self.lanes.find_reservation(keeper.task_ranges[0].order.reservation)
        if reservation is not None:
            reservation.window = 1

    def _note_ended(self, keeper: Keeper, ended: Ended) -> None:
        key, first, count = (ended.job, ended.group), ended.first, len(ended.ended_ms)
        self._grants.ports.release(*key, ended.attempt, range(first, first + count))
        self._health.forget_range(*key, ended.attempt, first, count)
        running = keeper.running
        if running is not None and (running.job, running.group) == key and first <= running.index < first + count:
            raise_memory_peak(ended, running.index - first, keeper.memory_peak_bytes)
            keeper.running, keeper.memory_peak_bytes = None, 0
        for task_range in keeper.task_ranges:
            if task_range.first == first and task_range.key == key:
                if keeper.advance_range(task_range, count):
                    self._ledger.remove(task_range)
                return

    def _watch_health(self, keeper: Keeper) -> None:
        """A task has started: run its health checks, if it has any."""
        running = keeper.running
        if running is None:
            return
        for task_range in keeper.task_ranges:
            if (
                task_range.spec is not None
                and task_range.key == (running.job, running.group)
                and task_range.first == running.index
            ):
                self._health.watch(keeper, running, task_range.order, self._specs[task_range.spec])
                return

    def _adopt_running(self, keeper: Keeper) -> None:
        """Keep the ports and devices of an earlier worker's tasks, and resume the health checks of the running one."""
        self._grants.devices.adopt(keeper, keeper.devices)
        state = keeper.ready.result()
        for task in state.ports:
            self._grants.ports.adopt((task.job, task.group, task.index, task.attempt), task.ports)
        running = keeper.running
        if running is not None:
            name = running.job, running.group, running.index, running.attempt
            self._grants.ports.adopt(name, running.ports)
        if running is not None and state.running is not None and state.running.spec is not None:
            self._health.watch(keeper, running, state.running.order, state.running.spec)

    def _refill_or_release(self, keeper: Keeper, now: float) -> None:
        """After a message of a keeper: refill or release it."""
        if self._superseding:
            self._retry_superseding()
        reservation = None if keeper.reservation is None else self.lanes.find_reservation(keeper.reservation)
        if reservation is None:
            return
        if not keeper.held:
            self.lanes.release(keeper, now)
        self.lanes.dispatch(reservation, keeper)
        if not keeper.held:
            self.lanes.dispatch_all()

    def _turn_stopped_into_lost(self, keeper: Keeper, report: KeeperReport) -> None:
        """A task that ended because the cluster stops, or because this worker lost contact, has no result of its
        own."""
        for ended in [ended for ended in report.ended if ended.how == "stopped"]:
            reason = self._stopped_because((ended.job, ended.group))
            if ended.detail == CLUSTER_STOPPED or ended.detail.startswith(NO_CONTACT):
                reason = ended.detail  # an earlier worker process stopped it, or its keeper
            if reason is not None:
                report.ended.remove(ended)
                self._note_ended(keeper, ended)
                name = ended.job, ended.group, ended.attempt
                self._outbox.add_lost(Lost(*name, ended.first, ended.first, reason))

    def _stopped_because(self, key: tuple[int, int]) -> str | None:
        """Why this worker told tasks to stop that no user wanted to stop; None if it did not."""
        return CLUSTER_STOPPED if self._closing else self._without_contact.get(key)

    def _supersede(self, order: Order, first: int, last: int) -> bool:
        """Stop older attempts that this worker still has; returns whether any of them is in a keeper."""
        self._end(StopRange(order.job, order.group, first, last, 0.0), order.attempt - 1)
        return bool(self._ledger.overlapping(order.job, order.group, first, last))

    def _retry_superseding(self) -> None:
        waiting, self._superseding = self._superseding, []
        for task_range in waiting:
            if self._ledger.overlapping(*task_range.key, task_range.first, task_range.last):
                self._superseding.append(task_range)
            else:
                reservation = self.lanes.reservation(task_range.order.reservation)
                self._ledger.add(task_range)
                reservation.push(task_range)
                self.lanes.dispatch(reservation)

    def _end(self, stop_range: StopRange, attempt_max: int) -> None:
        """Return tasks that have not started; if a keeper has them, take them back, then stop the running one."""
        place = stop_range.job, stop_range.group, stop_range.first, stop_range.last
        held = [
            task_range for task_range in self._ledger.overlapping(*place) if task_range.order.attempt <= attempt_max
        ]
        for task_range in held:
            if task_range.keeper is None:
                self._return(self.lanes.withdraw(task_range, stop_range.first, stop_range.last))
        newest = max((task_range.order.attempt for task_range in held), default=0)
        for keeper in {task_range.keeper for task_range in held if task_range.keeper is not None}:
            # Tasks on the way from this keeper to another lane are elsewhere when the keeper answers.
            retry = partial(self._end, stop_range, newest) if keeper.is_rebalancing else None
            keeper.reclaim("range", (*place, attempt_max), self._return_reclaimed(keeper, retry))
            detail = CLUSTER_STOPPED if self._closing else ""  # for the next worker, if no manager gets to know it
            keeper.stop(place, attempt_max, Termination(stop_range.grace_s, stop_range.signal, detail=detail))
        for task_range in held:
            self._health.forget_range(*task_range.key, task_range.order.attempt, task_range.first, 1)

    def _return_reclaimed(
        self, keeper: Keeper, callback: Callable[[], None] | None = None
    ) -> Callable[[list[ReclaimedRange]], None]:
        def reclaimed(ranges: list[ReclaimedRange]) -> None:
            for task_range in self.lanes.remove_reclaimed(keeper, ranges):
                self._return(task_range)
            self._refill_or_release(keeper, keeper.idle_since)
            if callback is not None:
                callback()

        return reclaimed

    def _return(self, task_range: TaskRange) -> None:
        self._outbox.add_returned(
            Returned(*task_range.key, task_range.order.attempt, task_range.first, task_range.last)
        )
