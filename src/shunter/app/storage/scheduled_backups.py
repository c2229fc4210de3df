"""Backs up the store at intervals and removes the oldest backups. `app.manager` runs it where config.toml asks for it.

Each backup is made by a process of its own, `python -m shunter.app.storage.scheduled_backups FILE [STORE]`, so that
reading a large store delays no commit."""

from __future__ import annotations

import asyncio
import os
import sys
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path

from shunter.app.home import PRIVATE_UMASK, Home
from shunter.log import Log

NICENESS = 10
_PREFIX, _SUFFIX = "shunter-", ".db"

log = Log(__name__)


@dataclass(frozen=True, slots=True)
class BackupSettings:
    """No backups without an interval. `folder` None is `backups` in SHUNTER_HOME."""

    every_s: float | None = None
    keep: int = 24
    folder: str | None = None


class ScheduledBackups:
    """`store` is that of the command line, if any; the process finds the others as every command does."""

    def __init__(self, settings: BackupSettings, home: Home, store: str | None) -> None:
        self._settings = settings
        self._home = home
        self._store = store
        self._folder = Path(settings.folder) if settings.folder else home.folder / "backups"

    async def run(self, is_leading: Callable[[], Awaitable[bool]]) -> None:
        """Until cancelled. A restart does not delay the next backup."""
        every_s = self._settings.every_s
        if every_s is None:
            return
        while True:
            newest = max((_taken_at(path) for path in self._backups()), default=0.0)
            await asyncio.sleep(max(0.0, min(every_s, newest + every_s - time.time())))
            if not await is_leading():
                await asyncio.sleep(every_s)
            elif await self._back_up():
                self._remove_oldest()
            else:
                await asyncio.sleep(every_s)

    async def _back_up(self) -> bool:
        """Whether there is a new backup. If not, the reason is logged, and the next one is tried later."""
        try:
            return await self._run_backup()
        except OSError as error:
            log.warning("backup.failed", folder=self._folder, error=error)
            return False

    async def _run_backup(self) -> bool:
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        name = time.strftime(f"{_PREFIX}%Y%m%dT%H%M%SZ{_SUFFIX}", time.gmtime())
        command = [sys.executable, "-m", "shunter.app.storage.scheduled_backups", str(self._folder / name)]
        process = await asyncio.create_subprocess_exec(
            *command,
            *([self._store] if self._store else []),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.DEVNULL,
            stderr=asyncio.subprocess.PIPE,
            env={**os.environ, "SHUNTER_HOME": str(self._home.folder)},
        )
        try:
            _, said = await process.communicate()
        except asyncio.CancelledError:
            process.kill()
            await process.wait()
            raise
        if process.returncode:
            log.warning("backup.failed", file=name, error=said.decode(errors="replace").strip()[-500:])
            return False
        log.info("backup.written", file=self._folder / name)
        return True

    def _remove_oldest(self) -> None:
        for path in self._backups()[: -self._settings.keep]:
            path.unlink(missing_ok=True)
            log.info("backup.removed", file=path)

    def _backups(self) -> list[Path]:
        """The scheduled backups, oldest first: their names contain the time."""
        return sorted(self._folder.glob(f"{_PREFIX}[0-9]*T[0-9]*Z{_SUFFIX}"))


def _taken_at(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except FileNotFoundError:
        return 0.0


def main(arguments: list[str]) -> int:
    from shunter.app.config import read_config
    from shunter.app.storage.backup import back_up
    from shunter.app.storage.stores import choose_store
    from shunter.model.errors import ShunterError

    os.umask(PRIVATE_UMASK)
    os.nice(NICENESS)
    home = Home.find()
    try:
        option = arguments[1] if len(arguments) > 1 else None
        back_up(home, Path(arguments[0]), choose_store(option, read_config(home.config).cluster.get("store")))
    except ShunterError as error:
        print(error.detail, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
