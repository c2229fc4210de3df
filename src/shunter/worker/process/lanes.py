"""Which keeper runs what: one queue per reservation, at most `width` keepers at work in it. Used by
`worker.process.orders`.

A keeper is given a window of tasks that it may have at once: 1 at first, doubled with each report, up to about 50 ms of
work by the durations seen, so that keepers neither run dry nor hoard. What still gets stuck behind a long task is taken
back as soon as another lane of the reservation has nothing to do.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Callable, Mapping

from shunter.log import Log
from shunter.model.job.spec import TaskSpec
from shunter.model.protocol.worker_messages import Ended
from shunter.worker.grants import Grants, NoPortFree
from shunter.worker.process.keeper_client import Keeper
from shunter.worker.process.protocol import TakenRange, TaskPorts
from shunter.worker.process.range_ledger import Ledger, Span

log = Log(__name__)

WINDOW_WORK_S = 0.05
WINDOW_MAX = 512
REFILL_BELOW = 0.75  # of the window
RESERVATIONS_REMEMBERED_MAX = 1000


class Reservation:
    """Spans that wait in the worker, and the keepers at work."""

    __slots__ = ("id", "keepers", "queue", "queued", "task_s", "width", "window")

    def __init__(self, id: int) -> None:
        self.id = id
        self.width = 1
        self.queue: deque[Span] = deque()
        self.queued = 0  # tasks in the queue
        self.keepers: list[Keeper] = []
        self.window = 1
        self.task_s = 0.0  # a running mean; 0 before the first result

    def push(self, span: Span) -> None:
        self.queue.append(span)
        self.queued += len(span)

    def push_front(self, span: Span) -> None:
        self.queue.appendleft(span)
        self.queued += len(span)

    def drop(self, span: Span) -> None:
        self.queue.remove(span)
        self.queued -= len(span)

    def pop(self, count: int, ledger: Ledger) -> list[Span]:
        """Spans of `count` tasks in all from the front."""
        taken = []
        while count > 0 and self.queue:
            span = self.queue[0]
            if len(span) <= count:
                self.queue.popleft()
            else:
                span = span.split(count)
                ledger.add(span)
            taken.append(span)
            count -= len(span)
            self.queued -= len(span)
        return taken

    def learn(self, ended: Ended) -> None:
        """Widen or narrow the window by how long these tasks took."""
        took_s = max(ended.ended_ms[-1] - ended.started_ms[0], 0.5) / 1000 / len(ended.ended_ms)
        self.task_s = took_s if not self.task_s else 0.75 * self.task_s + 0.25 * took_s
        target = min(WINDOW_MAX, max(1, int(WINDOW_WORK_S / self.task_s)))
        self.window = min(self.window * 2, target)


class Lanes:
    """All reservations of this worker, and the keepers that none of them uses."""

    def __init__(
        self, ledger: Ledger, specs: Mapping[int, TaskSpec], want: Callable[[int], None], grants: Grants
    ) -> None:
        self._ledger = ledger
        self._grants = grants
        self._specs = specs
        self._want = want  # asks for so many more keepers
        self._reservations: OrderedDict[int, Reservation] = OrderedDict()
        self._hungry: dict[int, Reservation] = {}  # waiting for a keeper
        self.idle: list[Keeper] = []

    def reservation(self, id: int) -> Reservation:
        found = self._reservations.get(id)
        if found is None:
            self._forget_old()
            found = self._reservations[id] = Reservation(id)
        return found

    def known(self, id: int) -> Reservation | None:
        return self._reservations.get(id)

    def dispatch(self, reservation: Reservation, keeper_with_room: Keeper | None = None) -> None:
        """Give queued tasks to keepers: first to idle ones, then to those at work; ask for those that are missing.

        With `keeper_with_room`, only that one of those at work is looked at: nothing has changed for the others.
        """
        fair = self._fair_share(reservation) if reservation.queued else 0
        while reservation.queued and len(reservation.keepers) < reservation.width:
            keeper = self._pick_idle(reservation)
            if keeper is None:
                self._hungry[reservation.id] = reservation
                self._want(min(reservation.queued, reservation.width - len(reservation.keepers)))
                break
            if not self._equip(keeper, reservation):
                self._hungry[reservation.id] = reservation
                self.idle.append(keeper)
                break
            keeper.reservation = keeper.last_reservation = reservation.id
            reservation.keepers.append(keeper)
            self._give(reservation, keeper, fair)
        if reservation.queued:
            at_work = reservation.keepers[: reservation.width]  # the width may have shrunk
            for keeper in at_work if keeper_with_room is None else (keeper_with_room,):
                if keeper.held <= reservation.window * REFILL_BELOW and keeper in at_work:
                    self._give(reservation, keeper, fair)
        if not reservation.queued and len(reservation.keepers) < reservation.width:
            self._rebalance(reservation)

    def dispatch_all(self) -> None:
        """There are keepers again, or there may be."""
        hungry, self._hungry = self._hungry, {}
        for reservation in hungry.values():
            self.dispatch(reservation)

    def release(self, keeper: Keeper, now: float) -> None:
        """The keeper has nothing left: it may serve any reservation."""
        self._leave(keeper)
        self._grants.devices.free(keeper)
        keeper.idle_since = now
        self.idle.append(keeper)

    def remove(self, keeper: Keeper) -> None:
        """The keeper is gone."""
        self._leave(keeper)
        if keeper in self.idle:
            self.idle.remove(keeper)

    def adopt(self, keeper: Keeper) -> None:
        """A keeper of an earlier life, with spans in hand."""
        reservation = self.reservation(keeper.spans[0].order.reservation)
        reservation.width = max(reservation.width, keeper.spans[0].order.width)
        reservation.keepers.append(keeper)
        keeper.reservation = keeper.last_reservation = reservation.id

    def take_back(self, keeper: Keeper, ranges: list[TakenRange]) -> list[Span]:
        """The keeper gave these back: they leave it and the ledger, as spans of nobody."""
        taken = []
        for given in ranges:
            for span in self._ledger.overlapping(given.job, given.group, given.first, given.last):
                if span.keeper is not keeper or span.order.attempt != given.attempt:
                    continue
                first, last = max(span.first, given.first), min(span.last, given.last)
                self._ledger.remove(span)
                for rest in keeper.give_up(span, first, last):
                    self._ledger.add(rest)
                taken.append(Span(span.order, first, last, span.spec))
                self._grants.ports.free(given.job, given.group, given.attempt, range(first, last + 1))
        return taken

    def withdraw(self, span: Span, first: int, last: int) -> Span:
        """Take first..last of a span out of the worker's own queue and the ledger."""
        reservation = self.reservation(span.order.reservation)
        place = reservation.queue.index(span)
        reservation.drop(span)
        self._ledger.remove(span)
        for low, high in ((max(last + 1, span.first), span.last), (span.first, min(first - 1, span.last))):
            if low <= high:
                rest = Span(span.order, low, high, span.spec)
                self._ledger.add(rest)
                reservation.queue.insert(place, rest)
                reservation.queued += len(rest)
        return Span(span.order, max(first, span.first), min(last, span.last), span.spec)

    def _fair_share(self, reservation: Reservation) -> int:
        """How many tasks one lane may have at once, so that all lanes have work."""
        if reservation.queued >= reservation.width * reservation.window:
            return reservation.window
        total = reservation.queued + sum(keeper.held for keeper in reservation.keepers)
        return min(reservation.window, -(-total // reservation.width))

    def _give(self, reservation: Reservation, keeper: Keeper, fair: int) -> None:
        room = fair - keeper.held
        if keeper.running is not None:
            room = min(room, 1 - keeper.unstarted)  # its task may run on: one may wait behind it, not many
        if room > 0 and reservation.queued:
            spans = reservation.pop(room, self._ledger)
            keeper.run(spans, self._specs, [ports for span in spans for ports in self._ports_of(span)])

    def _equip(self, keeper: Keeper, reservation: Reservation) -> bool:
        """Give the keeper the devices that the reservation's tasks use; not where too few are free yet."""
        spec = reservation.queue[0].spec
        assert spec is not None
        wanted = self._specs[spec].devices
        devices = self._grants.devices.take(keeper, wanted) if wanted else {}
        if devices is None:
            return False
        keeper.use_devices(devices)
        return True

    def _ports_of(self, span: Span) -> list[TaskPorts]:
        assert span.spec is not None
        wanted = self._specs[span.spec].ports
        if not wanted:
            return []
        names = [(*span.key, index, span.order.attempt) for index in range(span.first, span.last + 1)]
        found = []
        for name in names:
            try:
                found.append(TaskPorts(*name, self._grants.ports.take(name, wanted)))
            except NoPortFree as error:  # the keeper ends it with the reason
                log.warning("ports.none", job=name[0], index=name[2], error=error)
        return found

    def _pick_idle(self, reservation: Reservation) -> Keeper | None:
        """Rather one that served this reservation last: its limits need not be rewritten."""
        if not self.idle:
            return None
        for place in range(len(self.idle) - 1, -1, -1):
            if self.idle[place].last_reservation == reservation.id:
                return self.idle.pop(place)
        return self.idle.pop()

    def _rebalance(self, reservation: Reservation) -> None:
        """A lane is free and the queue is empty: take half of what waits behind another lane's task."""
        donor = max(reservation.keepers, key=lambda keeper: keeper.unstarted, default=None)
        if donor is None or donor.is_sharing or any(span.spec is None for span in donor.spans):
            return
        worth_it = donor.unstarted >= 2 or (donor.unstarted == 1 and donor.running is not None)
        if worth_it:
            donor.share((donor.unstarted + 1) // 2, lambda ranges: self._redistribute(donor, ranges))

    def _redistribute(self, donor: Keeper, ranges: list[TakenRange]) -> None:
        touched = []
        for span in reversed(self.take_back(donor, ranges)):
            reservation = self.reservation(span.order.reservation)
            self._ledger.add(span)
            reservation.push_front(span)
            touched.append(reservation)
        for reservation in touched:
            self.dispatch(reservation)

    def _leave(self, keeper: Keeper) -> None:
        if keeper.reservation is not None:
            reservation = self._reservations.get(keeper.reservation)
            if reservation is not None and keeper in reservation.keepers:
                reservation.keepers.remove(keeper)
            keeper.reservation = None

    def _forget_old(self) -> None:
        """Many at a time, so that a walk over all of them is seldom."""
        if len(self._reservations) < RESERVATIONS_REMEMBERED_MAX:
            return
        idle = [id for id, each in self._reservations.items() if not each.queue and not each.keepers]
        for id in idle[: RESERVATIONS_REMEMBERED_MAX // 2]:
            del self._reservations[id]
