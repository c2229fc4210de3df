"""Runs health checks for the tasks of keepers, and stops tasks that are unhealthy. Used by
`worker.process.assignments`."""

from __future__ import annotations

import os
from functools import partial

from shunter.model.job.spec import TaskSpec
from shunter.model.protocol.worker_messages import Order
from shunter.worker.environment import task_environment
from shunter.worker.health.monitor import Monitor
from shunter.worker.health.process_target import CommandRunner, ProcessTarget
from shunter.worker.keeper.task_setup import user_folder
from shunter.worker.process.keeper_client import Keeper
from shunter.worker.process.launcher import INHERITED_ENV
from shunter.worker.process.protocol import KeeperStarted, Termination
from shunter.worker.settings import WorkerSettings

UNHEALTHY = "unhealthy"


class KeeperHealth:
    def __init__(self, settings: WorkerSettings, monitor: Monitor) -> None:
        self._settings = settings
        self._monitor = monitor
        self._commands = CommandRunner()
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
        scratch = home / "work" / str(keeper.number) if spec.user is None else user_folder(str(home), keeper.number)
        env = task_environment(order, running.index, spec, self._settings.name, running.ports, keeper.devices)
        lane = {"SHUNTER_LANE": f"{home}:{keeper.number}"}  # what is left of a check goes with the lane
        return ProcessTarget(
            ports=spec.ports,
            granted=running.ports,
            env={**self._inherited, **env, **lane},
            folder=spec.dir or f"{scratch}/scratch",
            user=spec.user,
            commands=self._commands,
        )


def _end_unhealthy(keeper: Keeper, running: KeeperStarted, grace_s: float, detail: str) -> None:
    bounds = running.job, running.group, running.index, running.index
    keeper.stop(bounds, running.attempt, Termination(grace_s, how=UNHEALTHY, detail=detail))
