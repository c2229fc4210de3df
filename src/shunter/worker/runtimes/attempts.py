"""Attempts that a runtime runs one by one (containers, plugins' executors): accepted once, queued within the width of
their reservation, started, stopped, returned, lost. The counterpart of `worker.process.orders`; used by
`worker.worker`.

What has been started is written down in `worker.runtimes.attempt_records`. What only waits is not: the manager orders
it again."""

from __future__ import annotations

import asyncio
from collections import Counter, deque
from collections.abc import Iterable

from shunter.log import Log
from shunter.model.job.spec import TaskSpec
from shunter.model.protocol.worker_messages import (
    Ended,
    Held,
    Lost,
    Order,
    Orders,
    Returned,
    Started,
    StopRange,
    TaskStats,
)
from shunter.worker.grants import Grants
from shunter.worker.outbox import Outbox
from shunter.worker.process.orders import ANY_ATTEMPT, CLUSTER_STOPPED
from shunter.worker.process.protocol import Ending
from shunter.worker.runtimes.attempt import Single, Workshop
from shunter.worker.runtimes.attempt_records import Records
from shunter.worker.runtimes.port import Attempt, RuntimeGone
from shunter.worker.runtimes.registry import Runtimes

log = Log(__name__)

TaskKey = tuple[int, int, int]  # job, group, index

REMOVE_MAX_S = 10.0  # for what has ended to be gone, when the worker leaves
USAGE_MAX_S = 2.0  # to hear from a runtime what a task uses


