"""The folder that a task without one of its own works in: fresh for every task. Used by `keeping.lane`.

A lane has one folder and uses it again as long as the tasks leave it empty, because making and removing a folder for
each would cost more than many of them run.
"""

from __future__ import annotations

import os


class Scratch:
    """The lane's folder; the keeper is in it while `current`."""

    def __init__(self, path: str) -> None:
        self.path = path

    def enter(self) -> None:
        """Make it and go there. Raises OSError."""
        os.makedirs(self.path, mode=0o700, exist_ok=True)
        os.chdir(self.path)

    def is_clean(self) -> bool:
        try:
            return not os.listdir(".")
        except OSError:  # the task removed it, or closed it to itself
            return False

    def renew(self) -> None:
        """Remove all that a task left. Raises OSError."""
        os.chdir("/")
        self.remove()
        self.enter()

    def remove(self) -> None:
        if os.path.isdir(self.path):
            _remove_tree(self.path)

    def size_bytes(self) -> int:
        """What it holds on disk; files that vanish meanwhile count nothing."""
        return _tree_bytes(self.path)


def _remove_tree(path: str) -> None:
    try:
        with os.scandir(path) as entries:
            found = list(entries)
    except PermissionError:
        os.chmod(path, 0o700)
        with os.scandir(path) as entries:
            found = list(entries)
    for entry in found:
        if entry.is_dir(follow_symlinks=False):
            _remove_tree(entry.path)
        else:
            os.unlink(entry.path)
    os.rmdir(path)


def _tree_bytes(path: str) -> int:
    total = 0
    try:
        with os.scandir(path) as entries:
            for entry in entries:
                status = entry.stat(follow_symlinks=False)
                total += status.st_blocks * 512
                if entry.is_dir(follow_symlinks=False):
                    total += _tree_bytes(entry.path)
    except OSError:
        pass
    return total
