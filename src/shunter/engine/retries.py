"""Whether and when an attempt that ended with an exit code is followed by another. Pure; called by `engine.reports`."""

from __future__ import annotations

from random import Random

from shunter.model.jobs import Restart


def back_off_s(restart: Restart, restarts: int, has_failed: bool, random: Random) -> float | None:
    """Seconds until the next attempt, or None if there is none. `restarts` counts those that there were."""
    if restart.policy == "never" or (restart.policy == "on-failure" and not has_failed):
        return None
    if restart.max is not None and restarts >= restart.max:
        return None
    exponent = min(restarts, 64)  # past it the maximum rules anyway, and the power would overflow
    delay_s = min(restart.delay_s * restart.factor**exponent, restart.delay_max_s)
    return delay_s * (1 + restart.jitter * (2 * random.random() - 1))
