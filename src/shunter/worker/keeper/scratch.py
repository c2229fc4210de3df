"""The working folder of tasks that do not set one: empty for every task. Used by `keeper.task`.

A lane has one folder and reuses it while tasks leave it empty: creating and removing a folder for each would cost a
short task a tenth of its time. The kernel tells when something was put into it, which costs nothing otherwise."""

from __future__ import annotations

import os

from .syscalls import open_watch, watch_folder

WATCH_READ_BYTES = 65536


class Scratch:
    """The lane's folder. The keeper is in it when it starts a task there.

    It lies in a folder of its own, which is watched too: a folder that is removed while somebody is in it does not tell
    so itself. `watch_fd` is readable when a task has used either; -1 where nothing can be watched.
    """

    def __init__(self, lane_folder: str) -> None:
        self._lane_folder = lane_folder
        self.path = f"{lane_folder}/scratch"
        self.watch_fd = open_watch()
        self.is_fresh = False  # made, entered, and not used by a task since

    def reset(self) -> None:
        """Create the folder again unless it is empty, and enter it. Raises OSError."""
        if self.watch_fd < 0 and self._is_empty():
            self.is_fresh = True
            return
        self.remove()
        os.makedirs(self.path, mode=0o700)
        os.chdir(self.path)
        if self.watch_fd >= 0:
            self._watch()
        self.is_fresh = True

    def remove(self) -> None:
        """Leave it, and remove it with all that a task left. Raises OSError."""
        self.is_fresh = False
        os.chdir("/")
        if os.path.isdir(self._lane_folder):
            remove_tree(self._lane_folder)

    def _is_empty(self) -> bool:
        try:
            os.chdir(self.path)
            return not os.listdir(".")
        except OSError:
            return False

    def _watch(self) -> None:
        if not all(watch_folder(self.watch_fd, path) for path in (self._lane_folder, self.path)):
            os.close(self.watch_fd)
            self.watch_fd = -1
            return
        try:
            while os.read(self.watch_fd, WATCH_READ_BYTES):
                pass  # our own changes
        except BlockingIOError:
            pass


def remove_tree(path: str) -> None:
    """Leave for "/" and remove a folder: without recursion and long paths, because a task may have nested folders
    deeper than either allows."""
    os.chdir(path)
    entered: list[str] = []
    to_enter = [_empty_folder()]
    while to_enter:
        if to_enter[-1]:
            name = to_enter[-1].pop()
            _make_accessible(name)
            os.chdir(name)
            entered.append(name)
            to_enter.append(_empty_folder())
        else:
            to_enter.pop()
            if entered:
                os.chdir("..")
                os.rmdir(entered.pop())
    os.chdir("/")
    os.rmdir(path)


def _empty_folder() -> list[str]:
    """Remove the files of the folder that we are in; returns its folders."""
    folders = []
    with os.scandir(".") as entries:
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                folders.append(entry.name)
            else:
                os.unlink(entry.name)
    return folders


def _make_accessible(name: str) -> None:
    if not os.access(name, os.R_OK | os.W_OK | os.X_OK):
        os.chmod(name, 0o700)


def tree_bytes(path: str) -> int:
    total = 0
    folders = [path]
    while folders:
        try:
            with os.scandir(folders.pop()) as entries:
                for entry in entries:
                    total += entry.stat(follow_symlinks=False).st_blocks * 512
                    if entry.is_dir(follow_symlinks=False):
                        folders.append(entry.path)
        except OSError:
            pass  # it went away, or its path is too long to look into
    return total
