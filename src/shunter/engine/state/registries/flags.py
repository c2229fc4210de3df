"""Flags of unfinished jobs: a missed deadline, or a reason for which the job must fail."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from shunter.engine import changes as c

DEADLINE = "deadline"  # the deadline was missed
TIMEOUT = "timeout"  # the job ran too long, and ends as failed
FAILURES = "failures"  # too many of its tasks failed: the rest is stopped
LOST = "lost"  # tasks of an application were lost: the rest is stopped
FAIL_FLAGS = (TIMEOUT, FAILURES, LOST)


class FlagRegistry:
    def __init__(self) -> None:
        self._flags: dict[int, list[str]] = {}  # job -> flags

    def has(self, job: int, flag: str) -> bool:
        return flag in self._flags.get(job, ())

    def must_fail(self, job: int) -> bool:
        """Whether the job ends as failed, however its tasks end, with the reason for which it was stopped."""
        return any(flag in FAIL_FLAGS for flag in self._flags.get(job, ()))

    def forget(self, job: int) -> None:
        self._flags.pop(job, None)

    def appliers(self) -> Mapping[type, Callable[[Any], None]]:
        return {c.JobFlagged: self._flag}

    def dump(self) -> list[list[Any]]:
        return [[job, flags] for job, flags in sorted(self._flags.items())]

    def load(self, dump: list[list[Any]]) -> None:
        self._flags = {job: list(flags) for job, flags in dump}

    def _flag(self, change: c.JobFlagged) -> None:
        self._flags.setdefault(change.job, []).append(change.flag)
