"""Opens files that commands write for their user alone, such as `shunter flight export` and `shunter audit export`."""

from __future__ import annotations

import os


def open_private(path: str, flags: int) -> int:
    """The `opener` of `open`: whoever else could read a new file is kept out, whatever the umask is."""
    return os.open(path, flags, 0o600)
