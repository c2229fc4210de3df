"""Kills what a dead keeper left running: by its lane's control groups, and by the mark in the processes' environment.

The mark is SHUNTER_MARK, a random text that every task of a keeper gets and its children inherit. Keepers of 0.1.0 had
SHUNTER_LANE=HOME:NUMBER instead."""

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


async def end_leftovers(number: int, groups: Mapping[str, str], mark: str) -> bool:
    """Returns whether nothing of that lane is left: a process may be in a call that cannot be interrupted. The mark
    also finds what has left its control groups. Without a mark, because the keeper ended in order, only the groups are
    cleared."""
    if groups and not await clear_lane(groups, number):
        return False
    if not mark:
        return True
    entry = os.fsencode(mark)
    quiet_rounds = 0  # a process just born carries the mark only once its program runs
    for _ in range(ROUNDS_MAX):
        marked = [pid for pid in _pids() if _has_mark(pid, entry)]
        quiet_rounds = 0 if marked else quiet_rounds + 1
        if quiet_rounds == QUIET_ROUNDS:
            return True
        for pid in marked:
            try:
                os.kill(pid, signal.SIGKILL)
            except OSError:
                pass
        await asyncio.sleep(EVERY_S)
    log.warning("leftovers.not_killed", lane=number)
    return False


def _pids() -> list[int]:
    return [int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit()]


def _has_mark(pid: int, entry: bytes) -> bool:
    try:
        return entry in Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
    except OSError:
        return False  # it ended, or is somebody else's
