"""A thread with an event loop of its own. The coordination runs in one, so that a main loop that is busy or stuck
neither loses the lease nor delays its end."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine
from contextlib import suppress
from typing import Any, TypeVar

T = TypeVar("T")


class LoopThread:
    def __init__(self, name: str) -> None:
        self._loop = asyncio.new_event_loop()
        self._stopping = asyncio.Event()
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """Wait until the thread has ended. Whatever still runs in it is cancelled."""
        self.post(self._stopping.set)
        self._thread.join()

    async def run(self, work: Coroutine[Any, Any, T]) -> T:
        """The result of work in the thread. If the caller is cancelled, so is the work."""
        return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(work, self._loop))

    def post(self, function: Callable[..., object], *args: object) -> None:
        """Call a function in the thread, unless it has ended."""
        with suppress(RuntimeError):
            self._loop.call_soon_threadsafe(function, *args)

    def _run(self) -> None:
        with asyncio.Runner(loop_factory=lambda: self._loop) as runner:
            runner.run(self._serve())

    async def _serve(self) -> None:
        await self._stopping.wait()
