"""Stops the manager of this home with its own worker, or the whole cluster, and waits until the process has ended.
Called by `shunter down`."""

from __future__ import annotations

import os
import select
import signal
import time
from typing import TYPE_CHECKING, Any

from shunter.app.home import Home
from shunter.sdk.errors import NotReachable, NotTrusted

if TYPE_CHECKING:
    from shunter.sdk.client import Client

STOP_MAX_S = 60.0


def stop_cluster(leave_running: bool, is_whole_cluster: bool = False) -> list[str] | None:
    """What could not be stopped of the whole cluster; None if none was running. Raises TimeoutError if the manager of
    this home does not end."""
    home = Home.find()
    if not home.is_locked():
        return None
    process = _open_process(home)
    not_stopped = _request_stop(home, leave_running, is_whole_cluster)
    deadline = time.monotonic() + STOP_MAX_S
    while home.is_locked():
        if time.monotonic() > deadline:
            raise TimeoutError(f"the cluster did not stop within {STOP_MAX_S:.0f} s; see {home.log}")
        time.sleep(0.02)
    if process is not None:
        # The lock is released a moment before the process ends; wait for that too.
        select.select([process], [], [], max(deadline - time.monotonic(), 0))
        os.close(process)
    return not_stopped


def _open_process(home: Home) -> int | None:
    """A descriptor of the cluster's process, which becomes readable when that has ended."""
    description = home.read_description()
    try:
        return None if description is None else os.pidfd_open(int(description["pid"]))
    except OSError:
        return None


def other_nodes() -> list[str]:
    """The connected nodes besides the one of this home's own process."""
    home = Home.find()
    if not home.is_locked():
        return []
    description = _description(home)
    with _connect(home, description) as client:
        nodes = [node.name for node in client.nodes() if node.state != "down"]
    return [name for name in nodes if name != description.get("node")]


def _connect(home: Home, description: dict[str, Any]) -> Client:
    """Always to the cluster of this home, whatever SHUNTER_URL says."""
    from shunter.sdk.client import connect

    return connect(description["url"], home.token.read_text().strip(), ca_file=description.get("ca"))


def _description(home: Home) -> dict[str, Any]:
    description = home.read_description()
    if description is None:
        raise NotReachable(
            "this home belongs to a worker, or to a cluster that is still starting; try again, or stop the process"
        )
    return description


def _request_stop(home: Home, leave_running: bool, is_whole_cluster: bool) -> list[str]:
    """Use the API, or a signal if the API does not answer, which reaches this process only."""
    description = _description(home)
    try:
        with _connect(home, description) as client:
            return client.down(leave_running=leave_running, cluster=is_whole_cluster)
    except (NotReachable, NotTrusted):
        if is_whole_cluster:
            raise
        os.kill(int(description["pid"]), signal.SIGTERM if leave_running else signal.SIGINT)
        return []
