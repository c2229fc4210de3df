"""The interface of a health check, and what it can ask about the task it checks. A plugin offers a `Check` by an entry
point of the group `shunter.health_checks`, under the name that manifests use as the kind."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Protocol

from shunter.model.job.spec import HealthCheck


class Unhealthy(Exception):
    """The task is unhealthy; the message says briefly why."""


Unwell = Unhealthy  # its name in 0.1.0, for plugins


class Target(Protocol):
    """A running task, as a check sees it. `worker.runtimes.port.Running` is one."""

    def address(self, port: str) -> tuple[str, int]:
        """Where the worker reaches a port of the task, by the port's name or number. Raises LookupError."""
        ...

    async def execute(self, command: Sequence[str], timeout_s: float) -> tuple[int, str]:
        """Run a command that sees what the task sees; returns its exit code and the end of its output. Raises
        TimeoutError or OSError; RuntimeGone if its runtime does not answer, which says nothing about the task."""
        ...


# Returns if the task is healthy. Raises Unhealthy, or OSError, LookupError and TimeoutError, which mean the same.
Check = Callable[[HealthCheck, Target], Awaitable[None]]
