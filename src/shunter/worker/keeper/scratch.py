"""The working folder of tasks that do not set one: empty for every task. Used by `keeper.task`.

A lane has one folder and reuses it while tasks leave it empty: creating and removing a folder for each would cost a
short task a tenth of its time. The kernel tells when something was put into it, which costs nothing otherwise."""

from __future__ import annotations

import os

from .syscalls import open_watch, watch_folder
from .task_user import StartError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .task_user import Identity

WATCH_READ_BYTES = 65536


class Scratch:
    """The lane's folder. The keeper is in it when it starts a task there.

    It lies in a folder of its own, which is watched too: a folder that is removed while somebody is in it does not tell
    so itself. `watch_fd` is readable when a task has used either; -1 where nothing can be watched.

    If tasks run as another user, that is its `owner`, whose files are removed with no more rights than the owner has.
    """

    def __init__(self, lane_folder: str, owner: Identity | None = None) -> None:
        self._lane_folder = lane_folder
        self._owner = owner
        self.path = f"{lane_folder}/scratch"
        self.watch_fd = open_watch()
        self.is_fresh = False  # made, entered, and not used by a task since

    def reset(self) -> None:
        """Create the folder again unless it is empty, and enter it. Raises OSError."""
        if self.watch_fd < 0 and self._is_empty():
            self.is_fresh = True
            return
        self.remove()
        if self._owner is None:
            make_folders(self.path)
        else:
            make_own_folder(self._lane_folder)
            os.mkdir(self.path, 0o700)
            os.chown(self.path, self._owner.uid, self._owner.gid)
        os.chdir(self.path)
        if self.watch_fd >= 0:
            self._watch()
        self.is_fresh = True

    def remove(self) -> None:
        """Leave it, and remove it with all that a task left. Raises OSError."""
        self.is_fresh = False
        os.chdir("/")
        if not os.path.isdir(self._lane_folder):
            return
        if self._owner is not None:
            make_own_folder(self._lane_folder)
            self._empty_as_owner(self._owner)
        remove_tree(self._lane_folder)

    def _empty_as_owner(self, owner: Identity) -> None:
        """Another process of the owner could lead us elsewhere while we walk through the folder."""
        if not os.path.isdir(self.path):
            return
        owner.assume()
        try:
            remove_tree(self.path, keep_root=True)
        finally:
            owner.resume()
            os.chdir("/")
        os.rmdir(self.path)

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


def make_folders(path: str, mode: int = 0o700) -> None:
    """Make a folder and those above it that are missing, all with this mode: `os.makedirs` would leave the mode of
    those above to the umask."""
    missing = []
    while path and not os.path.isdir(path):
        missing.append(path)
        path = os.path.dirname(path)
    for each in reversed(missing):
        try:
            os.mkdir(each, mode)
        except FileExistsError:
            if not os.path.isdir(each):
                raise


def make_own_folder(folder: str) -> None:
    """Make a folder below a public one that everybody may pass through, or make sure that it is ours. Raises
    StartError."""
    try:
        os.mkdir(folder, 0o711)
        os.chmod(folder, 0o711)  # whatever the umask
    except FileExistsError:
        if os.lstat(folder).st_uid != os.geteuid() or not os.path.isdir(folder) or os.path.islink(folder):
            raise StartError(f"{folder} belongs to another user: remove it") from None


def remove_tree(path: str, keep_root: bool = False) -> None:
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
    if not keep_root:
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
