"""Limits of worker messages that both ends must know: the watcher refuses what exceeds them, so a worker must not send
it."""

from __future__ import annotations

PARTS_MAX = 250_000  # entries of all lists of a message: results, attempts, task samples; each costs time to read
HELD_MAX = 15_000  # attempts, or ranges of them, in an inventory: the manager compares them with its state in one go
TEXT_MAX = 65_536  # characters of a reason or a detail
EXIT_CODE_MAX = 2**15 - 1
TIME_MAX_MS = 253_402_300_799_999  # the last moment of the year 9999
HOWS = frozenset({"", "timeout", "memory", "disk", "stopped", "unhealthy", "error"})  # of Ended
