"""Decides how tasks of this node are kept from the cluster's secrets, once when the worker starts. Used by
`worker.process.keeper_pool`, which starts keepers accordingly, and for the worker's Hello, so that jobs can require it.

- `user`: tasks run as a user who cannot read the worker's files.
- `namespace`: tasks run as the worker's user, in a mount namespace without the secrets.
- `root`: tasks run as root. The secrets are hidden where possible, but root can look for them.
- `none`: tasks run as the worker's user and can read all that it can."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from shunter.log import Log
from shunter.model.job.isolation import NAMESPACE, NONE, ROOT, USER
from shunter.worker.keeper.task_user import find_identity
from shunter.worker.settings import WorkerSettings

log = Log(__name__)

MASKED_EXEC = str(Path(__file__).with_name("masked_exec.py"))
PROBE_MAX_S = 10.0
REPLACEABLE_FIX = (
    "tasks can read a file that replaces it while keepers run; keep it in a directory of its own with mode 0700, "
    "or write into the file instead"
)


@dataclass(frozen=True, slots=True)
class Isolation:
    """`masks` says what keepers hide from their tasks, if anything. `task_user` runs the tasks of a worker of root;
    empty: tasks run as the worker's own user."""

    name: str = NONE
    masks: dict[str, Any] | None = None
    task_user: str = ""

    def command_prefix(self) -> list[str]:
        """What a command of the worker must start with to see no more than tasks do."""
        return _masked_command(self.masks) if self.masks is not None and self.name == NAMESPACE else []


async def detect_isolation(settings: WorkerSettings) -> Isolation:
    """Try once what this machine allows."""
    identity = find_identity(settings.task_user) if settings.task_user and os.geteuid() == 0 else None
    is_other_user = identity is not None and identity.uid != 0
    task_user = settings.task_user if identity is not None and (identity.uid, identity.gid) != (0, 0) else ""
    masks = None
    if settings.cluster_homes and settings.hide_secrets:
        folders, replaceable = _find_folders(settings)
        wanted = {
            "homes": list(map(str, settings.cluster_homes)),
            "files": list(map(str, settings.secret_files)),
            "folders": list(map(str, folders)),
            "worker": str(settings.home),
        }
        problem = await asyncio.to_thread(_try_masks, wanted)
        masks = wanted if not problem else None
        if problem:
            log.warning("secrets.not_hidden", error=problem)
        elif not is_other_user:
            for file in replaceable:
                log.warning("secrets.replaceable", file=file, fix=REPLACEABLE_FIX)
    if os.geteuid() == 0:
        return Isolation(USER if is_other_user else ROOT, masks, task_user)
    return Isolation(NONE if masks is None else NAMESPACE, masks)


def _find_folders(settings: WorkerSettings) -> tuple[list[Path], list[Path]]:
    """The folders to hide beside the homes of clusters; and the secret files in none of them. Such a file is hidden,
    but not what replaces it under its name: a mount on a file goes with the file."""
    for folder in settings.secret_folders:  # it may come later, when keepers can hide it no more
        with suppress(OSError):
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    folders, replaceable = list(settings.secret_folders), []
    homes = [each.resolve() for each in settings.cluster_homes]
    for file in settings.secret_files:
        if file.parent.resolve() in (*homes, *folders):
            continue
        if _is_in_private_folder(file):
            folders.append(file.parent)
        else:
            replaceable.append(file)
    return folders, replaceable


def _is_in_private_folder(file: Path) -> bool:
    """Whether nobody misses the folder: only its owner may use it, and it has nothing but files."""
    folder = file.parent
    try:
        found = folder.stat()
        is_private = found.st_uid == os.geteuid() and not found.st_mode & 0o077 and not file.is_symlink()
        if not is_private or folder.resolve() in (Path.cwd(), Path("~").expanduser()):
            return False
        with os.scandir(folder) as entries:
            return not any(entry.is_dir() for entry in entries)
    except (OSError, RuntimeError):  # RuntimeError: the user has no home
        return False


def _try_masks(masks: dict[str, Any]) -> str:
    """Why the secrets cannot be hidden; empty if they can. A process of its own finds out, because only a process with
    a single thread can enter a namespace."""
    try:
        tried = subprocess.run(
            _masked_command(masks), stdin=subprocess.DEVNULL, capture_output=True, timeout=PROBE_MAX_S, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return str(error)
    return "" if tried.returncode == 0 else tried.stderr.decode(errors="replace").strip() or "unknown reason"


def _masked_command(masks: dict[str, Any]) -> list[str]:
    return [sys.executable, "-I", "-S", "-E", "-X", "utf8", MASKED_EXEC, json.dumps(masks)]
