"""A simulated operating-system process, which can be paused, resumed and killed.

Everything it awaits passes through its gate, so closing the gate stops it at its next await of a port."""

from __future__ import annotations

import asyncio

from shunter.ports.clock import Clock


class Gate:
    """Whether a process moves."""

    def __init__(self) -> None:
        self.is_dead = False
        self._is_awake = asyncio.Event()
        self._is_awake.set()

    @property
    def is_running(self) -> bool:
        return self._is_awake.is_set() and not self.is_dead

    def pause(self) -> None:
        self._is_awake.clear()

    def resume(self) -> None:
        self._is_awake.set()

    def kill(self) -> None:
        """From now on, everything that wants to pass waits forever."""
        self.is_dead = True

    async def wait_open(self) -> None:
        while not self.is_running:
            if self.is_dead:
                await asyncio.get_running_loop().create_future()
            await self._is_awake.wait()


class GatedClock:
    """The clock of one process: time continues while it is paused, but the process notices only when it wakes."""

    def __init__(self, clock: Clock, gate: Gate) -> None:
        self._clock = clock
        self._gate = gate

    def now(self) -> float:
        return self._clock.now()

    async def sleep(self, seconds: float) -> None:
        await self._clock.sleep(seconds)
        await self._gate.wait_open()

    async def wait(self, event: asyncio.Event, timeout_s: float | None) -> bool:
        await self._clock.wait(event, timeout_s)
        await self._gate.wait_open()
        return event.is_set()
