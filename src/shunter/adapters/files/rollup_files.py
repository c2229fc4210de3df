"""Rollups in files of the leader, as versions before 0.3.0 wrote them: one file for each tier, a line for each row, and
the full file before it. A line that a kill has cut off is skipped by its readers."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path

from shunter.log import Log

log = Log(__name__)


class RollupFiles:
    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def read(self, tier_s: int) -> Sequence[bytes]:
        rows: list[bytes] = []
        path = self._folder / f"{tier_s}s.rows"
        for each in (path.with_suffix(".old"), path):
            try:
                rows += [line for line in each.read_bytes().split(b"\n") if line]
            except FileNotFoundError:
                continue
            except OSError as error:
                log.error("rollups.unreadable", file=str(each), error=error)
        return rows

    def remove(self) -> None:
        try:
            shutil.rmtree(self._folder)
            log.info("rollups.imported", folder=str(self._folder))
        except FileNotFoundError:
            return
        except OSError as error:
            log.error("rollups.not_removed", folder=str(self._folder), error=error)
