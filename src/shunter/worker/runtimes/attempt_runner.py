"""Runs one attempt in a runtime until it has a result: records it before the start, enforces its time limit, checks its
health, and stops it by signal, grace period and kill. Used by `worker.runtimes.attempts`."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Coroutine
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Protocol

from shunter.log import Log
from shunter.model.job.spec import TaskSpec
from shunter.model.protocol.message_limits import EXIT_CODE_MAX, HOWS, TIME_MAX_MS
from shunter.model.protocol.worker_messages import Ended, Held, Order, Started, TaskStats
from shunter.ports.clock import Clock
from shunter.worker.environment import task_environment
from shunter.worker.grants import Grants, NoFreePort, TaskName
from shunter.worker.health.keeper_health import UNHEALTHY
from shunter.worker.health.monitor import Monitor
from shunter.worker.keeper.task_setup import expand_path_pattern
from shunter.worker.process.protocol import Termination
from shunter.worker.runtimes.attempt_records import Record, RecordStore
from shunter.worker.runtimes.port import EXIT_NOT_STARTED, Attempt, Launch, NotStarted, Outcome, Running, RuntimeGone
from shunter.worker.runtimes.registry import RuntimeRegistry
from shunter.worker.runtimes.sampled_usage import SampledUsage
from shunter.worker.runtimes.task_log import RECORD, TaskLog
from shunter.worker.settings import WorkerSettings
from shunter.worker.steady_time import by_clock_ms

log = Log(__name__)

KILL_EVERY_S = 1.0  # until it is gone
NO_EXIT_CODE = -1


class AttemptRunnerOwner(Protocol):
    """Receives the events of an attempt. Any but the first ends it."""

    def attempt_started(self, started: Started) -> None: ...

    def attempt_ended(self, runner: AttemptRunner, ended: Ended) -> None: ...

    def attempt_lost(self, runner: AttemptRunner, reason: str) -> None: ...

    def attempt_returned(self, runner: AttemptRunner) -> None: ...


@dataclass(frozen=True, slots=True)
class RunnerContext:
    """What every attempt needs from its worker."""

    settings: WorkerSettings
    clock: Clock
    grants: Grants
    monitor: Monitor
    runtimes: RuntimeRegistry
    records: RecordStore
    lifecycles: set[asyncio.Task[None]] = field(default_factory=set)  # of all attempts, until nothing of them is left


class AttemptRunner:
    def __init__(self, order: Order, spec: TaskSpec, owner: AttemptRunnerOwner, runner_context: RunnerContext) -> None:
        self.order = order  # cut to the one task
        self.spec = spec
        self.attempt = Attempt(order.job, order.group, order.first, order.attempt)
        self.record = Record(order, spec)
        self.launch: Launch | None = None
        self._owner = owner
        self._runner_context = runner_context
        self._running: Running | None = None
        self._started_ms = 0  # by the worker's clock
        self._lifecycle: asyncio.Task[None] | None = None
        self._launching: asyncio.Task[Running] | None = None
        self._termination: Termination | None = None
        self._killing: asyncio.Task[None] | None = None
        self._kill_at = 0.0
        self._is_finished = False
        self._timeout: asyncio.TimerHandle | None = None
        self._sampled = SampledUsage()

    @property
    def name(self) -> TaskName:
        return self.attempt.job, self.attempt.group, self.attempt.index, self.attempt.number

    @property
    def has_started(self) -> bool:
        return self._lifecycle is not None

    @property
    def is_running(self) -> bool:
        return self._running is not None

    @property
    def segment(self) -> int:
        return self.record.segment

    def begin(self, devices: dict[str, list[str]]) -> None:
        """It is its turn."""
        self.record.devices = devices
        self._spawn_lifecycle(self._start())

    def restore(self, record: Record) -> None:
        """Restore an attempt of an earlier worker process; its log continues where it stopped."""
        self.record = record
        try:
            task_log = TaskLog.reopen(self._logs, record.segment, self.name, self.spec.log_max_bytes, self._paths())
        except OSError as error:
            log.warning("log.not_resumed", attempt=self.attempt, error=error)
            task_log = TaskLog.create(self._logs, self.name, self.spec.log_max_bytes, self._paths())
            record.segment = task_log.segment
        self.launch = self._make_launch(task_log)

    def resume(self, running: Running) -> None:
        """Resume an attempt that an earlier worker process started."""
        if self.record.how:
            self._termination = Termination(0.0, how=self.record.how, detail=self.record.detail)
        self._set_running(running)
        self._spawn_lifecycle(self._wait_for_end(running))

    def end(self, termination: Termination) -> None:
        """Ask it to end; after the grace it is killed. Asking again can only shorten the grace."""
        if self._running is None:
            self._termination = self._termination or termination
            if self._launching is not None:
                self._launching.cancel()
            return
        self._runner_context.monitor.forget(self.name)
        kill_at = self._runner_context.clock.now() + termination.grace_s
        if self._killing is not None:
            if kill_at >= self._kill_at:
                return
            self._killing.cancel()
            termination = Termination(termination.grace_s, 0, self.record.how, self.record.detail)
            first_signal = 0
        else:
            first_signal = termination.signal or signal.SIGTERM
        self._termination, self._kill_at = termination, kill_at
        self.record.how, self.record.detail = termination.how, termination.detail
        self._write_record()
        self._killing = asyncio.get_running_loop().create_task(
            self._kill(self._running, termination.grace_s, first_signal)
        )

    async def detach(self) -> None:
        """The worker stops, but the task continues. A task that is only starting is stopped: the manager orders it
        again."""
        for each in (self._killing, self._lifecycle, self._launching):
            if each is not None:
                each.cancel()
                await asyncio.gather(each, return_exceptions=True)
        if self._timeout is not None:
            self._timeout.cancel()

    def close_log(self) -> None:
        if self._timeout is not None:
            self._timeout.cancel()
        if self.launch is not None:
            self.launch.log.close()
            self.launch = None

    def held(self) -> Held:
        job, group, index, number = self.name
        if self._running is None:
            return Held(job, group, number, index, index, False)
        place = self._started_ms, self.record.segment, RECORD
        return Held(job, group, number, index, index, True, *place, self.record.ports)

    async def usage(self, timeout_s: float) -> TaskStats | None:
        running = self._running
        if running is None:
            return None
        try:
            async with asyncio.timeout(timeout_s):
                usage = await running.usage()
        except (TimeoutError, RuntimeGone, OSError):
            return None
        if usage is None:
            return None
        self._sampled.add(usage)
        held = usage.cpu_s, usage.memory_bytes, usage.processes
        return TaskStats(*self.name, *held, self._started_ms, usage.read_bytes, usage.written_bytes)

    # ---- its life ----

    def _spawn_lifecycle(self, lifecycle: Coroutine[None, None, None]) -> None:
        self._lifecycle = asyncio.get_running_loop().create_task(lifecycle)
        self._runner_context.lifecycles.add(self._lifecycle)
        self._lifecycle.add_done_callback(self._runner_context.lifecycles.discard)

    async def _start(self) -> None:
        try:
            if self._termination is None:
                self._launching = self._launch()
                running = await asyncio.shield(self._launching)
                if not hasattr(running, "ended"):  # the runtime of a plugin may return anything
                    raise NotStarted(f"runtime {self.spec.runtime}: launch returned {running!r}")
                self._set_running(running)
        except (NotStarted, NoFreePort, LookupError) as error:
            code = error.exit_code if isinstance(error, NotStarted) else EXIT_NOT_STARTED
            self._finish(Outcome(code, self._now_ms(), "error", str(error)), self._now_ms())
        except OSError as error:
            self._finish(Outcome(EXIT_NOT_STARTED, self._now_ms(), "error", str(error)), self._now_ms())
        except RuntimeGone as gone:
            self._mark_lost(str(gone))
        except asyncio.CancelledError:
            if self._launching is None or not self._launching.cancelled():
                raise  # the worker leaves
        except Exception as error:  # any error of a plugin's runtime
            log.exception("attempt.not_started", attempt=self.attempt)
            detail = f"runtime {self.spec.runtime}: {type(error).__name__}: {error}"
            self._finish(Outcome(EXIT_NOT_STARTED, self._now_ms(), "error", detail), self._now_ms())
        if self._running is not None:
            job, group, index, number = self.name
            place = self._started_ms, self.record.segment, RECORD
            self._owner.attempt_started(Started(job, group, number, index, *place, self.record.ports))
            await self._wait_for_end(self._running)
        elif not self._is_finished:
            self._is_finished = True
            self.close_log()
            self._owner.attempt_returned(self)

    def _set_running(self, running: Running) -> None:
        self._running = running
        self._started_ms = by_clock_ms(self._runner_context.clock, running.started_ms)

    def _launch(self) -> asyncio.Task[Running]:
        """Write its record, then start it."""
        runtime = self._runner_context.runtimes[self.spec.runtime]
        if self.spec.ports:
            self.record.ports = self._runner_context.grants.ports.allocate(self.name, self.spec.ports)
        task_log = TaskLog.create(self._logs, self.name, self.spec.log_max_bytes, self._paths())
        self.record.segment = task_log.segment
        self.launch = self._make_launch(task_log)
        self._runner_context.records.write_payload(self.record)
        self._runner_context.records.write_secrets(self.record)
        self._runner_context.records.write(self.record)
        return asyncio.ensure_future(runtime.launch(self.launch))

    async def _wait_for_end(self, running: Running) -> None:
        if self._termination is None:
            self._supervise(running)
        else:  # it was stopped while it started, or by an earlier worker process
            termination, self._termination = self._termination, None
            self.end(termination)
        try:
            outcome = await running.ended()
        except RuntimeGone as gone:
            self._mark_lost(str(gone))
            return
        except (Exception, SystemExit) as error:  # any error of a plugin's runtime
            log.exception("runtime.failed", attempt=self.attempt)
            self._mark_lost(f"runtime {self.spec.runtime}: {type(error).__name__}: {error}")
            return
        ended_ms = by_clock_ms(self._runner_context.clock, outcome.ended_ms)
        self._finish(replace(outcome, ended_ms=ended_ms), self._started_ms)
        await running.remove()

    def _supervise(self, running: Running) -> None:
        limit_s = self.spec.run_timeout_s
        if limit_s:
            left_s = max(0.0, self._started_ms / 1000 + limit_s - self._runner_context.clock.now())
            timeout = Termination(self.spec.stop_grace_s, how="timeout", detail=f"exceeded its timeout of {limit_s:g}s")
            self._timeout = asyncio.get_running_loop().call_later(left_s, self.end, timeout)
        self._runner_context.monitor.watch(self.name, self.spec.health, running, self._started_ms, self._on_unhealthy)

    def _on_unhealthy(self, detail: str) -> None:
        self.end(Termination(self.spec.stop_grace_s, how=UNHEALTHY, detail=detail))

    async def _kill(self, running: Running, grace_s: float, first_signal: int) -> None:
        if first_signal and grace_s > 0:
            await self._signal(running, first_signal)
        await self._runner_context.clock.sleep(grace_s)
        while True:
            await self._signal(running, signal.SIGKILL)
            await self._runner_context.clock.sleep(KILL_EVERY_S)

    async def _signal(self, running: Running, number: int) -> None:
        try:
            await running.signal(number)
        except Exception as error:  # the next one may arrive
            log.warning("attempt.not_signalled", attempt=self.attempt, signal=number, error=repr(error))

    def _finish(self, outcome: Outcome, started_ms: int) -> None:
        job, group, index, number = self.name
        if problem := _outcome_problem(outcome):
            outcome = Outcome(NO_EXIT_CODE, self._now_ms(), "error", f"runtime {self.spec.runtime}: {problem}")
        how, detail = outcome.how, outcome.detail
        if not how and self._termination is not None:
            how, detail = self._termination.how, self._termination.detail
        if self.launch is not None:
            self.launch.log.end()
            detail = detail or self.launch.log.trouble
            self.launch = None
        ended = Ended(
            job, group, number, index, [outcome.exit_code] if outcome.exit_code else [], [started_ms],
            [max(started_ms, outcome.ended_ms)], self.record.segment, RECORD, how, detail,
            self._sampled.of_attempt(outcome.ended_ms - started_ms),
        )  # fmt: skip
        self._is_finished = True
        self.record.ended = ended
        self._runner_context.records.remove_secrets(self.attempt)
        self._write_record()
        self._stop_supervising()
        self._owner.attempt_ended(self, ended)

    def _mark_lost(self, reason: str) -> None:
        self._is_finished = True
        self._stop_supervising()
        if self.launch is not None:
            self.launch.log.end()
            self.launch = None
        self._owner.attempt_lost(self, reason)

    def _stop_supervising(self) -> None:
        self._runner_context.monitor.forget(self.name)
        for each in (self._timeout, self._killing):
            if each is not None:
                each.cancel()

    def _write_record(self) -> None:
        try:
            self._runner_context.records.write(self.record)
        except OSError as error:  # the result is still reported; only a restart would lose it
            log.error("record.not_written", attempt=self.attempt, error=error)

    # ---- what it is given ----

    def _make_launch(self, task_log: TaskLog) -> Launch:
        record = self.record
        node = self._runner_context.settings.name
        return Launch(
            attempt=self.attempt,
            order=self.order,
            spec=self.spec,
            env=task_environment(self.order, self.order.first, self.spec, node, record.ports, record.devices),
            log=task_log,
            ports=record.ports,
            devices=record.devices,
            payload=self._runner_context.records.payload(record),
            secrets=self._runner_context.records.secrets(record),
        )

    def _paths(self) -> tuple[str | None, str | None]:
        """The files that its streams go to. Raises NotStarted: without a folder of its own, no path can be relative."""
        order = self.order
        names = order.job_name, order.group_name, order.shown[0] if order.shown else order.first, order.attempt
        paths = expand_path_pattern(self.spec.stdout, *names), expand_path_pattern(self.spec.stderr, *names)
        for name, path in zip(("stdout", "stderr"), paths, strict=True):
            if path is not None and not path.startswith("/"):
                raise NotStarted(f"{name}: {path} is relative; with runtime {self.spec.runtime} write an absolute path")
        return paths

    @property
    def _logs(self) -> Path:
        return self._runner_context.settings.home / "logs"

    def _now_ms(self) -> int:
        return int(self._runner_context.clock.now() * 1000)


def _outcome_problem(outcome: Outcome) -> str:
    """What a manager would refuse, each time that the attempt is reported; a stranger's runtime may return anything."""
    if not NO_EXIT_CODE <= outcome.exit_code <= EXIT_CODE_MAX:
        return f"exit code {outcome.exit_code} is not within {NO_EXIT_CODE} and {EXIT_CODE_MAX}"
    if outcome.how not in HOWS:
        return f"how {outcome.how!r} is not one of {', '.join(sorted(HOWS - {''}))}"
    if not 0 <= outcome.ended_ms <= TIME_MAX_MS:
        return f"ended_ms {outcome.ended_ms} is not within 0 and {TIME_MAX_MS}"
    return ""
