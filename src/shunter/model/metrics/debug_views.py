"""What a manager tells about itself when something is wrong, as JSON."""

from __future__ import annotations

import msgspec


class RoundView(msgspec.Struct, kw_only=True):
    at: str
    version: int
    commands: int
    changes: int
    size_bytes: int
    duration_s: float
    commit_s: float


class StallView(msgspec.Struct, kw_only=True):
    """The event loop ran nothing else for so long."""

    at: str
    duration_s: float


class DebugView(msgspec.Struct, kw_only=True):
    name: str
    version: str
    python: str
    metrics: str  # OpenMetrics text
    rounds: list[RoundView]  # the last ones, oldest first
    stalls: list[StallView]
    profile: str  # folded stacks of the event loop's thread, one a line, with the number of samples
