"""Gives the machines of workers wrong dates, and other ones when their worker restarts. Runs alongside the other faults
of such worlds.

It has its own random source, so that worlds with one date stay as they are. A date that changes while a worker runs is
no fault here: workers count with a clock that it does not reach."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

import msgspec

from shunter.model.protocol.worker_messages import WorkerMessage

if TYPE_CHECKING:
    from shunter.simulation.world import World

EVERY_S = (1.0, 15.0)
DAY_MS = 24 * 3600 * 1000
AHEAD_MS = (0, 2_000, -2_000, 3_600_000, -3_600_000, DAY_MS, -DAY_MS)


class WrongDates:
    def __init__(self, world: World, seed: int) -> None:
        self._world = world
        self._rng = random.Random(seed)

    async def run(self) -> None:
        """Changes dates at random moments until the scenario's faults are over; they stay wrong afterwards."""
        clock = self._world.clock
        deadline_s = clock.now() + self._world.scenario.fault_period_s
        while clock.now() < deadline_s:
            worker = self._rng.choice([self._world.workers[name] for name in sorted(self._world.workers)])
            if not worker.is_off:
                worker.date_ahead_ms = self._rng.choice(AHEAD_MS)
                self._world.trace.record("fault.wrong_date", f"{worker.name} {worker.date_ahead_ms}")
                worker.crash()
            await clock.sleep(self._rng.uniform(*EVERY_S))


def by_date(message: WorkerMessage, ahead_ms: int) -> WorkerMessage:
    """The message as a worker with this date sends it: every time in it, at any depth, is so much later."""
    return _shift(message, "", ahead_ms) if ahead_ms else message


def _shift(value: Any, name: str, ahead_ms: int) -> Any:
    if isinstance(value, msgspec.Struct):
        fields = {field: _shift(getattr(value, field), field, ahead_ms) for field in value.__struct_fields__}
        return type(value)(**fields)
    if isinstance(value, list):
        return [_shift(item, name, ahead_ms) for item in value]
    return value + ahead_ms if name.endswith("_ms") and value else value
