"""Reads standard input for `run`: the data goes to a single task, or is refused. It is never dropped silently."""

from __future__ import annotations

import fcntl
import io
import os
import select
import stat
import struct
import sys
import termios
from pathlib import Path

from shunter.cli.exit_codes import print_notice, print_warning
from shunter.model.errors import Invalid, Problem
from shunter.model.job.task_fields import STDIN_BYTES_MAX

FIELD = "standard input"
WITHOUT_FIX = "add --no-stdin if the command does not need it"
SILENCE_S = 2.0  # without data, after which the user is told what the command waits for
LOOK_S = 0.5  # how long a job that cannot read the input waits to see whether there is some
CHUNK_SIZE = 2**16


def read_stdin(tasks: int, has_image: bool) -> bytes | None:
    """What the task reads from standard input; None if there is nothing. A terminal is not read. Raises Invalid.

    One task waits for the end of the input: nobody can know whether a silent pipe is idle or slow. All other jobs
    cannot read it, so they do not wait for it.
    """
    fd = _readable_fd()
    if fd is None:
        return None
    if (problem := _unreadable(tasks, has_image)) is not None:
        select.select([fd], [], [], LOOK_S)
        if _has_data(fd):
            raise Invalid([problem])
        return None
    data = _read(fd, STDIN_BYTES_MAX)
    if len(data) > STDIN_BYTES_MAX:
        fix = "write it to a file that the nodes can read, and name the file in the command"
        raise Invalid([Problem(FIELD, f"must be at most {STDIN_BYTES_MAX:,} bytes", fix=fix)])
    return data or None


def warn_about_unread(tasks: int, has_image: bool) -> None:
    """At the end of a job: report input that came too late to be refused."""
    fd, problem = _readable_fd(), _unreadable(tasks, has_image)
    if fd is not None and problem is not None and _has_data(fd):
        print_warning(f"{FIELD} was not read: it {problem.message}; {problem.fix}")


def _unreadable(tasks: int, has_image: bool) -> Problem | None:
    """Why no task of such a job can read the input."""
    if tasks > 1:
        fix = f"{WITHOUT_FIX}, or use --each-line - for one task per line"
        return Problem(FIELD, f"can be passed to one task only, not to {tasks:,}", fix=fix)
    if has_image:
        return Problem(FIELD, "cannot be passed to a container", fix=f"{WITHOUT_FIX}, or mount a file")
    return None


def _has_data(fd: int) -> bool:
    """Look without reading: in a loop such as `while read`, the data belongs to the loop."""
    try:
        (size,) = struct.unpack("i", fcntl.ioctl(fd, termios.FIONREAD, bytes(4)))
    except OSError:
        return True  # a device such as /dev/zero
    return bool(size)


def _readable_fd() -> int | None:
    """The descriptor of standard input, if data can come from it: not from a terminal or /dev/null."""
    try:
        fd = sys.stdin.fileno()
    except io.UnsupportedOperation:
        return None  # a program that calls the command in its own process has replaced it
    status = os.fstat(fd)
    is_null = stat.S_ISCHR(status.st_mode) and status.st_rdev == Path(os.devnull).stat().st_rdev
    return None if is_null or stat.S_ISDIR(status.st_mode) or os.isatty(fd) else fd


def _read(fd: int, size_max: int) -> bytes:
    """All data, but at most one byte more than `size_max`."""
    data = bytearray()
    if not select.select([fd], [], [], SILENCE_S)[0]:
        print_notice(f"reading standard input until it ends; {WITHOUT_FIX}")
    while len(data) <= size_max:
        try:
            chunk = os.read(fd, min(CHUNK_SIZE, size_max + 1 - len(data)))
        except OSError as error:
            raise Invalid([Problem(FIELD, f"cannot be read: {error.strerror}", fix=WITHOUT_FIX)]) from error
        if not chunk:
            break
        data += chunk
    return bytes(data)
