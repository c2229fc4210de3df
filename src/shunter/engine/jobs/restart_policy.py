"""Decides whether and when a new attempt follows one that ended with an exit code. Pure; called by
`engine.nodes.reports`."""

from __future__ import annotations

from random import Random

from shunter.model.job.spec import Restart

RESET_AFTER_MS = 600_000  # after an attempt that ran this long, earlier restarts no longer count


def counted_restarts(restarts: int, started_ms: int, ended_ms: int) -> int:
    """How many restarts count against `max` after an attempt that ran from `started_ms` to `ended_ms`."""
    return 0 if started_ms and ended_ms - started_ms >= RESET_AFTER_MS else restarts


def exit_action(restart: Restart, exit_code: int) -> str:
    """The action of the rules for an exit code: fail, restart or succeed; empty where the policy decides."""
    return next((rule.action for rule in restart.on_exit if exit_code in rule.codes), "")


def restart_delay_s(restart: Restart, restarts: int, has_failed: bool, random: Random) -> float | None:
    """Seconds until the next attempt, or None if there is none. `restarts` counts earlier restarts."""
    if restart.policy == "never" or (restart.policy == "on-failure" and not has_failed):
        return None
    if restart.max is not None and restarts >= restart.max:
        return None
    exponent = min(restarts, 64)  # beyond it the maximum applies anyway, and the power would overflow
    delay_s = min(restart.delay_s * restart.factor**exponent, restart.delay_max_s)
    return delay_s * (1 + restart.jitter * (2 * random.random() - 1))
