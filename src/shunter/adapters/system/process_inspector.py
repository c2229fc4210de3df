"""Looks into this process for whoever searches a fault: stalls of its event loop, and a profile. Implements
`ports.telemetry.Inspector`.

The profile samples what the main thread does, from another thread, so that the main thread hardly notices."""

from __future__ import annotations

import asyncio
import sys
import threading
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import PurePath
from types import FrameType

from shunter.adapters.system.loop_probe import LoopProbe, Stall
from shunter.model.errors import Busy

EVERY_S = 0.01
DEPTH_MAX = 80
STACKS_MAX = 2_000  # different ones; further ones are left out


class ProcessInspector:
    python = sys.version.split()[0]

    def __init__(self, loop_probe: LoopProbe) -> None:
        self._loop_probe = loop_probe
        self._is_profiling = False

    def stalls(self) -> Sequence[Stall]:
        return tuple(self._loop_probe.stalls)

    async def profile(self, seconds: float) -> str:
        """Folded stacks, the most frequent first: `outer;inner COUNT`."""
        if self._is_profiling:
            raise Busy("another profile is being taken; try again", seconds)
        self._is_profiling = True
        try:
            return await asyncio.to_thread(_sample, seconds)
        finally:
            self._is_profiling = False


def _sample(seconds: float) -> str:
    main = threading.main_thread().ident
    assert main is not None
    stacks: Counter[str] = Counter()
    end_s = time.monotonic() + seconds
    while time.monotonic() < end_s:
        frame = sys._current_frames().get(main)
        stack = _fold(frame)
        if stack in stacks or len(stacks) < STACKS_MAX:
            stacks[stack] += 1
        time.sleep(EVERY_S)
    return "\n".join(f"{stack} {count}" for stack, count in stacks.most_common())


def _fold(frame: FrameType | None) -> str:
    names: list[str] = []
    while frame is not None and len(names) < DEPTH_MAX:
        code = frame.f_code
        names.append(f"{PurePath(code.co_filename).stem}.{code.co_name}:{frame.f_lineno}")
        frame = frame.f_back
    return ";".join(reversed(names))
