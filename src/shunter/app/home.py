"""SHUNTER_HOME: the directory with all data of a cluster. A file lock allows one running cluster per home."""

from __future__ import annotations

import errno
import fcntl
import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from shunter.model.errors import Invalid, NotFound, Problem
from shunter.sdk.contexts import contexts_path
from shunter.sdk.endpoint import home_folder

DISK_FULL = (errno.ENOSPC, errno.EDQUOT)
PRIVATE_UMASK = 0o077  # of the processes of a cluster: nobody else reads or writes its files


@dataclass(frozen=True, slots=True)
class Home:
    """Paths of one home. Created on first use, readable by the owner only."""

    folder: Path

    @classmethod
    def find(cls) -> Home:
        home = cls(home_folder().absolute())
        if home.folder.is_file():
            fix = "name a directory in SHUNTER_HOME"
            raise Invalid([Problem("SHUNTER_HOME", "is a file", str(home.folder), fix)])
        try:
            for folder in (*reversed(home.folder.parents), home.folder):
                if not folder.exists():  # `parents=True` would leave the modes of the folders above to the umask
                    folder.mkdir(exist_ok=True, mode=0o700)
        except OSError as error:
            raise home.unusable(error) from error
        return home

    @property
    def config(self) -> Path:
        """The user's configuration, if any."""
        return self.folder / "config.toml"

    @property
    def store(self) -> Path:
        return self.folder / "store.db"

    @property
    def token(self) -> Path:
        return self.folder / "token"

    @property
    def worker_token(self) -> Path:
        return self.folder / "worker-token"

    @property
    def secrets_key(self) -> Path:
        """The keys that encrypt secrets. No backup has them."""
        return self.folder / "secrets.key"

    @property
    def authority(self) -> Path:
        """The private certificate authority: keys and trusted certificates."""
        return self.folder / "ca"

    @property
    def tls(self) -> Path:
        """The certificates of this home's own processes."""
        return self.folder / "tls"

    @property
    def worker(self) -> Path:
        """The local worker's data: sockets of keepers, logs, scratch folders."""
        return self.folder / "worker"

    @property
    def log(self) -> Path:
        return self.folder / "shunter.log"

    @property
    def flight(self) -> Path:
        """The flight recorder's files."""
        return self.folder / "flight"

    @property
    def rollups(self) -> Path:
        """What earlier versions added up over time; it moves into the store."""
        return self.folder / "rollups"

    @property
    def description(self) -> Path:
        return self.folder / "cluster.json"

    @property
    def is_of_manager(self) -> bool:
        """Whether a manager has run here, even if none runs now."""
        return any(path.exists() for path in (self.token, self.store, self.description))

    def reset_token(self) -> None:
        """Replace the admin token; a manager that runs here reads the new one. Raises NotFound if this is no manager's
        home."""
        from shunter.gateway.tokens import make_token

        if not self.is_of_manager:
            fix = "run this on the machine of a manager, with its SHUNTER_HOME"
            raise NotFound(f"{self.folder} is not the home of a manager; {fix}")
        make_token(self.token)

    def lock(self) -> int | None:
        """Hold this home until the process ends; None if another process holds it."""
        try:
            descriptor = os.open(self.folder / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise self.unusable(error) from error
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(descriptor)
            return None
        return descriptor

    def is_locked(self) -> bool:
        """Writes nothing, so that it works in a home that is read-only."""
        try:
            descriptor = os.open(self.folder / "lock", os.O_RDONLY | os.O_CLOEXEC)
        except FileNotFoundError:
            return False
        except OSError as error:
            raise self.unusable(error) from error
        try:
            fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        finally:
            os.close(descriptor)
        return False

    def write_description(self, description: dict[str, Any]) -> None:
        """Tell clients where the cluster is; whole or not at all."""
        draft = self.description.with_suffix(".draft")
        draft.write_text(json.dumps(description))
        draft.replace(self.description)

    def read_description(self) -> dict[str, Any] | None:
        """None if there is none, or if it is damaged."""
        try:
            found = json.loads(self.description.read_text())
        except (OSError, ValueError):
            return None
        if not isinstance(found, dict) or not isinstance(found.get("url"), str):
            return None
        pid = found.get("pid")
        return found if isinstance(pid, int) and 0 < pid < 2**31 else None

    def remove_description(self) -> None:
        self.description.unlink(missing_ok=True)

    def unusable(self, error: OSError) -> Invalid:
        fix = "free some space" if error.errno in DISK_FULL else "make it writable"
        fix = f"{fix}, or name another directory in SHUNTER_HOME"
        return Invalid([Problem("SHUNTER_HOME", f"cannot be used: {error.strerror}", str(self.folder), fix)])


def sign_in_folders() -> tuple[Path, ...]:
    """Where the commands of this user keep sign-ins, and tokens of other clusters."""
    try:
        return (contexts_path(os.environ).parent.absolute(),)
    except RuntimeError:  # a user without a home has none
        return ()
