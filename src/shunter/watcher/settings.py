"""Settings of the watcher. docs/operations/heartbeats.md lists the defaults, and a test compares them."""

from __future__ import annotations

from dataclasses import dataclass

HEARTBEAT_MIN_S = 1.0
HEARTBEAT_MAX_S = 15.0
HEARTBEATS_PER_S_MAX = 200  # what the manager wants to see of all nodes together, as far as HEARTBEAT_MAX_S allows
SILENT_HEARTBEATS = 2.5  # two were missed, and the second is half an interval late
TIMEOUT_HEARTBEATS = 3.0
TIMEOUT_MIN_S = 10.0  # a short network outage must not run tasks twice


@dataclass(frozen=True, slots=True)
class WatcherSettings:
    heartbeat_s: float | None = None  # None: follows the number of nodes
    timeout_s: float | None = None  # None: TIMEOUT_HEARTBEATS intervals, at least TIMEOUT_MIN_S
    return_s: float = 15.0  # how long workers may take to come back when the manager has restarted
    handshake_timeout_s: float = 10.0  # from the connection to the inventory
    request_timeout_s: float = 10.0  # for a worker's answer to ReadLog and ReadStats
    requests_max: int = 256  # unanswered ones of one worker
