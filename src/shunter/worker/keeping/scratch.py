"""The folder that a task without one of its own works in: fresh for every task. Used by `keeping.lane`.

A lane has one folder and uses it again as long as the tasks leave it empty: making and removing one for each would cost
a short task a tenth of its time. The kernel tells when something was put into it, which costs nothing while nothing is.
"""

from __future__ import annotations

import os
import select

from .kernel import open_watch, watch_folder

WATCH_READ_BYTES = 65536


class Scratch:
    """The lane's folder. The keeper is in it when it starts a task there.

    It lies in a folder of its own, which is watched too: a folder that is removed while somebody is in it does not tell
    so itself.
    """

    def __init__(self, lane_folder: str) -> None:
        self._lane_folder = lane_folder
        self.path = f"{lane_folder}/scratch"
        self._watch_fd = open_watch()
        self._poll = select.poll()
        if self._watch_fd >= 0:
            self._poll.register(self._watch_fd, select.POLLIN)
        self._watched = False

    def renew(self) -> None:
        """Make the folder anew and go there. Raises OSError."""
        self.remove()
        os.makedirs(self.path, mode=0o700)
        os.chdir(self.path)
        if self._watch_fd >= 0:
            self._watched = all(watch_folder(self._watch_fd, path) for path in (self._lane_folder, self.path))
            while self._poll.poll(0):
                os.read(self._watch_fd, WATCH_READ_BYTES)  # what we did ourselves

    def is_clean(self) -> bool:
        """Is it as it was made? Called in it."""
        if self._watched:
            return not self._poll.poll(0)
        try:
            os.chdir(self.path)  # it may be another folder of that name
            return not os.listdir(".")
        except OSError:
            return False

    def remove(self) -> None:
        """Leave it, and remove it with all that a task left. Raises OSError."""
        os.chdir("/")
        if os.path.isdir(self._lane_folder):
            _remove_tree(self._lane_folder)

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
