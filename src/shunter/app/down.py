"""Stopping the cluster of this home: ask it, and wait until its process is gone."""

from __future__ import annotations

import os
import signal
import time

from shunter.app.home import Home
from shunter.sdk.errors import NotReachable

STOP_MAX_S = 60.0


def stop_cluster(leave_running: bool) -> bool:
    """False if none was running. Raises TimeoutError if it does not end."""
    home = Home.find()
    if not home.is_locked():
        return False
    _ask(home, leave_running)
    deadline = time.monotonic() + STOP_MAX_S
    while home.is_locked():
        if time.monotonic() > deadline:
            raise TimeoutError(f"the cluster has not ended within {STOP_MAX_S:.0f} s; see {home.log}")
        time.sleep(0.02)
    return True


def _ask(home: Home, leave_running: bool) -> None:
    """By the API; by a signal where the API does not answer."""
    from shunter.sdk.client import connect

    try:
        with connect() as client:
            client.down(leave_running=leave_running)
    except NotReachable:
        description = home.read_description()
        if description is not None:
            os.kill(int(description["pid"]), signal.SIGTERM if leave_running else signal.SIGINT)