class Attempts:
    """Implements `worker.runtimes.attempt.SingleOwner`."""

    def __init__(self, outbox: Outbox, grants: Grants, runtimes: Runtimes, workshop: Workshop) -> None:
        self._outbox = outbox
        self._grants = grants
        self._runtimes = runtimes
        self._workshop = workshop
        self._records: Records = workshop.records
        self._live: dict[Attempt, Single] = {}  # waiting, starting or running
        self._ended: dict[Attempt, Ended] = {}  # not yet acknowledged
        self._of_task: dict[TaskKey, list[Attempt]] = {}  # both of these
        self._at_work: Counter[int] = Counter()  # attempts that have begun, by reservation
        self._queues: dict[int, deque[Single]] = {}  # by reservation
        self._widths: dict[int, int] = {}
        self._closing = False
        self._changed = asyncio.Event()

    async def start(self) -> None:
        """Open the runtimes and find what an earlier life had started."""
        await self._runtimes.open()
        by_runtime: dict[str, dict[Attempt, Single]] = {name: {} for name, _ in self._runtimes.items()}
        for record in self._records.load():
            if record.ended is not None:
                self._ended[record.attempt] = record.ended
                self._note(record.attempt)
                self._outbox.add_ended(record.ended)
            else:
                single = Single(record.order, record.spec, self, self._workshop)
                by_runtime.setdefault(record.spec.runtime, {})[record.attempt] = single
                single.remember(record)
        for name, singles in by_runtime.items():
            await self._find(name, singles)

    async def close(self) -> None:
        """The worker leaves; what runs goes on."""
        await asyncio.gather(*(single.leave() for single in list(self._live.values())))
        if self._workshop.lives:
            await asyncio.wait(self._workshop.lives, timeout=REMOVE_MAX_S)
        await self._runtimes.close()
        for single in self._live.values():  # only now: until then a runtime may write into its log
            single.let_go()

    # ---- what the manager says ----

    def accept(self, message: Orders) -> None:
        """Orders for other runtimes than processes; what is known already is left alone."""
        if self._closing:
            return
        for order in message.orders:
            self._widths[order.reservation] = order.width
            for index in range(order.first, order.last + 1):
                self._accept(one_of(order, index), message.specs[order.spec])
        self._start_all({order.reservation for order in message.orders})

    def stop(self, wanted: StopRange) -> None:
        """Return what has not started; end what runs."""
        newest = wanted.attempt or ANY_ATTEMPT
        for single in self._overlapping(wanted.job, wanted.group, wanted.first, wanted.last):
            if single.attempt.number <= newest:
                self._end(single, Ending(wanted.grace_s, wanted.signal))

    def devices_freed(self) -> None:
        self._start_all(list(self._queues))

    def recall(self, reservation: int) -> None:
        for single in list(self._queues.get(reservation, ())):
            self._give_back(single)

    def stop_all(self) -> float:
        """The cluster stops: end everything, take no more. Returns the longest grace."""
        self._closing = True
        for single in list(self._live.values()):
            self._end(single, Ending(single.spec.stop_grace_s))
        return max((single.spec.stop_grace_s for single in self._live.values()), default=0.0)

    async def idle(self, timeout_s: float) -> None:
        """Until nothing is left, or the time has passed."""
        try:
            async with asyncio.timeout(timeout_s):
                while self._live:
                    self._changed.clear()
                    await self._changed.wait()
        except TimeoutError:
            log.warning("attempts.busy", attempts=len(self._live))

    def acknowledged(self, ended: Iterable[Ended]) -> None:
        if not self._ended:
            return
        for each in ended:
            attempt = Attempt(each.job, each.group, each.first, each.attempt)
            if self._ended.pop(attempt, None) is not None:
                self._forget(attempt)
                self._records.remove(attempt)

    # ---- what there is ----

    @property
    def running(self) -> int:
        return sum(single.is_running for single in self._live.values())

    def held(self) -> list[Held]:
        """For the inventory: all that has not ended."""
        return [single.held() for single in self._live.values()]

    def segment_of(self, attempt: Attempt) -> int:
        """The log segment of an attempt that has not ended; 0 where it has none yet."""
        single = self._live.get(attempt)
        return 0 if single is None else single.segment

    def segments(self) -> set[int]:
        """Log segments in use."""
        return {single.segment for single in self._live.values()}

    async def usage(self) -> list[TaskStats]:
        """What each running task uses, as far as its runtime tells in time."""
        found = await asyncio.gather(*(single.usage(USAGE_MAX_S) for single in list(self._live.values())))
        return [stats for stats in found if stats is not None]

    # ---- worker.single.SingleOwner ----

    def single_started(self, started: Started) -> None:
        self._outbox.add_started(started)

    def single_ended(self, single: Single, ended: Ended) -> None:
        self._leave(single)
        if self._closing and ended.how == "stopped":
            self._records.remove(single.attempt)
            self._tell_lost(single, CLUSTER_STOPPED)
        else:
            self._ended[single.attempt] = ended
            self._note(single.attempt)
            self._outbox.add_ended(ended)

    def single_lost(self, single: Single, reason: str) -> None:
        self._leave(single)
        self._records.remove(single.attempt)
        self._tell_lost(single, reason)

    def single_returned(self, single: Single) -> None:
        self._leave(single)
        self._records.remove(single.attempt)
        self._tell_returned(single)

    # ---- inside ----

    def _accept(self, order: Order, spec: TaskSpec) -> None:
        attempt = Attempt(order.job, order.group, order.first, order.attempt)
        known = self._of_task.get(_task(attempt), [])
        if any(each.number >= attempt.number for each in known):
            return
        for older in [self._live[each] for each in known if each in self._live]:
            self._end(older, Ending(0.0))
        single = self._live[attempt] = Single(order, spec, self, self._workshop)
        self._note(attempt)
        self._queues.setdefault(order.reservation, deque()).append(single)

    def _start_all(self, reservations: Iterable[int]) -> None:
        for reservation in reservations:
            queue = self._queues.get(reservation, deque())
            waiting = []  # for an older attempt to end
            while queue and self._at_work[reservation] < self._widths.get(reservation, 1):
                single = queue.popleft()
                if any(each in self._live and each != single.attempt for each in self._of_task[_task(single.attempt)]):
                    waiting.append(single)
                    continue
                devices = self._grants.devices.take(single.attempt, single.spec.devices)
                if devices is None:
                    waiting.append(single)
                    break
                self._at_work[reservation] += 1
                single.begin(devices)
            queue.extendleft(reversed(waiting))
            if not queue:
                self._queues.pop(reservation, None)

    def _end(self, single: Single, ending: Ending) -> None:
        if single.has_begun:
            single.end(ending)
        else:
            self._give_back(single)

    def _give_back(self, single: Single) -> None:
        queue = self._queues[single.order.reservation]
        queue.remove(single)
        if not queue:
            del self._queues[single.order.reservation]
        del self._live[single.attempt]
        self._forget(single.attempt)
        self._tell_returned(single)
        self._changed.set()

    def _leave(self, single: Single) -> None:
        """It uses nothing any longer: others may begin."""
        attempt = single.attempt
        del self._live[attempt]
        self._forget(attempt)
        self._at_work[single.order.reservation] -= 1
        if not self._at_work[single.order.reservation]:
            del self._at_work[single.order.reservation]
        self._grants.devices.free(attempt)
        self._grants.ports.free(attempt.job, attempt.group, attempt.number, (attempt.index,))
        self._changed.set()
        self._start_all(list(self._queues))

    async def _find(self, name: str, singles: dict[Attempt, Single]) -> None:
        launches = {attempt: single.launch for attempt, single in singles.items() if single.launch is not None}
        if not launches and not self._runtimes.is_usable(name):
            return
        try:
            found = await self._runtimes[name].find(launches)
        except (LookupError, RuntimeGone) as error:
            for single in singles.values():
                self._records.remove(single.attempt)
                single.let_go()
                self._tell_lost(single, str(error))
            return
        for attempt, single in singles.items():
            running = found.get(attempt)
            if running is None:  # it was never started: the manager orders it again
                self._records.remove(attempt)
                single.let_go()
                continue
            log.info("attempt.found", attempt=attempt, runtime=name)
            record = single.record
            self._live[attempt] = single
            self._note(attempt)
            self._at_work[single.order.reservation] += 1
            self._widths[single.order.reservation] = single.order.width
            self._grants.devices.adopt(attempt, record.devices)
            self._grants.ports.adopt((attempt.job, attempt.group, attempt.index, attempt.number), record.ports)
            single.go_on(running)

    def _note(self, attempt: Attempt) -> None:
        self._of_task.setdefault(_task(attempt), []).append(attempt)

    def _forget(self, attempt: Attempt) -> None:
        known = self._of_task[_task(attempt)]
        known.remove(attempt)
        if not known:
            del self._of_task[_task(attempt)]

    def _overlapping(self, job: int, group: int, first: int, last: int) -> list[Single]:
        return [
            single
            for attempt, single in self._live.items()
            if (attempt.job, attempt.group) == (job, group) and first <= attempt.index <= last
        ]

    def _tell_lost(self, single: Single, reason: str) -> None:
        job, group, index, number = single.name
        self._outbox.add_lost(Lost(job, group, number, index, index, reason))

    def _tell_returned(self, single: Single) -> None:
        job, group, index, number = single.name
        self._outbox.add_returned(Returned(job, group, number, index, index))


def _task(attempt: Attempt) -> TaskKey:
    return attempt.job, attempt.group, attempt.index


def one_of(order: Order, index: int) -> Order:
    """The order cut to one of its tasks."""
    place = index - order.first
    return Order(
        order.job, order.group, index, index, order.attempt, order.spec, order.reservation, order.width,
        order.namespace, order.job_name, order.group_name, order.count,
        order.shown[place : place + 1], order.entries[place : place + 1],
    )  # fmt: skip
