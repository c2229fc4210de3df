"""Hides the cluster's secrets from tasks: in a mount namespace of its own, the process sees the folders of the
cluster's home, but none of its files. Used by `keeper.lane`, so that tasks inherit the view, and by `masked_exec.py`.

A user other than root needs a user namespace for that. A task in it has no rights over the mounts, and cannot inspect
processes outside of it. For a task of root, the secrets are only hidden: root can find them in other processes."""

from __future__ import annotations

import os

from .syscalls import mount, unshare, write_kernel_file

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

NEW_MOUNTS, NEW_USER = 0x20000, 0x10000000
READ_ONLY, NO_SUID, NO_DEVICES, NO_PROGRAMS, REMOUNT, BIND, RECURSIVE, SLAVE = 1, 2, 4, 8, 32, 4096, 16384, 1 << 19
# Of a cluster's home; tasks may work in the others. `ca` has the key that signs certificates.
HIDDEN_FOLDERS = ("backups", "ca", "flight", "rollups", "tls")
WORKER_FOLDERS = ("logs", "work")  # of the worker's home: the only ones that keepers and tasks need


def hide_secrets(masks: dict[str, Any]) -> None:
    """Hide the files of each of `homes` and `folders`, each of `files`, and what tasks do not need of `worker`, the
    worker's home, from this process and its children for good. The process must have a single thread. Raises OSError
    where the machine does not allow it; then the process must not go on."""
    uid, gid = os.geteuid(), os.getegid()
    unshare(NEW_MOUNTS if uid == 0 else NEW_MOUNTS | NEW_USER)
    if uid != 0:
        write_kernel_file("/proc/self/setgroups", "deny")
        write_kernel_file("/proc/self/uid_map", f"{uid} {uid} 1")
        write_kernel_file("/proc/self/gid_map", f"{gid} {gid} 1")
    mount(None, "/", None, SLAVE | RECURSIVE)  # what the machine mounts later appears here too, but not vice versa
    for file in masks["files"]:  # a file that replaces it would be seen, other than in a folder that is covered
        if os.path.exists(file):
            mount("/dev/null", file, None, BIND)
    for home in masks["homes"]:
        _cover(home, [name for name in _folders(home) if name not in HIDDEN_FOLDERS])
    for folder in masks["folders"]:
        if os.path.isdir(folder):
            _cover(folder, _folders(folder))
    if os.path.isdir(masks["worker"]):  # a first start tries the masks before it makes its home
        _cover(masks["worker"], [name for name in _folders(masks["worker"]) if name in WORKER_FOLDERS])


def _folders(path: str) -> list[str]:
    with os.scandir(path) as entries:
        return [entry.name for entry in entries if entry.is_dir(follow_symlinks=False)]


def _cover(home: str, visible: list[str]) -> None:
    """Cover the home with an empty file system, and mount the visible folders into that again."""
    folders = {name: os.open(f"{home}/{name}", os.O_PATH | os.O_NOFOLLOW) for name in visible}
    flags = NO_SUID | NO_DEVICES | NO_PROGRAMS
    mount("shunter", home, "tmpfs", flags, f"size=64k,mode={os.stat(home).st_mode & 0o777:o}")
    for name, fd in folders.items():
        os.mkdir(f"{home}/{name}", 0o700)
        mount(f"/proc/self/fd/{fd}", f"{home}/{name}", None, BIND | RECURSIVE)
        os.close(fd)
    mount(None, home, None, REMOUNT | BIND | READ_ONLY | flags)
