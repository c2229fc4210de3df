"""Runs health checks periodically and reports when a task's health changes. Used by the worker for the tasks of keepers
and of runtimes.

A task is healthy once each of its checks has passed. Until a check passes for the first time it runs often, so that a
quick start is noticed at once. During that time, only failures at the check's own interval count, and only after the
start grace."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field

from shunter.log import Log
from shunter.model.job.spec import HealthCheck
from shunter.model.protocol.worker_messages import Health
from shunter.ports.clock import Clock
from shunter.worker.grants import TaskName
from shunter.worker.health.checks import CheckRegistry
from shunter.worker.health.port import Target, Unhealthy
from shunter.worker.runtimes.port import RuntimeGone

log = Log(__name__)

CHECKS_AT_ONCE_MAX = 64
STARTUP_INTERVAL_S = 0.25  # between tries before the first success
TIMEOUT_MARGIN_S = 5.0  # a check that exceeds its own timeout by this is cancelled

OnHealth = Callable[[Health], None]
OnUnhealthy = Callable[[str], None]


@dataclass(slots=True)
class _WatchedTask:
    name: TaskName
    target: Target
    on_unhealthy: OnUnhealthy
    healthy: list[bool]  # by check
    health: Health | None = None
    checking: list[asyncio.Task[None]] = field(default_factory=list)


class Monitor:
    """`on_health` is called on every change of health."""

    def __init__(self, clock: Clock, on_health: OnHealth) -> None:
        self._clock = clock
        self._on_health = on_health
        self._checks = CheckRegistry()
        self._watched: dict[TaskName, _WatchedTask] = {}
        self._check_semaphore = asyncio.Semaphore(CHECKS_AT_ONCE_MAX)

    def watch(
        self,
        name: TaskName,
        checks: tuple[HealthCheck, ...],
        target: Target,
        started_ms: int,
        on_unhealthy: OnUnhealthy,
    ) -> None:
        """Look after a task that runs. `on_unhealthy` is called once, with the reason, when a check has failed too
        often."""
        if not checks or name in self._watched:
            return
        watched = self._watched[name] = _WatchedTask(name, target, on_unhealthy, [False] * len(checks))
        loop = asyncio.get_running_loop()
        for position, check in enumerate(checks):
            watched.checking.append(loop.create_task(self._run_check(watched, position, check, started_ms / 1000)))

    def forget(self, name: TaskName) -> None:
        """The task has ended, or is being ended for another reason."""
        watched = self._watched.pop(name, None)
        if watched is not None:
            for checking in watched.checking:
                checking.cancel()

    def forget_range(self, job: int, group: int, attempt: int, first: int, count: int) -> None:
        if self._watched:
            for index in range(first, first + count):
                self.forget((job, group, index, attempt))

    def current_health(self) -> list[Health]:
        """The health of all tasks for which it is known, for the inventory."""
        return [watched.health for watched in self._watched.values() if watched.health is not None]

    async def close(self) -> None:
        checking = [checking for watched in self._watched.values() for checking in watched.checking]
        for name in list(self._watched):
            self.forget(name)
        await asyncio.gather(*checking, return_exceptions=True)

    async def _run_check(self, watched: _WatchedTask, position: int, check: HealthCheck, started_at: float) -> None:
        """Run one check of one task until it has failed too often."""
        failures_count_from = max(started_at + check.start_grace_s, self._clock.now())
        next_at = self._clock.now() + check.interval_s
        has_passed = False
        failures = 0
        while True:
            reason = await self._check_once(check, watched.target)
            now = self._clock.now()
            is_due = now >= next_at
            if is_due:
                next_at = now + check.interval_s
            if reason is None:
                pass
            elif not reason:
                has_passed, failures = True, 0
                if not watched.healthy[position]:
                    watched.healthy[position] = True
                    self._update_health(watched)
            elif has_passed or (is_due and now >= failures_count_from):
                failures += 1
                if failures >= check.failures:
                    self._mark_unhealthy(watched, check, reason)
                    return
            wait_s = next_at - now if has_passed else min(STARTUP_INTERVAL_S, next_at - now)
            await self._clock.sleep(max(0.0, wait_s))

    async def _check_once(self, check: HealthCheck, target: Target) -> str | None:
        """Why the task is unhealthy; empty if it is healthy, None if the check could not run."""
        async with self._check_semaphore:
            try:
                async with asyncio.timeout(check.timeout_s + TIMEOUT_MARGIN_S):
                    await self._checks[check.kind](check, target)
            except TimeoutError:
                return f"no answer within {check.timeout_s:g} s"
            except RuntimeGone:
                return None
            except OSError as error:
                return error.strerror or str(error)
            except (Unhealthy, LookupError) as error:
                return str(error)
            except (Exception, SystemExit) as error:  # of a plugin's check
                log.exception("health.check_broken", kind=check.kind)
                return f"the check itself failed: {type(error).__name__}: {error}"
        return ""

    def _update_health(self, watched: _WatchedTask) -> None:
        if all(watched.healthy):
            self._set_health(watched, True, "")

    def _mark_unhealthy(self, watched: _WatchedTask, check: HealthCheck, reason: str) -> None:
        detail = f"{describe(check)} failed {check.failures} times in a row: {reason}"
        if check.failures == 1:
            detail = f"{describe(check)} failed: {reason}"
        log.info("task.unhealthy", task=watched.name, detail=detail)
        self._set_health(watched, False, detail)
        self.forget(watched.name)
        watched.on_unhealthy(detail)

    def _set_health(self, watched: _WatchedTask, is_healthy: bool, detail: str) -> None:
        job, group, index, attempt = watched.name
        at_ms = int(self._clock.now() * 1000)
        watched.health = Health(job, group, attempt, index, is_healthy, at_ms, detail)
        self._on_health(watched.health)


def describe(check: HealthCheck) -> str:
    """The check as a person would name it."""
    if check.kind == "http":
        return f"http check of {check.path or '/'}" + (f" on port {check.port}" if check.port else "")
    if check.kind == "tcp":
        return "tcp check" + (f" of port {check.port}" if check.port else "")
    if check.kind == "command":
        return f"command check {' '.join(check.command)}"
    return f"{check.kind} check"
