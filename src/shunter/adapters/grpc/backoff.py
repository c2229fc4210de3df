"""Computes how long a worker waits before it reconnects. Pure: the caller passes in random numbers. Called by the
client."""

from __future__ import annotations

import random

BACKOFF_FIRST_S = 0.1
BACKOFF_FACTOR = 2.0
BACKOFF_MAX_S = 3.0  # low, so that all workers are back within seconds when a manager returns
BACKOFF_PERMANENT_S = 15.0  # after a refusal whose cause somebody has to fix


class Backoff:
    """Doubles with every failure; half of each delay is chance, so that workers do not come back in step."""

    def __init__(self, rng: random.Random) -> None:
        self._rng = rng
        self._delay_s = BACKOFF_FIRST_S

    def reset(self) -> None:
        self._delay_s = BACKOFF_FIRST_S

    def next_delay_s(self) -> float:
        delay_s = self._delay_s
        self._delay_s = min(delay_s * BACKOFF_FACTOR, BACKOFF_MAX_S)
        return self._with_jitter(delay_s)

    def refused_delay_s(self) -> float:
        return self._with_jitter(BACKOFF_PERMANENT_S)

    def _with_jitter(self, delay_s: float) -> float:
        return delay_s * self._rng.uniform(0.5, 1.0)
