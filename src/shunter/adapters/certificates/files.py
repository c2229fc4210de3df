"""Reads and writes files with keys and certificates. Used by this folder and by `app.tls`."""

from __future__ import annotations

import os
import re
from pathlib import Path

SIZE_MAX_BYTES = 2**20
PRIVATE_MODE = 0o600
_BLOCK = re.compile(rb"-----BEGIN ([A-Z ]+)-----.*?-----END \1-----\n?", re.DOTALL)


def write_whole(path: Path, content: bytes, mode: int = PRIVATE_MODE) -> None:
    """All or nothing, on disk when it returns: a crash leaves the old file or the new one."""
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    draft = path.with_name(f".{path.name}.draft")
    draft.unlink(missing_ok=True)
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(descriptor)
        draft.replace(path)
    except BaseException:
        draft.unlink(missing_ok=True)
        raise


def read_limited(path: Path) -> bytes:
    """Raises OSError."""
    with path.open("rb") as file:
        return file.read(SIZE_MAX_BYTES)


def blocks(pem: bytes, label: str) -> list[bytes]:
    """The parts of PEM text with a label like CERTIFICATE or PRIVATE KEY."""
    return [match[0] for match in _BLOCK.finditer(pem) if match[1].decode() == label]
