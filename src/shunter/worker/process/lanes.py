"""Assigns work to keepers: one queue per reservation, with at most `width` busy keepers. Used by
`worker.process.assignments`.

A keeper gets a window of tasks that it may hold at once: 1 at first, doubled with each report, up to about 50 ms of
work by the observed durations, so that keepers neither run dry nor hoard. Tasks stuck behind a long one are taken back
as soon as another lane of the reservation is idle."""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Callable, Mapping

from shunter.log import Log
from shunter.model.job.spec import TaskSpec
from shunter.model.protocol.worker_messages import Ended
from shunter.worker.grants import Grants, NoFreePort
from shunter.worker.process.keeper_client import Keeper
from shunter.worker.process.protocol import ReclaimedRange, TaskPorts
from shunter.worker.process.range_ledger import TaskRange, TaskRangeLedger

log = Log(__name__)

WINDOW_WORK_S = 0.05
WINDOW_MAX = 512
REFILL_BELOW = 0.75  # of the window
RESERVATIONS_CACHED_MAX = 1000


class Reservation:
    """Task ranges that wait in the worker, and the keepers at work."""

    __slots__ = ("id", "keepers", "queue", "queued", "task_s", "width", "window")

    def __init__(self, id: int) -> None:
        self.id = id
        self.width = 1
        self.queue: deque[TaskRange] = deque()
        self.queued = 0  # tasks in the queue
        self.keepers: list[Keeper] = []
        self.window = 1
        self.task_s = 0.0  # a running mean; 0 before the first result

    def push(self, task_range: TaskRange) -> None:
        self.queue.append(task_range)
        self.queued += len(task_range)

    def push_front(self, task_range: TaskRange) -> None:
        self.queue.appendleft(task_range)
        self.queued += len(task_range)

    def drop(self, task_range: TaskRange) -> None:
        self.queue.remove(task_range)
        self.queued -= len(task_range)

    def pop(self, count: int, ledger: TaskRangeLedger) -> list[TaskRange]:
        """Task ranges of `count` tasks in all from the front."""
        taken = []
        while count > 0 and self.queue:
            task_range = self.queue[0]
            if len(task_range) <= count:
                self.queue.popleft()
            else:
                task_range = task_range.split(count)
                ledger.add(task_range)
            taken.append(task_range)
            count -= len(task_range)
            self.queued -= len(task_range)
        return taken

    def adapt_window(self, ended: Ended) -> None:
        """Widen or narrow the window by how long these tasks took."""
        took_s = max(ended.ended_ms[-1] - ended.started_ms[0], 0.5) / 1000 / len(ended.ended_ms)
        self.task_s = took_s if not self.task_s else 0.75 * self.task_s + 0.25 * took_s
        target = min(WINDOW_MAX, max(1, int(WINDOW_WORK_S / self.task_s)))
        self.window = min(self.window * 2, target)


