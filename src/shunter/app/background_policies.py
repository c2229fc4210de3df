"""Runs slow policies in a thread next to the rounds, in this process. Used by `app.manager`."""

from __future__ import annotations

import asyncio

from shunter.engine.engine import Engine
from shunter.engine.policy.policy_loop import run_policy_loop
from shunter.planning.policies import RemotePolicy
from shunter.planning.view import Policy
from shunter.ports.clock import Clock


class BackgroundPolicies:
    """At most one policy decides at a time; the previous one is dropped when its thread returns."""

    def __init__(self, engine: Engine, clock: Clock) -> None:
        self._engine, self._clock = engine, clock
        self._policy_task: asyncio.Task[None] | None = None

    def switch_to(self, policy: Policy) -> None:
        """Let this policy decide from now on."""
        self.stop()
        if not policy.fast and not isinstance(policy, RemotePolicy):
            work = run_policy_loop(self._engine, policy, self._clock, asyncio.to_thread)
            self._policy_task = asyncio.get_running_loop().create_task(work)

    def stop(self) -> None:
        if self._policy_task is not None:
            self._policy_task.cancel()
            self._policy_task = None
