"""Collects the keeper's ended children with what they used. Used by `keeper.runner` after every task."""

from __future__ import annotations

import ctypes
import os
import struct

# struct rusage, 64 bits: user s and µs, system s and µs, largest KiB; later blocks read and written.
USED = struct.Struct("=5q48x2q")
USED_BYTES = 512  # more than any libc writes


class Children:
    """`status` and `used` are those of the child that `collect` returned last.

    `os.wait4` looks up its type of result at each call, and raises when no child is left, as after nearly every task:
    that costs a short task 1 % of its time."""

    def __init__(self) -> None:
        self._wait4 = ctypes.PyDLL(None).wait4  # it does not wait, so it need not release the interpreter
        self._status, self._used = ctypes.c_int(), ctypes.create_string_buffer(USED_BYTES)
        self._places = ctypes.byref(self._status), ctypes.byref(self._used)

    def collect(self) -> int:
        """The id of a child that has ended; 0 if none has, -1 if no child is left."""
        status, used = self._places
        return int(self._wait4(-1, status, os.WNOHANG, used))

    @property
    def status(self) -> int:
        return self._status.value

    @property
    def used(self) -> tuple[int, ...]:
        """User and system time, each in s and µs; the largest memory in KiB; blocks read and written."""
        return USED.unpack_from(self._used)
