"""Rollups in files: one for each tier, a line for each row. A full file becomes the old one, and the one before goes,
so that a tier has one to two times its limit. A line that a kill has cut off is skipped by its readers."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from shunter.log import Log

FILE_BYTES_MAX = 8 * 2**20  # of a tier: about a month of minutes, or some years of hours
ROW_BYTES_MAX = 256 * 2**10
log = Log(__name__)


class RollupFiles:
    def __init__(self, folder: Path, file_bytes_max: int = FILE_BYTES_MAX) -> None:
        self._folder, self._file_bytes_max = folder, file_bytes_max
        self._has_failed = False

    def append(self, tier_s: int, row: bytes) -> None:
        if len(row) > ROW_BYTES_MAX or self._has_failed:
            return
        path = self._path(tier_s)
        try:
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            if path.exists() and path.stat().st_size + len(row) > self._file_bytes_max:
                path.replace(path.with_suffix(".old"))
            with path.open("ab") as file:
                file.write(b"\n" + row if _is_torn(path) else row)
                file.write(b"\n")
        except OSError as error:
            self._has_failed = True
            log.error("rollups.failed", folder=str(self._folder), error=error)

    def read(self, tier_s: int) -> Sequence[bytes]:
        rows: list[bytes] = []
        path = self._path(tier_s)
        for each in (path.with_suffix(".old"), path):
            try:
                rows += [line for line in each.read_bytes().split(b"\n") if line]
            except FileNotFoundError:
                continue
            except OSError as error:
                log.error("rollups.unreadable", file=str(each), error=error)
        return rows

    def _path(self, tier_s: int) -> Path:
        return self._folder / f"{tier_s}s.rows"


def _is_torn(path: Path) -> bool:
    """Whether the last line has no end."""
    size = path.stat().st_size
    if size == 0:
        return False
    with path.open("rb") as file:
        file.seek(size - 1)
        return file.read(1) != b"\n"
