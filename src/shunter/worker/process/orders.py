"""What this worker has been ordered to run: accepted once, given to lanes, stopped, returned, lost. Used by
`worker.worker`; nothing here waits or reads the machine."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from shunter.log import Log
from shunter.model.protocol.worker_messages import Ended, Held, Lost, Order, Orders, Returned, StopRange
from shunter.worker.grants import Grants
from shunter.worker.health.keeper_health import KeeperHealth
from shunter.worker.outbox import Outbox, Unacknowledged
from shunter.worker.process.keeper_client import Keeper
from shunter.worker.process.lanes import Lanes
from shunter.worker.process.protocol import Ending, KeeperReport, TakenRange
from shunter.worker.process.range_ledger import Ledger, Span
from shunter.worker.process.specs import Specs

log = Log(__name__)

CLUSTER_STOPPED = "cluster stopped"
ANY_ATTEMPT = 2**31
STOP_GRACE_UNKNOWN_S = 5.0  # for a task of an earlier life, whose spec only its keeper knows


class Assignments:
    """`want` asks for so many keepers more."""

    def __init__(self, outbox: Outbox, want: Callable[[int], None], grants: Grants, health: KeeperHealth) -> None:
        self._outbox = outbox
        self._health = health
        self._ledger = Ledger()
        self._specs = Specs()
        self._superseding: list[Span] = []  # newer attempts that wait for older ones to end
        self._closing = False
        self._grants = grants
        self.lanes = Lanes(self._ledger, self._specs, want, grants)

    # ---- what the manager says ----

    def accept(self, message: Orders) -> None:
        """Act on what is new in these orders; what this worker has already, or has ended, is left alone."""
        if self._closing:
            return
        touched = {}
        for order in message.orders:
            reservation = self.lanes.reservation(order.reservation)
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
            self.lanes.dispatch(reservation)
        if self._specs.are_many:
            spans = [*self._ledger.spans(), *self._superseding]
            self._specs.keep_only({span.spec for span in spans if span.spec is not None})

    def stop(self, wanted: StopRange) -> None:
        """Return what has not started; end what runs."""
        newest = wanted.attempt or ANY_ATTEMPT
        self._end(wanted, newest)
        for span in list(self._superseding):
            meets = span.key == (wanted.job, wanted.group) and span.first <= wanted.last and span.last >= wanted.first
            if meets and span.order.attempt <= newest:
                self._superseding.remove(span)
                self._return(span)

    def recall(self, id: int) -> None:
        """Return what has not started in a reservation: our own queue at once, the keepers' when they confirm."""
        reservation = self.lanes.known(id)
        if reservation is None:
            return
        for span in list(reservation.queue):
            self._return(self.lanes.withdraw(span, span.first, span.last))
        for keeper in reservation.keepers:
            keeper.take("reservations", [id], self._return_taken(keeper))

    def stop_all(self) -> float:
        """The cluster stops: end everything, take no more. Returns the longest grace."""
        self._closing = True
        longest_s = 0.0
        for span in list(self._ledger.spans()):
            grace_s = STOP_GRACE_UNKNOWN_S if span.spec is None else self._specs[span.spec].stop_grace_s
            longest_s = max(longest_s, grace_s)
            self.stop(StopRange(*span.key, span.first, span.last, grace_s))
        return longest_s

    def acknowledged(self, done: Unacknowledged) -> None:
        for ended in done.ended:
            self._ledger.remove_ended(ended)
        for keeper, seq in done.keepers.items():
            keeper.acknowledge(seq)

    def held(self) -> list[Held]:
        """For the inventory: all that has not ended."""
        held = []
        for span in self._ledger.spans():
            name = (*span.key, span.order.attempt)
            first = span.first
            running = None if span.keeper is None else span.keeper.running
            if running is not None and span.key == (running.job, running.group) and running.index == first:
                place = running.started_ms, running.segment, running.record
                held.append(Held(*name, first, first, True, *place, running.ports))
                first += 1
            if first <= span.last:
                held.append(Held(*name, first, span.last, False))
        held += [Held(*span.key, span.order.attempt, span.first, span.last, False) for span in self._superseding]
        return held

    # ---- what keepers say ----

    def keeper_ready(self, keeper: Keeper, now: float) -> None:
        """A new keeper, or one of an earlier life with what it has."""
        for span in keeper.spans:
            self._ledger.add(span)
        if keeper.spans:
            self.lanes.adopt(keeper)
            self._adopt_running(keeper)
        else:
            self.lanes.release(keeper, now)
            self.lanes.dispatch_all()

    def keeper_reported(self, keeper: Keeper, report: KeeperReport, now: float) -> None:
        reservation = None if keeper.reservation is None else self.lanes.known(keeper.reservation)
        if self._closing:
            self._turn_stopped_into_lost(keeper, report)
        for ended in report.ended:
            self._ledger.add_ended(ended)
            self._note_ended(keeper, ended)
            if reservation is not None:
                reservation.learn(ended)
        if report.started:
            keeper.running = report.started[-1]
            self._watch(keeper)
        self._outbox.add_keeper_report(keeper, report)
        self._go_on(keeper, now)

    def keeper_buried(self, keeper: Keeper, reason: str) -> None:
        """Whatever it had is lost; what it reported before stays reported."""
        for span in keeper.spans:
            self._ledger.remove(span)
            self._outbox.add_lost(Lost(*span.key, span.order.attempt, span.first, span.last, reason))
            self._health.forget_run(*span.key, span.order.attempt, span.first, len(span))
            self._grants.ports.free(*span.key, span.order.attempt, range(span.first, span.last + 1))
        keeper.spans.clear()
        self._grants.devices.free(keeper)
        self._retry_superseding()
        self.lanes.dispatch_all()

    # ---- inside ----

    def _note_ended(self, keeper: Keeper, ended: Ended) -> None:
        key, first, count = (ended.job, ended.group), ended.first, len(ended.ended_ms)
        self._grants.ports.free(*key, ended.attempt, range(first, first + count))
        self._health.forget_run(*key, ended.attempt, first, count)
        running = keeper.running
        if running is not None and (running.job, running.group) == key and first <= running.index < first + count:
            keeper.running = None
        for span in keeper.spans:
            if span.first == first and span.key == key:
                if keeper.shorten(span, count):
                    self._ledger.remove(span)
                return

    def _watch(self, keeper: Keeper) -> None:
        """A task has started: see that it stays well, if it asks for that."""
        running = keeper.running
        if running is None:
            return
        for span in keeper.spans:
            if span.spec is not None and span.key == (running.job, running.group) and span.first == running.index:
                self._health.watch(keeper, running, span.order, self._specs[span.spec])
                return

    def _adopt_running(self, keeper: Keeper) -> None:
        """What the tasks of an earlier life's keeper have for their own is not given to others, and the one that runs
        is looked after again."""
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

    def _go_on(self, keeper: Keeper, now: float) -> None:
        """After news of a keeper: refill it, or let it go."""
        if self._superseding:
            self._retry_superseding()
        reservation = None if keeper.reservation is None else self.lanes.known(keeper.reservation)
        if reservation is None:
            return
        if not keeper.held:
            self.lanes.release(keeper, now)
        self.lanes.dispatch(reservation, keeper)
        if not keeper.held:
            self.lanes.dispatch_all()

    def _turn_stopped_into_lost(self, keeper: Keeper, report: KeeperReport) -> None:
        """A task that the cluster's stopping ended has no result of its own."""
        for ended in [ended for ended in report.ended if ended.how == "stopped"]:
            report.ended.remove(ended)
            self._note_ended(keeper, ended)
            name = ended.job, ended.group, ended.attempt
            self._outbox.add_lost(Lost(*name, ended.first, ended.first, CLUSTER_STOPPED))

    def _supersede(self, order: Order, first: int, last: int) -> bool:
        """End what this worker still holds of older attempts; says whether any of it is in a keeper."""
        self._end(StopRange(order.job, order.group, first, last, 0.0), order.attempt - 1)
        return bool(self._ledger.overlapping(order.job, order.group, first, last))

    def _retry_superseding(self) -> None:
        waiting, self._superseding = self._superseding, []
        for span in waiting:
            if self._ledger.overlapping(*span.key, span.first, span.last):
                self._superseding.append(span)
            else:
                reservation = self.lanes.reservation(span.order.reservation)
                self._ledger.add(span)
                reservation.push(span)
                self.lanes.dispatch(reservation)

    def _end(self, wanted: StopRange, attempt_max: int) -> None:
        """Return what has not started; where a keeper has it, take that back, then stop the one that runs."""
        place = wanted.job, wanted.group, wanted.first, wanted.last
        held = [span for span in self._ledger.overlapping(*place) if span.order.attempt <= attempt_max]
        for span in held:
            if span.keeper is None:
                self._return(self.lanes.withdraw(span, wanted.first, wanted.last))
        newest = max((span.order.attempt for span in held), default=0)
        for keeper in {span.keeper for span in held if span.keeper is not None}:
            # What is on its way from this keeper to another lane is somewhere else when the keeper answers.
            look_again = partial(self._end, wanted, newest) if keeper.is_sharing else None
            keeper.take("range", (*place, attempt_max), self._return_taken(keeper, look_again))
            keeper.stop(place, attempt_max, Ending(wanted.grace_s, wanted.signal))
        for span in held:
            self._health.forget_run(*span.key, span.order.attempt, span.first, 1)

    def _return_taken(
        self, keeper: Keeper, then: Callable[[], None] | None = None
    ) -> Callable[[list[TakenRange]], None]:
        def taken(ranges: list[TakenRange]) -> None:
            for span in self.lanes.take_back(keeper, ranges):
                self._return(span)
            self._go_on(keeper, keeper.idle_since)
            if then is not None:
                then()

        return taken

    def _return(self, span: Span) -> None:
        self._outbox.add_returned(Returned(*span.key, span.order.attempt, span.first, span.last))
