"""Finds processes that a dead keeper left, whatever they did to hide: the worker is their subreaper, so they become its
own children. Used by `worker.process.keeper_pool`.

Children that this process started itself are told apart: they have its session, or another thread started them, or they
were there before. Keepers that an earlier worker process started are not its children, nor is what they leave."""

from __future__ import annotations

import asyncio
import os
import signal
from contextlib import suppress
from pathlib import Path

from shunter.log import Log
from shunter.worker.keeper.syscalls import adopt_orphans

log = Log(__name__)

ROUNDS_MAX = 100
EVERY_S = 0.02


class Orphans:
    def __init__(self) -> None:
        self._children: set[int] = set()  # at the last look
        self._known: set[int] = set()  # there at two looks while no keeper was dead, so started by this process

    def start(self) -> None:
        adopt_orphans()
        self._children = self._known = _children()

    def look(self) -> None:
        """Called from time to time while no keeper is dead."""
        children = _children()
        self._known, self._children = children & self._children, children

    async def end_all(self, keepers: set[int]) -> bool:
        """Kill all but these; returns whether none is left."""
        for _ in range(ROUNDS_MAX):
            found = [pid for pid in _children() - self._known - keepers if _session(pid) != os.getsid(0)]
            if not found:
                return True
            for pid in found:
                with suppress(OSError):
                    os.kill(pid, signal.SIGKILL)
                with suppress(OSError):
                    os.waitpid(pid, os.WNOHANG)
            await asyncio.sleep(EVERY_S)
        log.warning("orphans.not_killed")
        return False


def _children() -> set[int]:
    """The children of the main thread, which gets the orphans."""
    try:
        return {int(pid) for pid in Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()}
    except OSError:
        return set()  # a kernel without this file


def _session(pid: int) -> int:
    try:
        return os.getsid(pid)
    except OSError:
        return os.getsid(0)