class Lanes:
    """All reservations of this worker, and the keepers that none of them uses."""

    def __init__(
        self,
        ledger: TaskRangeLedger,
        specs: Mapping[int, TaskSpec],
        request_keepers: Callable[[int], None],
        grants: Grants,
    ) -> None:
        self._ledger = ledger
        self._grants = grants
        self._specs = specs
        self._request_keepers = request_keepers  # requests this many more keepers
        self._reservations: OrderedDict[int, Reservation] = OrderedDict()
        self._underfilled: dict[int, Reservation] = {}  # waiting for a keeper
        self.idle: list[Keeper] = []

    def reservation(self, id: int) -> Reservation:
        found = self._reservations.get(id)
        if found is None:
            self._evict_idle()
            found = self._reservations[id] = Reservation(id)
        return found

    def find_reservation(self, id: int) -> Reservation | None:
        return self._reservations.get(id)

    def dispatch(self, reservation: Reservation, keeper_with_headroom: Keeper | None = None) -> None:
        """Give queued tasks to keepers: first to idle ones, then to busy ones; request missing keepers.

        With `keeper_with_headroom`, only that busy keeper is considered: nothing has changed for the others."""
        fair = self._fair_share(reservation) if reservation.queued else 0
        while reservation.queued and len(reservation.keepers) < reservation.width:
            keeper = self._pick_idle(reservation)
            if keeper is None:
                self._underfilled[reservation.id] = reservation
                self._request_keepers(min(reservation.queued, reservation.width - len(reservation.keepers)))
                break
            if not self._allocate_devices(keeper, reservation):
                self._underfilled[reservation.id] = reservation
                self.idle.append(keeper)
                break
            keeper.reservation = keeper.last_reservation = reservation.id
            reservation.keepers.append(keeper)
            self._assign(reservation, keeper, fair)
        if reservation.queued:
            at_work = reservation.keepers[: reservation.width]  # the width may have shrunk
            for keeper in at_work if keeper_with_headroom is None else (keeper_with_headroom,):
                if keeper.held <= reservation.window * REFILL_BELOW and keeper in at_work:
                    self._assign(reservation, keeper, fair)
        if not reservation.queued and len(reservation.keepers) < reservation.width:
            self._rebalance(reservation)

    def dispatch_all(self) -> None:
        """Keepers are, or may be, available again."""
        underfilled, self._underfilled = self._underfilled, {}
        for reservation in underfilled.values():
            self.dispatch(reservation)

    def release(self, keeper: Keeper, now: float) -> None:
        """The keeper has nothing left: it may serve any reservation."""
        self._detach(keeper)
        self._grants.devices.release(keeper)
        if keeper.is_retired:
            keeper.end()
            return
        keeper.idle_since = now
        self.idle.append(keeper)

    def remove(self, keeper: Keeper) -> None:
        """The keeper is gone."""
        self._detach(keeper)
        if keeper in self.idle:
            self.idle.remove(keeper)

    def adopt(self, keeper: Keeper) -> None:
        """Adopt a keeper of an earlier worker process, with its task ranges."""
        reservation = self.reservation(keeper.task_ranges[0].order.reservation)
        reservation.width = max(reservation.width, keeper.task_ranges[0].order.width)
        reservation.keepers.append(keeper)
        keeper.reservation = keeper.last_reservation = reservation.id

    def remove_reclaimed(self, keeper: Keeper, ranges: list[ReclaimedRange]) -> list[TaskRange]:
        """The keeper returned these: remove them from it and from the ledger."""
        taken = []
        for reclaimed in ranges:
            for task_range in self._ledger.overlapping(reclaimed.job, reclaimed.group, reclaimed.first, reclaimed.last):
                if task_range.keeper is not keeper or task_range.order.attempt != reclaimed.attempt:
                    continue
                first, last = max(task_range.first, reclaimed.first), min(task_range.last, reclaimed.last)
                self._ledger.remove(task_range)
                for rest in keeper.release_range(task_range, first, last):
                    self._ledger.add(rest)
                taken.append(TaskRange(task_range.order, first, last, task_range.spec))
                self._grants.ports.release(reclaimed.job, reclaimed.group, reclaimed.attempt, range(first, last + 1))
        return taken

    def withdraw(self, task_range: TaskRange, first: int, last: int) -> TaskRange:
        """Take first..last of a task range out of the worker's own queue and the ledger."""
        reservation = self.reservation(task_range.order.reservation)
        position = reservation.queue.index(task_range)
        reservation.drop(task_range)
        self._ledger.remove(task_range)
        for low, high in (
            (max(last + 1, task_range.first), task_range.last),
            (task_range.first, min(first - 1, task_range.last)),
        ):
            if low <= high:
                rest = TaskRange(task_range.order, low, high, task_range.spec)
                self._ledger.add(rest)
                reservation.queue.insert(position, rest)
                reservation.queued += len(rest)
        return TaskRange(task_range.order, max(first, task_range.first), min(last, task_range.last), task_range.spec)

    def _fair_share(self, reservation: Reservation) -> int:
        """How many tasks one lane may hold at once, so that all lanes have work."""
        if reservation.queued >= reservation.width * reservation.window:
            return reservation.window
        total = reservation.queued + sum(keeper.held for keeper in reservation.keepers)
        return min(reservation.window, -(-total // reservation.width))

    def _assign(self, reservation: Reservation, keeper: Keeper, fair: int) -> None:
        headroom = fair - keeper.held if not keeper.is_retired else 0
        if keeper.running is not None:
            headroom = min(headroom, 1 - keeper.unstarted)  # its task may run long: at most one waits behind it
        if headroom > 0 and reservation.queued:
            task_ranges = reservation.pop(headroom, self._ledger)
            keeper.run(
                task_ranges, self._specs, [ports for task_range in task_ranges for ports in self._ports_of(task_range)]
            )

    def _allocate_devices(self, keeper: Keeper, reservation: Reservation) -> bool:
        """Give the keeper the devices that the reservation's tasks use; not where too few are free yet."""
        spec = reservation.queue[0].spec
        assert spec is not None
        requested = self._specs[spec].devices
        devices = self._grants.devices.allocate(keeper, requested) if requested else {}
        if devices is None:
            return False
        keeper.use_devices(devices)
        return True

    def _ports_of(self, task_range: TaskRange) -> list[TaskPorts]:
        assert task_range.spec is not None
        requested = self._specs[task_range.spec].ports
        if not requested:
            return []
        names = [
            (*task_range.key, index, task_range.order.attempt) for index in range(task_range.first, task_range.last + 1)
        ]
        found = []
        for name in names:
            try:
                found.append(TaskPorts(*name, self._grants.ports.allocate(name, requested)))
            except NoFreePort as error:  # the keeper ends it with the reason
                log.warning("ports.exhausted", job=name[0], index=name[2], error=error)
        return found

    def _pick_idle(self, reservation: Reservation) -> Keeper | None:
        """Prefer the keeper that served this reservation last: its limits need not be rewritten."""
        if not self.idle:
            return None
        for position in range(len(self.idle) - 1, -1, -1):
            if self.idle[position].last_reservation == reservation.id:
                return self.idle.pop(position)
        return self.idle.pop()

    def _rebalance(self, reservation: Reservation) -> None:
        """A lane is free and the queue is empty: take half of what waits behind another lane's task."""
        donor = max(reservation.keepers, key=lambda keeper: keeper.unstarted, default=None)
        if donor is None or donor.is_rebalancing or any(task_range.spec is None for task_range in donor.task_ranges):
            return
        worth_it = donor.unstarted >= 2 or (donor.unstarted == 1 and donor.running is not None)
        if worth_it:
            donor.reclaim_tail((donor.unstarted + 1) // 2, lambda ranges: self._redistribute(donor, ranges))

    def _redistribute(self, donor: Keeper, ranges: list[ReclaimedRange]) -> None:
        touched = []
        for task_range in reversed(self.remove_reclaimed(donor, ranges)):
            reservation = self.reservation(task_range.order.reservation)
            self._ledger.add(task_range)
            reservation.push_front(task_range)
            touched.append(reservation)
        for reservation in touched:
            self.dispatch(reservation)

    def _detach(self, keeper: Keeper) -> None:
        if keeper.reservation is not None:
            reservation = self._reservations.get(keeper.reservation)
            if reservation is not None and keeper in reservation.keepers:
                reservation.keepers.remove(keeper)
            keeper.reservation = None

    def _evict_idle(self) -> None:
        """Many at a time, so that a walk over all of them is seldom."""
        if len(self._reservations) < RESERVATIONS_CACHED_MAX:
            return
        idle = [id for id, each in self._reservations.items() if not each.queue and not each.keepers]
        for id in idle[: RESERVATIONS_CACHED_MAX // 2]:
            del self._reservations[id]
