"""Computes the heartbeat interval, and how long a node may be silent. Called by the watcher whenever nodes come and go.

The interval grows with the number of nodes, in whole seconds, so that the manager receives heartbeats at a bounded
rate. It can also be set by hand."""

from __future__ import annotations

import math

from shunter.model.errors import Invalid, Problem
from shunter.model.rest.admin_fields import HEARTBEAT_SETTING_MAX_S, HEARTBEAT_SETTING_MIN_S
from shunter.watcher.settings import (
    HEARTBEAT_MAX_S,
    HEARTBEAT_MIN_S,
    HEARTBEATS_PER_S_MAX,
    SILENT_HEARTBEATS,
    TIMEOUT_HEARTBEATS,
    TIMEOUT_MIN_S,
    WatcherSettings,
)

SHRINK_MARGIN = 1.1  # a shorter interval must still do for a tenth more nodes, so that one node does not flip it


class HeartbeatInterval:
    def __init__(self, settings: WatcherSettings) -> None:
        self._timeout_s = settings.timeout_s
        self.heartbeat_s = HEARTBEAT_MIN_S
        self.set_manual(settings.heartbeat_s)
        self.adapt(nodes=0)

    def adapt(self, nodes: int) -> bool:
        """Adapt to the number of nodes; returns whether the interval changed."""
        if self._manual_s is not None:
            chosen_s = self._manual_s
        elif automatic_s(nodes) >= self.heartbeat_s:
            chosen_s = automatic_s(nodes)
        else:
            chosen_s = min(self.heartbeat_s, automatic_s(math.ceil(nodes * SHRINK_MARGIN)))
        previous_s, self.heartbeat_s = self.heartbeat_s, self._longest_allowed(chosen_s)
        return self.heartbeat_s != previous_s

    def set_manual(self, heartbeat_s: float | None) -> None:
        """None: follow the number of nodes again. Takes effect with the next `adapt`. Raises Invalid."""
        if heartbeat_s is not None:
            self._check(heartbeat_s)
        self._manual_s = heartbeat_s

    def silent_after_s(self, heartbeat_s: float) -> float:
        return min(heartbeat_s * SILENT_HEARTBEATS, self.down_after_s(heartbeat_s))

    def down_after_s(self, heartbeat_s: float) -> float:
        if self._timeout_s is not None:
            return self._timeout_s
        return max(heartbeat_s * TIMEOUT_HEARTBEATS, TIMEOUT_MIN_S)

    def _check(self, heartbeat_s: float) -> None:
        if not HEARTBEAT_SETTING_MIN_S <= heartbeat_s <= HEARTBEAT_SETTING_MAX_S:
            fix = f"use {HEARTBEAT_SETTING_MIN_S} to {HEARTBEAT_SETTING_MAX_S:.0f} seconds"
            raise Invalid([Problem("heartbeat", "is out of range", heartbeat_s, fix)])
        if heartbeat_s > self._longest_allowed(heartbeat_s):
            fix = f"use at most {self._longest_allowed(heartbeat_s)} seconds, a third of the timeout"
            raise Invalid([Problem("heartbeat", "is too long for the heartbeat timeout", heartbeat_s, fix)])

    def _longest_allowed(self, heartbeat_s: float) -> float:
        """With a fixed timeout, nodes must be able to send several heartbeats within it."""
        return heartbeat_s if self._timeout_s is None else min(heartbeat_s, self._timeout_s / TIMEOUT_HEARTBEATS)


def automatic_s(nodes: int) -> float:
    """The shortest whole number of seconds that keeps the rate, within the limits."""
    return min(max(float(math.ceil(nodes / HEARTBEATS_PER_S_MAX)), HEARTBEAT_MIN_S), HEARTBEAT_MAX_S)
