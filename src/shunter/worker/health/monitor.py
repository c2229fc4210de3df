"""Looks regularly whether tasks are well, and says so when the opinion changes. Used by the worker for the tasks of
keepers and of runtimes alike.

A task is well once every check of it has passed. Until a check has passed for the first time it is tried often, so that
a quick start is seen at once; of that, only what fails at the check's own interval counts against the task, and only
when the start grace is over.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field

from shunter.log import Log
from shunter.model.job.spec import HealthCheck
from shunter.model.protocol.worker_messages import Health
from shunter.ports.clock import Clock
from shunter.worker.grants import TaskName
from shunter.worker.health.checks import Kinds
from shunter.worker.health.port import Target, Unwell
from shunter.worker.runtimes.port import RuntimeGone

log = Log(__name__)

CHECKS_AT_ONCE_MAX = 64
FIRST_EVERY_S = 0.25  # between tries before the first success
GUARD_S = 5.0  # past its time, a check that does not keep it itself is given up

Say = Callable[[Health], None]
Fail = Callable[[str], None]


@dataclass(slots=True)
class _Watched:
    name: TaskName
    target: Target
    fail: Fail
    well: list[bool]  # by check
    opinion: Health | None = None
    looking: list[asyncio.Task[None]] = field(default_factory=list)


class Monitor:
    """`say` is told every change of opinion."""

    def __init__(self, clock: Clock, say: Say) -> None:
        self._clock = clock
        self._say = say
        self._kinds = Kinds()
        self._watched: dict[TaskName, _Watched] = {}
        self._room = asyncio.Semaphore(CHECKS_AT_ONCE_MAX)

    def watch(
        self, name: TaskName, checks: tuple[HealthCheck, ...], target: Target, started_ms: int, fail: Fail
    ) -> None:
        """Look after a task that runs. `fail` is called once, with the reason, when a check has failed too often."""
        if not checks or name in self._watched:
            return
        watched = self._watched[name] = _Watched(name, target, fail, [False] * len(checks))
        loop = asyncio.get_running_loop()
        for place, check in enumerate(checks):
            watched.looking.append(loop.create_task(self._look(watched, place, check, started_ms / 1000)))

    def forget(self, name: TaskName) -> None:
        """The task has ended, or is being ended for another reason."""
        watched = self._watched.pop(name, None)
        if watched is not None:
            for looking in watched.looking:
                looking.cancel()

    def forget_run(self, job: int, group: int, attempt: int, first: int, count: int) -> None:
        if self._watched:
            for index in range(first, first + count):
                self.forget((job, group, index, attempt))

    def opinions(self) -> list[Health]:
        """Of all tasks about which there is one, for the inventory."""
        return [watched.opinion for watched in self._watched.values() if watched.opinion is not None]

    async def close(self) -> None:
        looking = [looking for watched in self._watched.values() for looking in watched.looking]
        for name in list(self._watched):
            self.forget(name)
        await asyncio.gather(*looking, return_exceptions=True)

    async def _look(self, watched: _Watched, place: int, check: HealthCheck, started_at: float) -> None:
        """One check of one task, until it has failed too often."""
        counts_from = max(started_at + check.start_grace_s, self._clock.now())
        next_at = self._clock.now() + check.interval_s
        has_passed = False
        failures = 0
        while True:
            reason = await self._try(check, watched.target)
            now = self._clock.now()
            is_due = now >= next_at
            if is_due:
                next_at = now + check.interval_s
            if reason is None:
                pass
            elif not reason:
                has_passed, failures = True, 0
                if not watched.well[place]:
                    watched.well[place] = True
                    self._note_well(watched)
            elif has_passed or (is_due and now >= counts_from):
                failures += 1
                if failures >= check.failures:
                    self._note_failed(watched, check, reason)
                    return
            wait_s = next_at - now if has_passed else min(FIRST_EVERY_S, next_at - now)
            await self._clock.sleep(max(0.0, wait_s))

    async def _try(self, check: HealthCheck, target: Target) -> str | None:
        """Why the task is not well; empty where it is, None where nobody could look."""
        async with self._room:
            try:
                async with asyncio.timeout(check.timeout_s + GUARD_S):
                    await self._kinds[check.kind](check, target)
            except TimeoutError:
                return f"no answer within {check.timeout_s:g} s"
            except RuntimeGone:
                return None
            except OSError as error:
                return error.strerror or str(error)
            except (Unwell, LookupError) as error:
                return str(error)
            except (Exception, SystemExit) as error:  # of a plugin's check
                log.exception("health.check_broken", kind=check.kind)
                return f"the check itself failed: {type(error).__name__}: {error}"
        return ""

    def _note_well(self, watched: _Watched) -> None:
        if all(watched.well):
            self._set(watched, True, "")

    def _note_failed(self, watched: _Watched, check: HealthCheck, reason: str) -> None:
        detail = f"{describe(check)} failed {check.failures} times in a row: {reason}"
        if check.failures == 1:
            detail = f"{describe(check)} failed: {reason}"
        log.info("task.unhealthy", task=watched.name, detail=detail)
        self._set(watched, False, detail)
        self.forget(watched.name)
        watched.fail(detail)

    def _set(self, watched: _Watched, is_healthy: bool, detail: str) -> None:
        job, group, index, attempt = watched.name
        at_ms = int(self._clock.now() * 1000)
        watched.opinion = Health(job, group, attempt, index, is_healthy, at_ms, detail)
        self._say(watched.opinion)


def describe(check: HealthCheck) -> str:
    """The check as a person would name it."""
    if check.kind == "http":
        return f"http check of {check.path or '/'}" + (f" on port {check.port}" if check.port else "")
    if check.kind == "tcp":
        return "tcp check" + (f" of port {check.port}" if check.port else "")
    if check.kind == "command":
        return f"command check {' '.join(check.command)}"
    return f"{check.kind} check"
