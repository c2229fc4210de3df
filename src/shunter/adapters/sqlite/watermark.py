"""The newest committed epoch and version, in a small file next to the database. Used by SqliteStore.

SQLite silently treats a damaged write-ahead log as one that ends early, so an acknowledged commit could vanish
unnoticed. The mark is written after each commit, without a sync: what it names has been committed, and a crash of the
process loses none of it. After a power cut it may be older than the store, never newer."""

from __future__ import annotations

import os
import struct
import zlib
from dataclasses import dataclass
from pathlib import Path

from shunter.log import Log
from shunter.model.errors import StoreFailed

log = Log(__name__)

_SLOT = struct.Struct("<8sQQI")  # magic, epoch, version, checksum of what comes before it
_MAGIC = b"shunter1"
_CHECKSUM_BYTES = 4


@dataclass(frozen=True, slots=True, order=True)
class Mark:
    epoch: int
    version: int


def watermark_path(store: Path) -> Path:
    return store.with_name(f"{store.name}-mark")


class MarkDamaged(StoreFailed):
    """There is a mark, and it cannot be read."""


class Watermark:
    """Two slots, written in turn: an interrupted write leaves the other one intact."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._fd = -1
        self._slot = 0

    def open(self, *, is_read_only: bool = False) -> Mark | None:
        """The last mark; None if there never was one. Raises MarkDamaged, and StoreFailed if there is no access."""
        flags = os.O_RDONLY if is_read_only else os.O_RDWR | os.O_CREAT
        try:
            self._fd = os.open(self._path, flags | os.O_CLOEXEC, 0o600)
            data = os.pread(self._fd, 2 * _SLOT.size, 0)
        except OSError as error:
            raise StoreFailed(f"it cannot be opened ({error.strerror})", self._path) from error
        if not data.strip(b"\0"):
            return None
        marks = [_decode(data[start : start + _SLOT.size]) for start in (0, _SLOT.size)]
        found = [mark for mark in marks if mark is not None]
        if not found:
            raise MarkDamaged(f"store {self._path}: it is damaged, so the last committed version is unknown")
        newest = max(found)
        self._slot = 1 - marks.index(newest)
        return newest

    def write(self, mark: Mark) -> None:
        """Does not raise: what it names is committed already, and an older mark is safe."""
        body = _SLOT.pack(_MAGIC, mark.epoch, mark.version, 0)[:-_CHECKSUM_BYTES]
        try:
            os.pwrite(self._fd, body + struct.pack("<I", zlib.crc32(body)), self._slot * _SLOT.size)
        except OSError as error:
            log.warning("store.mark_failed", path=self._path, error=error)
            return
        self._slot = 1 - self._slot

    def sync(self) -> None:
        if self._fd >= 0:
            os.fsync(self._fd)

    def sync_name(self) -> None:
        """After it was created."""
        folder = os.open(self._path.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)

    def close(self) -> None:
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1


def _decode(data: bytes) -> Mark | None:
    if len(data) < _SLOT.size:
        return None
    magic, epoch, version, checksum = _SLOT.unpack(data)
    if magic != _MAGIC or zlib.crc32(data[:-_CHECKSUM_BYTES]) != checksum:
        return None
    return Mark(epoch, version)
