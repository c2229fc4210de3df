"""Starts a cluster: in the foreground, or as a background process that reports when it is ready."""

from __future__ import annotations

import json
import os
import sys
import time
from dataclasses import dataclass

from shunter.app.home import Home

STARTING_MAX_S = 10.0  # so long is a cluster that is about to start waited for


@dataclass(frozen=True, slots=True)
class StartResult:
    """The result of the start. `error` is empty when the cluster runs."""

    url: str = ""
    workers: str = ""
    was_running: bool = False
    error: str = ""
    is_rejected: bool = False
    external: str = ""
    schedulers: str = ""
    policy: str = ""


def start_in_background(options_json: bytes) -> StartResult:
    """Returns when the API answers and the first node is ready, or with the reason why not."""
    home = Home.find()
    if home.is_locked():
        return running_cluster(home)
    read_fd, write_fd = os.pipe()
    log_fd = os.open(home.log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    null_fd = os.open(os.devnull, os.O_RDONLY)
    file_actions = [
        (os.POSIX_SPAWN_DUP2, null_fd, 0),
        (os.POSIX_SPAWN_DUP2, log_fd, 1),
        (os.POSIX_SPAWN_DUP2, log_fd, 2),
        (os.POSIX_SPAWN_DUP2, write_fd, 3),
    ]
    command = [sys.executable, "-m", "shunter.app.serve", options_json.decode(), "3"]
    environment = {**os.environ, "SHUNTER_HOME": str(home.folder)}
    os.posix_spawn(sys.executable, command, environment, file_actions=file_actions, setsid=True)
    for descriptor in (write_fd, log_fd, null_fd):
        os.close(descriptor)
    with os.fdopen(read_fd) as ready:
        line = ready.readline()
    if not line:
        return StartResult(error=f"the cluster did not start; see {home.log}")
    readiness = json.loads(line)
    if readiness.get("error") == "already running":
        return running_cluster(home)
    return StartResult(
        readiness.get("url", ""),
        readiness.get("workers", ""),
        error=readiness.get("error", ""),
        is_rejected=readiness.get("is_rejected", False),
        external=readiness.get("external", ""),
        schedulers=readiness.get("schedulers", ""),
        policy=readiness.get("policy", ""),
    )


def running_cluster(home: Home) -> StartResult:
    """The cluster that holds the lock of this home. It may be about to start, so wait for its address."""
    deadline = time.monotonic() + STARTING_MAX_S
    while (description := home.read_description()) is None and home.is_locked() and time.monotonic() < deadline:
        time.sleep(0.05)
    if description is None:
        return StartResult(error=f"another cluster is starting or stopping here; see {home.log} and try again")
    return StartResult(
        description.get("url", ""),
        description.get("workers") or "",
        was_running=True,
        external=description.get("external") or "",
        schedulers=description.get("schedulers") or "",
    )
