"""Virtual time: an event loop without threads or sockets whose clock jumps to the next timer, and a clock on top of it.

Everything on this loop is a function of its inputs and its seed, so a failed run can be repeated. Used by the simulator
(`simulation.world`) and by tests."""

from __future__ import annotations

import asyncio
import math
import random
from collections.abc import Callable, Coroutine
from typing import Any, NoReturn, TypeVar

T = TypeVar("T")

START_S = 1_700_000_000.0  # the virtual clock's first instant, in seconds since 1970
TURNS_AT_ONE_INSTANT_MAX = 200_000
RESOLUTION_S = 1e-9


class Stalled(RuntimeError):
    """Nothing can run and no timer is left: something waits for an event that never comes."""


class Livelock(RuntimeError):
    """Callbacks schedule callbacks, and time does not advance."""


class VirtualLoop(asyncio.BaseEventLoop):
    """An asyncio loop on which waiting takes no time. What is due at one instant runs in a fixed order."""

    def __init__(self) -> None:
        super().__init__()
        self._now_s = 0.0
        self._idle_polls = 0
        self._selector = _TimeJump(self)
        self._clock_resolution = RESOLUTION_S

    def time(self) -> float:
        return self._now_s

    def jump(self, seconds: float) -> None:
        """The loop's replacement for sleeping."""
        if seconds > 0:
            self._now_s += seconds
            # Months later, the next float after `_now_s` is further away than the resolution. A timer that is nearer
            # than that float is due, because the time cannot get any closer to it.
            self._clock_resolution = max(RESOLUTION_S, math.ulp(self._now_s))
            self._idle_polls = 0
            return
        self._idle_polls += 1
        if self._idle_polls > TURNS_AT_ONE_INSTANT_MAX:
            self._idle_polls = 0  # so that what is left can still be cancelled
            raise Livelock(f"more than {TURNS_AT_ONE_INSTANT_MAX} turns of the loop without time passing")

    def _process_events(self, event_list: list[Any]) -> None:
        """There are no files, so there are no events of files."""

    def _write_to_self(self) -> None:
        """Nothing sleeps, so nothing must be woken."""

    def call_soon_threadsafe(self, *_args: Any, **_kwargs: Any) -> NoReturn:  # type: ignore[override]
        raise RuntimeError("threads are not part of a deterministic simulation")

    def run_in_executor(self, *_args: Any) -> NoReturn:  # type: ignore[override]
        raise RuntimeError("threads are not part of a deterministic simulation")


class _TimeJump:
    """Stands where a real loop has its selector: asked to sleep, it moves the time on."""

    def __init__(self, loop: VirtualLoop) -> None:
        self._loop = loop

    def select(self, timeout: float | None) -> list[Any]:
        if timeout is None:
            raise Stalled("nothing is runnable and no timer is left")
        self._loop.jump(timeout)
        return []


class VirtualClock:
    """The clock port on the running loop's time."""

    def __init__(self, loop: asyncio.AbstractEventLoop | None = None) -> None:
        self._loop = loop or asyncio.get_running_loop()

    def now(self) -> float:
        return START_S + self._loop.time()

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)

    async def wait(self, event: asyncio.Event, timeout_s: float | None) -> bool:
        return await wait_for_event(event, timeout_s)


async def wait_for_event(event: asyncio.Event, timeout_s: float | None) -> bool:
    """Wait until the event is set or the time has passed; returns whether it is set."""
    if event.is_set():
        return True
    try:
        async with asyncio.timeout(timeout_s):
            await event.wait()
    except TimeoutError:
        return event.is_set()
    return True


def run_virtual(main: Callable[[random.Random], Coroutine[Any, Any, T]], seed: int) -> T:
    """Run `main(random)` to its end in virtual time. All chance must come from the generator that it is handed."""
    loop = VirtualLoop()
    failures: list[dict[str, Any]] = []
    loop.set_exception_handler(lambda _loop, context: failures.append(context))
    try:
        result = loop.run_until_complete(main(random.Random(seed)))
    finally:
        loop.run_until_complete(_cancel_remaining())
        loop.close()
    for context in failures:
        if isinstance(context.get("exception"), Exception):
            raise context["exception"]
    return result


async def _cancel_remaining() -> None:
    rest = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
    for task in rest:
        task.cancel()
    await asyncio.gather(*rest, return_exceptions=True)
