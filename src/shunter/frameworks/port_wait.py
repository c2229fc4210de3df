"""Waits until a program listens on a port. Used by the launchers."""

from __future__ import annotations

import socket
import time
from collections.abc import Callable

POLL_INTERVAL_S = 0.1


def wait_until_open(host: str, port: int, timeout_s: float, is_alive: Callable[[], bool]) -> bool:
    """Whether the port is open in time, while the program lives."""
    deadline_s = time.monotonic() + timeout_s
    while is_alive() and time.monotonic() < deadline_s:
        try:
            socket.create_connection((host, port), timeout=1.0).close()
        except OSError:
            time.sleep(POLL_INTERVAL_S)
        else:
            return True
    return False
