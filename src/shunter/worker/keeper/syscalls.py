"""Kernel calls that the standard library does not offer, and writes to files of the kernel. Used throughout the
keeper."""

from __future__ import annotations

import ctypes
import os

_libc = ctypes.CDLL(None, use_errno=True)
_KEEP_SIZE_AND_PUNCH = 0x01 | 0x02
_PR_SET_CHILD_SUBREAPER = 36
_IN_ATTRIB, _IN_MOVED_FROM, _IN_MOVED_TO, _IN_CREATE, _IN_DELETE = 0x4, 0x40, 0x80, 0x100, 0x200


def punch_hole(fd: int, start: int, length: int) -> bool:
    """Give the bytes back to the file system; they read as zeros. False where the file system cannot."""
    if length <= 0:
        return True
    call = _libc.fallocate64
    return bool(call(fd, _KEEP_SIZE_AND_PUNCH, ctypes.c_int64(start), ctypes.c_int64(length)) == 0)


def adopt_orphans() -> bool:
    """From now on a descendant whose parent ends becomes this process's child."""
    return bool(_libc.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0)


def open_watch() -> int:
    """A file descriptor that becomes readable when a watched folder changes; -1 where there are too many already."""
    return int(_libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC))


def watch_folder(watch_fd: int, path: str) -> bool:
    """Tell by `watch_fd` when something comes into the folder, leaves it or changes its attributes."""
    events = _IN_ATTRIB | _IN_MOVED_FROM | _IN_MOVED_TO | _IN_CREATE | _IN_DELETE
    return bool(_libc.inotify_add_watch(watch_fd, os.fsencode(path), events) >= 0)


def unshare(flags: int) -> None:
    """Leave the namespaces of the parent for new ones. Raises OSError."""
    _check(_libc.unshare(flags), None)


def mount(source: str | None, target: str, kind: str | None, flags: int, options: str | None = None) -> None:
    """Raises OSError."""
    texts = [None if text is None else os.fsencode(text) for text in (source, target, kind, options)]
    _check(_libc.mount(texts[0], texts[1], texts[2], ctypes.c_ulong(flags), texts[3]), target)


def write_kernel_file(path: str, text: str) -> None:
    """Write a file below /proc or of a control group: all in one call, and without creating it. Raises OSError."""
    fd = os.open(path, os.O_WRONLY)
    try:
        os.write(fd, text.encode())
    finally:
        os.close(fd)


def _check(result: int, path: str | None) -> None:
    if result != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number), path)
