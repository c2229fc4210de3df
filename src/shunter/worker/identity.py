"""Identifies the home and the machine of a worker in its Hello. They tell a manager whether a worker that restarted can
know what ran here before: it finds only the keepers of its own home."""

from __future__ import annotations

import os
import re
import secrets
from pathlib import Path

ID_FILE = "id"
ID_BYTES = 16
ID_PATTERN = re.compile(rf"[0-9a-f]{{{2 * ID_BYTES}}}")
READ_MAX_BYTES = 256


def worker_id(home: Path) -> str:
    """Differs for every home. Raises OSError."""
    return read_or_make_id(home / ID_FILE)


def read_or_make_id(file: Path) -> str:
    """The random text in a file. It is made once; anything else in the file is replaced. Raises OSError."""
    if ID_PATTERN.fullmatch(found := _read(file)):
        return found
    made = secrets.token_hex(ID_BYTES)
    draft = file.with_suffix(".new")
    draft.unlink(missing_ok=True)
    with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as opened:
        opened.write(made)
        opened.flush()
        os.fsync(opened.fileno())
    draft.replace(file)
    return made


def machine_id() -> str:
    """Stays the same for an installation of the machine; empty where there is none."""
    return _read(Path("/etc/machine-id"))


def machine_boot_id() -> str:
    """Differs for every boot of the machine; empty where the kernel does not say."""
    return _read(Path("/proc/sys/kernel/random/boot_id"))


def _read(file: Path) -> str:
    """No link is followed: tasks may be able to write to the home, and would choose what is sent."""
    try:
        fd = os.open(file, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return ""
    with os.fdopen(fd, "rb") as opened:
        try:
            return opened.read(READ_MAX_BYTES).decode("ascii", "replace").strip()
        except OSError:
            return ""
