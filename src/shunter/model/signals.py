"""The signals that can stop a task, by name. Numbers are those of Linux, on every client."""

from __future__ import annotations

SIGNALS = {"HUP": 1, "INT": 2, "QUIT": 3, "ABRT": 6, "KILL": 9, "USR1": 10, "USR2": 12, "TERM": 15}


def signal_number(name: str | None) -> int:
    """0 means the default signal."""
    return 0 if name is None else SIGNALS[name]
