"""Starts a cluster: in the foreground, or as a background process that reports when it is ready."""

from __future__ import annotations

import json
import os
import sys
import time
from dataclasses import dataclass
from typing import Any

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
    fields: tuple[str, ...] = ()  # that the error is about


def start_in_background(options_json: bytes) -> StartResult:
    """Returns when the API answers and the first node is ready, or with the reason why not."""
    home = Home.find()
    running = running_cluster(home)
    if running is not None:
        return running
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
    if readiness.get("is_already_running"):
        return running_cluster(home) or StartResult(error="another cluster has just ended here; try again")
    return StartResult(
        readiness.get("url", ""),
        readiness.get("workers", ""),
        error=readiness.get("error", ""),
        is_rejected=readiness.get("is_rejected", False),
        external=readiness.get("external", ""),
        schedulers=readiness.get("schedulers", ""),
        policy=readiness.get("policy", ""),
        fields=tuple(readiness.get("fields", ())),
    )


def running_cluster(home: Home) -> StartResult | None:
    """The cluster that holds the lock of this home; None if the lock is free. Waits for one that is about to start, or
    that was killed and has not quite ended."""
    deadline = time.monotonic() + STARTING_MAX_S
    while home.is_locked():
        description = home.read_description()
        if description is not None and _is_running(int(description["pid"])):
            return _describe(description)
        if time.monotonic() > deadline:
            return StartResult(
                error=f"a worker, or a cluster that is starting or stopping, holds {home.folder}; see {home.log}"
            )
        time.sleep(0.02)
    return None


def _is_running(pid: int) -> bool:
    """Whether the process runs. One that was killed keeps its lock until its last thread has ended."""
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] not in ("Z", "X")
    except OSError:
        return False


def _describe(description: dict[str, Any]) -> StartResult:
    return StartResult(
        description.get("url", ""),
        description.get("workers") or "",
        was_running=True,
        external=description.get("external") or "",
        schedulers=description.get("schedulers") or "",
    )
