"""Stops the cluster of this home and waits until its process has ended. Called by `shunter down`."""

from __future__ import annotations

import os
import select
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
    process = _open_process(home)
    _request_stop(home, leave_running)
    deadline = time.monotonic() + STOP_MAX_S
    while home.is_locked():
        if time.monotonic() > deadline:
            raise TimeoutError(f"the cluster did not stop within {STOP_MAX_S:.0f} s; see {home.log}")
        time.sleep(0.02)
    if process is not None:
        # The lock is released a moment before the process ends; wait for that too.
        select.select([process], [], [], max(deadline - time.monotonic(), 0))
        os.close(process)
    return True


def _open_process(home: Home) -> int | None:
    """A descriptor of the cluster's process, which becomes readable when that has ended."""
    description = home.read_description()
    try:
        return None if description is None else os.pidfd_open(int(description["pid"]))
    except OSError:
        return None


def _request_stop(home: Home, leave_running: bool) -> None:
    """Use the API, or a signal if the API does not answer. Always for this home, whatever SHUNTER_URL says."""
    from shunter.sdk.client import connect

    description = home.read_description()
    if description is None:
        raise NotReachable(
            "this home belongs to a worker, or to a cluster that is still starting; try again, or stop the process"
        )
    try:
        with connect(description["url"], home.token.read_text().strip()) as client:
            client.down(leave_running=leave_running)
    except NotReachable:
        os.kill(int(description["pid"]), signal.SIGTERM if leave_running else signal.SIGINT)
