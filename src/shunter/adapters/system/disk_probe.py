"""Measures the disk of a home and the files of its store. Implements `ports.telemetry.Probe`."""

from __future__ import annotations

import os
from pathlib import Path

from shunter.model.metrics import catalogue as m
from shunter.model.metrics.exposition import Exposition

STORE_SUFFIXES = ("", "-wal", "-shm")  # of SQLite's files


class DiskProbe:
    """`store` is the file of an embedded store; None if the store is elsewhere."""

    def __init__(self, folder: Path, store: Path | None) -> None:
        self._folder, self._store = folder, store

    def put(self, exposition: Exposition) -> None:
        try:
            disk = os.statvfs(self._folder)
        except OSError:
            return
        exposition.put(m.DISK_FREE, disk.f_bavail * disk.f_frsize)
        exposition.put(m.DISK_SIZE, disk.f_blocks * disk.f_frsize)
        if self._store is not None:
            exposition.put(m.STORE_SIZE, store_bytes(self._store))


def store_bytes(store: Path) -> int:
    """The size of the database, its log and its index; 0 for what does not exist."""
    size = 0
    for suffix in STORE_SUFFIXES:
        try:
            size += store.with_name(store.name + suffix).stat().st_size
        except OSError:
            pass
    return size
