"""Runs health checks for the tasks of keepers, and stops tasks that are unhealthy. Used by
`worker.process.assignments`."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import partial

from shunter.model.job.spec import TaskSpec
from shunter.model.protocol.worker_messages import Order
from shunter.worker.environment import task_environment
from shunter.worker.health.monitor import Monitor
from shunter.worker.health.process_target import CommandRunner, ProcessTarget
from shunter.worker.isolation import Isolation
from shunter.worker.keeper.task_setup import find_user_folder
from shunter.worker.keeper.task_user import find_identity
from shunter.worker.process.keeper_client import Keeper
from shunter.worker.process.launcher import INHERITED_ENV
from shunter.worker.process.protocol import KeeperStarted, Termination
from shunter.worker.settings import WorkerSettings

UNHEALTHY = "unhealthy"


class KeeperHealth:
    def __init__(
        self, settings: WorkerSettings, monitor: Monitor, isolation: Callable[[], Isolation] = Isolation
    ) -> None:
        self._settings = settings
        self._monitor = monitor
        self._commands = CommandRunner()
        self._isolation = isolation
        self._inherited = {key: os.environ[key] for key in INHERITED_ENV if key in os.environ}

    def watch(self, keeper: Keeper, running: KeeperStarted, order: Order, spec: TaskSpec) -> None:
        """Look after the task that a keeper runs, if its spec has checks."""
        if not spec.health:
            return
        name = running.job, running.group, running.index, running.attempt
        on_unhealthy = partial(_end_unhealthy, keeper, running, spec.stop_grace_s)
        self._monitor.watch(
            name, spec.health, self._target(keeper, running, order, spec), running.started_ms, on_unhealthy
        )

    def forget_range(self, job: int, group: int, attempt: int, first: int, count: int) -> None:
        self._monitor.forget_range(job, group, attempt, first, count)

    def close(self) -> None:
        self._commands.close()

    def _target(self, keeper: Keeper, running: KeeperStarted, order: Order, spec: TaskSpec) -> ProcessTarget:
        home = self._settings.home
        isolation = Isolation() if keeper.is_outdated else self._isolation()
        user = spec.user or isolation.task_user or None
        scratch = home / "work" / str(keeper.number) if user is None else find_user_folder(str(home), keeper.number)
        env = task_environment(order, running.index, spec, self._settings.name, running.ports, keeper.devices)
        name, _, value = keeper.mark.partition("=")  # what is left of a check goes with the lane
        return ProcessTarget(
            ports=spec.ports,
            granted=running.ports,
            env={**self._inherited, **_login_variables(isolation.task_user), **env, name: value},
            folder=spec.dir or f"{scratch}/scratch",
            user=user,
            prefix=isolation.command_prefix(),
            umask=-1 if self._settings.task_umask is None else self._settings.task_umask,
            commands=self._commands,
        )


def _login_variables(task_user: str) -> dict[str, str]:
    if not task_user:
        return {}
    return {os.fsdecode(name): os.fsdecode(value) for name, value in find_identity(task_user).variables().items()}


def _end_unhealthy(keeper: Keeper, running: KeeperStarted, grace_s: float, detail: str) -> None:
    bounds = running.job, running.group, running.index, running.index
    keeper.stop(bounds, running.attempt, Termination(grace_s, how=UNHEALTHY, detail=detail))
