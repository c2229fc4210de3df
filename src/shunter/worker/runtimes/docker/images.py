"""Pulls images: one pull for all tasks that wait for the same image, reported in their logs, and retried with a growing
delay where a retry can help. Used by `docker.runtime`."""

from __future__ import annotations

import asyncio
import base64
import os
import random
import re
from collections.abc import Callable
from pathlib import Path
from time import monotonic
from typing import Any

import msgspec

from shunter.log import Log
from shunter.worker.runtimes.docker.daemon import Daemon, DaemonError
from shunter.worker.runtimes.port import NotStarted

log = Log(__name__)

PULLS_MAX = 3  # at once
TRIES_MAX = 6
DELAY_S, DELAY_FACTOR, DELAY_MAX_S, JITTER = 1.0, 2.0, 30.0, 0.2
PROGRESS_EVERY_S = 5.0
SILENT_MAX_S = 300.0  # without progress: then the attempt counts as failed
# Errors of a registry that a retry would not change.
PERMANENT_ERROR = re.compile(
    r"not found|denied|unauthorized|unknown|invalid reference|no basic auth|does not exist", re.I
)
PERMANENT_STATUSES = (400, 401, 403, 404)
SILENT = 504

Notify = Callable[[str], None]


class Pull:
    """One pull, and the tasks that wait for it."""

    def __init__(self) -> None:
        self.listeners: list[Notify] = []
        self.last_message = ""  # last
        self.task: asyncio.Task[None] | None = None

    def notify(self, text: str) -> None:
        self.last_message = text
        for listener in self.listeners:
            listener(text)


class Images:
    def __init__(self, daemon: Daemon, delay_s: float = DELAY_S, silent_max_s: float = SILENT_MAX_S) -> None:
        self._daemon = daemon
        self._delay_s = delay_s
        self._silent_max_s = silent_max_s
        self._pulls: dict[str, Pull] = {}
        self._pull_semaphore = asyncio.Semaphore(PULLS_MAX)

    async def pull(self, image: str, notify: Notify) -> None:
        """Wait until the image is on this node. `notify` gets the progress. Raises NotStarted, DaemonUnavailable."""
        pull = self._pulls.setdefault(image, Pull())
        if pull.task is None:
            pull.task = asyncio.get_running_loop().create_task(self._pull(image, pull))
        if pull.last_message:
            notify(pull.last_message)
        pull.listeners.append(notify)
        try:
            await asyncio.shield(pull.task)
        finally:
            pull.listeners.remove(notify)
            if pull.task.done() or not pull.listeners:  # a pull without waiters makes room for others
                pull.task.cancel()
                if self._pulls.get(image) is pull:
                    del self._pulls[image]

    async def close(self) -> None:
        pulls = [pull.task for pull in self._pulls.values() if pull.task is not None]
        for pulling in pulls:
            pulling.cancel()
        await asyncio.gather(*pulls, return_exceptions=True)

    async def _pull(self, image: str, pull: Pull) -> None:
        def notify(text: str) -> None:
            log.info("image.pull", image=image, progress=text)
            pull.notify(f"image {image}: {text}")

        await asyncio.sleep(0)  # so that the caller is already listening
        delay_s = self._delay_s
        for number in range(1, TRIES_MAX + 1):
            try:
                async with self._pull_semaphore:
                    await self._pull_once(image, notify)
                return
            except DaemonError as error:
                reason = _one_line(str(error))
                if error.status in PERMANENT_STATUSES or PERMANENT_ERROR.search(reason):
                    raise NotStarted(f"image {image} cannot be pulled: {reason}") from error
                if number == TRIES_MAX:
                    raise NotStarted(f"image {image} cannot be pulled, tried {TRIES_MAX} times: {reason}") from error
            wait_s = delay_s * random.uniform(1 - JITTER, 1 + JITTER)
            notify(f"try {number} of {TRIES_MAX} failed ({reason}); next try in {wait_s:.1f} s")
            await asyncio.sleep(wait_s)
            delay_s = min(delay_s * DELAY_FACTOR, DELAY_MAX_S)

    async def _pull_once(self, image: str, notify: Notify) -> None:
        started_at = notified_at = monotonic()
        layers: dict[str, Layer] = {}
        notify("pulling")
        clock = asyncio.get_running_loop().time
        try:
            async with asyncio.timeout(self._silent_max_s) as silence:
                async for item in self._daemon.pull(image, find_auth(image)):
                    silence.reschedule(clock() + self._silent_max_s)
                    record_progress(layers, item)
                    if monotonic() - notified_at >= PROGRESS_EVERY_S and layers:
                        notified_at = monotonic()
                        notify(summary(layers))
        except TimeoutError as error:
            raise DaemonError(SILENT, f"no data for {self._silent_max_s:g} s") from error
        notify(f"pulled in {monotonic() - started_at:.1f} s")


class Layer(msgspec.Struct):
    is_done: bool = False
    current_bytes: int = 0
    total_bytes: int = 0


def record_progress(layers: dict[str, Layer], item: dict[str, Any]) -> None:
    """Process one item of the daemon's progress."""
    status, id = item.get("status", ""), item.get("id", "")
    if not id or status.startswith("Pulling from"):
        return
    layer = layers.setdefault(id, Layer())
    detail = item.get("progressDetail") or {}
    if status == "Downloading":
        layer.current_bytes = int(detail.get("current") or 0)
        layer.total_bytes = int(detail.get("total") or 0)
    elif status in ("Download complete", "Extracting", "Pull complete", "Already exists"):
        layer.current_bytes = layer.total_bytes
        layer.is_done = status in ("Pull complete", "Already exists")


def summary(layers: dict[str, Layer]) -> str:
    done = sum(layer.is_done for layer in layers.values())
    current = sum(layer.current_bytes for layer in layers.values()) / 2**20
    total = sum(layer.total_bytes for layer in layers.values()) / 2**20
    return f"{done} of {len(layers)} layers, {current:.1f} of {total:.1f} MiB"


def find_auth(image: str) -> dict[str, str] | None:
    """The credentials of `docker login` for the image's registry, if the user's file has them in plain form."""
    registry, slash, _ = image.partition("/")
    if not slash or not ("." in registry or ":" in registry or registry == "localhost"):
        return None
    folder = Path(os.environ.get("DOCKER_CONFIG") or Path.home() / ".docker")
    try:
        entry = msgspec.json.decode((folder / "config.json").read_bytes())["auths"][registry]
        user, colon, password = base64.b64decode(entry["auth"]).decode().partition(":")
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return {"username": user, "password": password} if colon else None


def _one_line(text: str) -> str:
    return " ".join(text.split())
