"""Attempts that a runtime runs one by one (containers, plugins' executors): accepts each once, queues it within the
width of its reservation, starts, stops, returns or loses it. The counterpart of `worker.process.assignments`; used by
`worker.worker`.

Started attempts are recorded in `worker.runtimes.attempt_records`. Queued ones are not: the manager orders them
again."""

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
from shunter.worker.process.assignments import ANY_ATTEMPT, CLUSTER_STOPPED
from shunter.worker.process.protocol import Termination
from shunter.worker.range_spans import RangeSpans
from shunter.worker.runtimes.attempt_records import RecordStore
from shunter.worker.runtimes.attempt_runner import AttemptRunner, RunnerContext
from shunter.worker.runtimes.port import Attempt, RuntimeGone
from shunter.worker.runtimes.registry import RuntimeRegistry

log = Log(__name__)

TaskKey = tuple[int, int, int]  # job, group, index

REMOVE_MAX_S = 10.0  # for what has ended to be gone, when the worker leaves
USAGE_MAX_S = 2.0  # to hear from a runtime what a task uses


class Attempts:
    """Implements `worker.runtimes.attempt_runner.AttemptRunnerOwner`."""

    def __init__(
        self,
        outbox: Outbox,
        grants: Grants,
        runtimes: RuntimeRegistry,
        runner_context: RunnerContext,
        spans: RangeSpans | None = None,
    ) -> None:
        self._spans = spans
        self._outbox = outbox
        self._grants = grants
        self._runtimes = runtimes
        self._runner_context = runner_context
        self._records: RecordStore = runner_context.records
        self._active: dict[Attempt, AttemptRunner] = {}  # waiting, starting or running
        self._ended: dict[Attempt, Ended] = {}  # not yet acknowledged
        self._by_task: dict[TaskKey, list[Attempt]] = {}  # both of these
        self._started_counts: Counter[int] = Counter()  # attempts that have begun, by reservation
        self._queues: dict[int, deque[AttemptRunner]] = {}  # by reservation
        self._widths: dict[int, int] = {}
        self._closing = False
        self._without_contact: dict[tuple[int, int], str] = {}  # (job, group) -> why its tasks were told to stop
        self._changed = asyncio.Event()

    async def start(self) -> None:
        """Open the runtimes and find the attempts that an earlier worker process started."""
        await self._runtimes.open()
        by_runtime: dict[str, dict[Attempt, AttemptRunner]] = {name: {} for name, _ in self._runtimes.items()}
        for record in self._records.load():
            if record.ended is not None:
                self._ended[record.attempt] = record.ended
                self._index(record.attempt)
                self._outbox.add_ended(record.ended)
            else:
                runner = AttemptRunner(record.order, record.spec, self, self._runner_context)
                by_runtime.setdefault(record.spec.runtime, {})[record.attempt] = runner
                runner.restore(record)
        for name, runners in by_runtime.items():
            await self._reattach(name, runners)

    async def close(self) -> None:
        """The worker stops; running attempts continue."""
        await asyncio.gather(*(runner.detach() for runner in list(self._active.values())))
        if self._runner_context.lifecycles:
            await asyncio.wait(self._runner_context.lifecycles, timeout=REMOVE_MAX_S)
        await self._runtimes.close()
        for runner in self._active.values():  # only now: until then a runtime may write into its log
            runner.close_log()

    # ---- what the manager says ----

    def accept(self, message: Orders) -> None:
        """Accept orders for other runtimes than processes; skip known ones."""
        if self._closing:
            return
        for order in message.orders:
            self._widths[order.reservation] = order.width
            for index in range(order.first, order.last + 1):
                self._accept(single_task_order(order, index), message.specs[order.spec])
        self._start_all({order.reservation for order in message.orders})

    def stop(self, stop_range: StopRange) -> None:
        """Return attempts that have not started; stop running ones."""
        newest = stop_range.attempt or ANY_ATTEMPT
        for runner in self._overlapping(stop_range.job, stop_range.group, stop_range.first, stop_range.last):
            if runner.attempt.number <= newest:
                self._end(runner, Termination(stop_range.grace_s, stop_range.signal))

    def devices_freed(self) -> None:
        self._start_all(list(self._queues))

    def recall(self, reservation: int) -> None:
        for runner in list(self._queues.get(reservation, ())):
            self._return_queued(runner)

    def stop_all(self) -> float:
        """The cluster stops: stop everything and accept nothing more. Returns the longest grace period."""
        self._closing = True
        for runner in list(self._active.values()):
            self._end(runner, Termination(runner.spec.stop_grace_s))
        return max((runner.spec.stop_grace_s for runner in self._active.values()), default=0.0)

    def stop_without_contact(self, key: tuple[int, int], reason: str) -> None:
        """Stop tasks that must not run without contact with a manager. They count as lost, not as failed."""
        self._without_contact = {key: reason} | {
            each: why for each, why in self._without_contact.items() if any(name[:2] == each for name in self._by_task)
        }
        for runner in list(self._active.values()):
            if (runner.attempt.job, runner.attempt.group) == key:
                self._end(runner, Termination(runner.spec.stop_grace_s))

    async def idle(self, timeout_s: float) -> None:
        """Until nothing is left, or the time has passed."""
        try:
            async with asyncio.timeout(timeout_s):
                while self._active:
                    self._changed.clear()
                    await self._changed.wait()
        except TimeoutError:
            log.warning("attempts.busy", attempts=len(self._active))

    def acknowledged(self, ended: Iterable[Ended]) -> None:
        if not self._ended:
            return
        for each in ended:
            attempt = Attempt(each.job, each.group, each.first, each.attempt)
            if self._ended.pop(attempt, None) is not None:
                self._unindex(attempt)
                self._records.remove(attempt)

    # ---- what there is ----

    @property
    def running(self) -> int:
        return sum(runner.is_running for runner in self._active.values())

    def held(self) -> list[Held]:
        """For the inventory: all that has not ended."""
        return [runner.held() for runner in self._active.values()]

    def segment_of(self, attempt: Attempt) -> int:
        """The log segment of an attempt that has not ended; 0 where it has none yet."""
        runner = self._active.get(attempt)
        return 0 if runner is None else runner.segment

    def segments(self) -> set[int]:
        """Log segments in use."""
        return {runner.segment for runner in self._active.values()}

    async def usage(self) -> list[TaskStats]:
        """The usage of each running task, as far as its runtime answers in time."""
        found = await asyncio.gather(*(runner.usage(USAGE_MAX_S) for runner in list(self._active.values())))
        return [stats for stats in found if stats is not None]

    # ---- worker.single.SingleOwner ----

    def attempt_started(self, started: Started) -> None:
        self._outbox.add_started(started)

    def attempt_ended(self, runner: AttemptRunner, ended: Ended) -> None:
        self._release(runner)
        reason = CLUSTER_STOPPED if self._closing else self._without_contact.get((ended.job, ended.group))
        if reason is not None and ended.how == "stopped":
            self._records.remove(runner.attempt)
            self._report_lost(runner, reason)
        else:
            self._ended[runner.attempt] = ended
            self._index(runner.attempt)
            self._outbox.add_ended(ended)

    def attempt_lost(self, runner: AttemptRunner, reason: str) -> None:
        self._release(runner)
        self._records.remove(runner.attempt)
        self._report_lost(runner, reason)

    def attempt_returned(self, runner: AttemptRunner) -> None:
        self._release(runner)
        self._records.remove(runner.attempt)
        self._report_returned(runner)

    # ---- inside ----

    def _accept(self, order: Order, spec: TaskSpec) -> None:
        attempt = Attempt(order.job, order.group, order.first, order.attempt)
        known = self._by_task.get(_task_key(attempt), [])
        if any(each.number >= attempt.number for each in known):
            return
        for older in [self._active[each] for each in known if each in self._active]:
            self._end(older, Termination(0.0))
        if self._spans is not None:
            self._spans.begin(order, order.first, order.last)
        runner = self._active[attempt] = AttemptRunner(order, spec, self, self._runner_context)
        self._index(attempt)
        self._queues.setdefault(order.reservation, deque()).append(runner)

    def _start_all(self, reservations: Iterable[int]) -> None:
        for reservation in reservations:
            queue = self._queues.get(reservation, deque())
            waiting = []  # for an older attempt to end
            while queue and self._started_counts[reservation] < self._widths.get(reservation, 1):
                runner = queue.popleft()
                if any(
                    each in self._active and each != runner.attempt for each in self._by_task[_task_key(runner.attempt)]
                ):
                    waiting.append(runner)
                    continue
                devices = self._grants.devices.allocate(runner.attempt, runner.spec.devices)
                if devices is None:
                    waiting.append(runner)
                    break
                self._started_counts[reservation] += 1
                runner.begin(devices)
            queue.extendleft(reversed(waiting))
            if not queue:
                self._queues.pop(reservation, None)

    def _end(self, runner: AttemptRunner, termination: Termination) -> None:
        if runner.has_started:
            runner.end(termination)
        else:
            self._return_queued(runner)

    def _return_queued(self, runner: AttemptRunner) -> None:
        queue = self._queues[runner.order.reservation]
        queue.remove(runner)
        if not queue:
            del self._queues[runner.order.reservation]
        del self._active[runner.attempt]
        self._unindex(runner.attempt)
        self._report_returned(runner)
        self._changed.set()

    def _release(self, runner: AttemptRunner) -> None:
        """It uses nothing any longer: others may begin."""
        attempt = runner.attempt
        del self._active[attempt]
        self._unindex(attempt)
        self._started_counts[runner.order.reservation] -= 1
        if not self._started_counts[runner.order.reservation]:
            del self._started_counts[runner.order.reservation]
        self._grants.devices.release(attempt)
        self._grants.ports.release(attempt.job, attempt.group, attempt.number, (attempt.index,))
        self._changed.set()
        self._start_all(list(self._queues))

    async def _reattach(self, name: str, runners: dict[Attempt, AttemptRunner]) -> None:
        launches = {attempt: runner.launch for attempt, runner in runners.items() if runner.launch is not None}
        if not launches and not self._runtimes.is_usable(name):
            return
        try:
            found = await self._runtimes[name].find(launches)
        except (LookupError, RuntimeGone) as error:
            for runner in runners.values():
                self._records.remove(runner.attempt)
                runner.close_log()
                self._report_lost(runner, str(error))
            return
        for attempt, runner in runners.items():
            running = found.get(attempt)
            if running is None:  # it was never started: the manager orders it again
                self._records.remove(attempt)
                runner.close_log()
                continue
            log.info("attempt.found", attempt=attempt, runtime=name)
            record = runner.record
            self._active[attempt] = runner
            self._index(attempt)
            self._started_counts[runner.order.reservation] += 1
            self._widths[runner.order.reservation] = runner.order.width
            self._grants.devices.adopt(attempt, record.devices)
            self._grants.ports.adopt((attempt.job, attempt.group, attempt.index, attempt.number), record.ports)
            runner.resume(running)

    def _index(self, attempt: Attempt) -> None:
        self._by_task.setdefault(_task_key(attempt), []).append(attempt)

    def _unindex(self, attempt: Attempt) -> None:
        known = self._by_task[_task_key(attempt)]
        known.remove(attempt)
        if not known:
            del self._by_task[_task_key(attempt)]

    def _overlapping(self, job: int, group: int, first: int, last: int) -> list[AttemptRunner]:
        return [
            runner
            for attempt, runner in self._active.items()
            if (attempt.job, attempt.group) == (job, group) and first <= attempt.index <= last
        ]

    def _report_lost(self, runner: AttemptRunner, reason: str) -> None:
        job, group, index, number = runner.name
        self._outbox.add_lost(Lost(job, group, number, index, index, reason))

    def _report_returned(self, runner: AttemptRunner) -> None:
        job, group, index, number = runner.name
        self._outbox.add_returned(Returned(job, group, number, index, index))


def _task_key(attempt: Attempt) -> TaskKey:
    return attempt.job, attempt.group, attempt.index


def single_task_order(order: Order, index: int) -> Order:
    """The order reduced to one of its tasks."""
    position = index - order.first
    return Order(
        order.job, order.group, index, index, order.attempt, order.spec, order.reservation, order.width,
        order.namespace, order.job_name, order.group_name, order.count,
        order.shown[position : position + 1], order.entries[position : position + 1],
        order.trace,
    )  # fmt: skip
