"""Kills what a dead keeper left running: by its lane's control groups, or by the mark in the processes' environment.

The mark is SHUNTER_LANE=HOME:NUMBER, which every task gets and its children inherit."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Mapping
from pathlib import Path

from shunter.log import Log
from shunter.worker.process.cgroups import clear_lane

log = Log(__name__)

ROUNDS_MAX = 100
EVERY_S = 0.02
QUIET_ROUNDS = 2


async def end_leftovers(home: Path, number: int, groups: Mapping[str, str]) -> None:
    """Until nothing of that lane is left."""
    if groups:
        await clear_lane(groups, number)
        return
    mark = b"SHUNTER_LANE=" + os.fsencode(f"{home}:{number}")
    quiet_rounds = 0  # a process just born carries the mark only once its program runs
    for _ in range(ROUNDS_MAX):
        marked = [pid for pid in _pids() if _has_mark(pid, mark)]
        quiet_rounds = 0 if marked else quiet_rounds + 1
        if quiet_rounds == QUIET_ROUNDS:
            return
        for pid in marked:
            try:
                os.kill(pid, signal.SIGKILL)
            except OSError:
                pass
        await asyncio.sleep(EVERY_S)
    log.warning("leftovers.left", lane=number)


def _pids() -> list[int]:
    return [int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit()]


def _has_mark(pid: int, mark: bytes) -> bool:
    try:
        return mark in Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
    except OSError:
        return False  # it ended, or is somebody else's
