"""The trace of a simulation: its last events, for failure reports, and a hash of all events."""

from __future__ import annotations

import hashlib
from collections import Counter, deque
from collections.abc import Callable

from shunter.simulation.runtime.loop import START_S

LAST_EVENTS_MAX = 50


class Trace:
    """`steps` counts events; two runs of one seed must give the same `digest`."""

    def __init__(self, now: Callable[[], float], echo: bool = False) -> None:
        self.steps = 0
        self.counts: Counter[str] = Counter()
        self._now = now
        self._echo = echo
        self._last: deque[str] = deque(maxlen=LAST_EVENTS_MAX)
        self._hash = hashlib.blake2b(digest_size=16)

    def record(self, event: str, detail: str = "") -> None:
        self.steps += 1
        self.counts[event] += 1
        line = f"{self.steps:6d} {self._now() - START_S:9.3f}s {event} {detail}".rstrip()
        self._hash.update(line.encode())
        if event != "heartbeat.delivered":  # they would crowd out what led to a failure
            self._last.append(line)
        if self._echo:
            print(line, flush=True)

    def last_events(self) -> list[str]:
        return list(self._last)

    @property
    def digest(self) -> str:
        return self._hash.hexdigest()
