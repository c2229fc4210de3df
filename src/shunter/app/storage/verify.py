"""Reports what can be read of a home's store, and what is missing. Changes no file. Called by `shunter store
verify`."""

from __future__ import annotations

import asyncio
import sqlite3
from pathlib import Path
from typing import cast

import msgspec

from shunter.adapters.postgres.url import StoreUrl
from shunter.adapters.sqlite import rounds
from shunter.adapters.sqlite.connection import read_only
from shunter.adapters.sqlite.integrity import integrity_problems, is_mark_recorded
from shunter.adapters.sqlite.watermark import Watermark, watermark_path
from shunter.app.home import Home
from shunter.app.storage.stores import SQLITE, postgres_url
from shunter.engine.recovery import load_state
from shunter.model.errors import NotFound, StoreFailed
from shunter.ports.store import LoggedRound, Snapshot, Store
from shunter.ports.store_contents import TalliedContents


class Verification(msgspec.Struct):
    """The findings. `problems` is empty if the store is intact."""

    path: str
    epoch: int = 0
    version: int = 0
    committed_epoch: int = 0  # by the mark next to the database; 0: there is none
    committed_version: int = 0
    jobs: int = 0  # that have not ended
    nodes: int = 0
    finished_jobs: int = 0
    problems: list[str] = []


def verify_store(home: Home, store: str = SQLITE) -> Verification:
    """Raises NotFound if there is no store. A cluster may be running meanwhile."""
    url = postgres_url(store)
    if url is not None:
        return asyncio.run(_verify_postgres(url))
    path = home.store
    if not path.exists():
        raise NotFound(f"store {path} does not exist; check SHUNTER_HOME")
    found = Verification(str(path), problems=[])
    _read_mark(path, found)
    try:
        with read_only(path) as connection:
            found.problems += integrity_problems(connection)
            if is_mark_recorded(connection) and found.committed_epoch == 0 and not found.problems:
                name = watermark_path(path).name
                found.problems.append(f"the file {name} next to it is missing, so committed work may be missing")
            found.epoch = rounds.read_leading_epoch(connection)
            found.version = rounds.read_last_version(connection)
            state = asyncio.run(load_state(cast("Store", _ReadOnlyLog(connection))))
            found.finished_jobs = connection.execute("SELECT count(*) FROM jobs").fetchone()[0]
            found.jobs, found.nodes = len(state.jobs), len(state.nodes.records)
    except Exception as error:  # any error of SQLite or a decoder on a damaged file
        found.problems.append(f"it cannot be read: {error}")
    if found.epoch < found.committed_epoch or found.version < found.committed_version:
        found.problems.append(
            f"committed work is missing: it ends at version {found.version} of epoch {found.epoch}, and version"
            f" {found.committed_version} of epoch {found.committed_epoch} was committed"
        )
    return found


async def _verify_postgres(url: StoreUrl) -> Verification:
    """The server checks its pages by itself; this reads all that the store holds, and loads the state."""
    from shunter.adapters.postgres.contents import contents_of
    from shunter.adapters.postgres.store import PostgresStore

    found = Verification(url.public_url, problems=[])
    async with contents_of(url) as contents:
        found.epoch = await contents.leading_epoch()
        tally = await TalliedContents(contents).read_all()
        found.version, found.finished_jobs = tally.last_version, tally.finished_jobs
    opened = PostgresStore(url)
    try:
        await opened.open()
        state = await load_state(opened)
        found.jobs, found.nodes = len(state.jobs), len(state.nodes.records)
    except Exception as error:  # another server than that of the last epoch, or any error of a decoder
        found.problems.append(f"it cannot be loaded: {error}")
    finally:
        await opened.close()
    return found


def _read_mark(path: Path, found: Verification) -> None:
    watermark = Watermark(watermark_path(path))
    try:
        mark = watermark.open(is_read_only=True) if watermark_path(path).exists() else None
        if mark is not None:
            found.committed_epoch, found.committed_version = mark.epoch, mark.version
    except StoreFailed as error:
        found.problems.append(error.detail)
    finally:
        watermark.close()


class _ReadOnlyLog:
    """The part of a store that recovery needs, on one connection."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    async def snapshot(self) -> Snapshot | None:
        return rounds.read_snapshot(self._connection)

    async def rounds_after(self, version: int, limit: int) -> list[LoggedRound]:
        return rounds.read_rounds_after(self._connection, version, limit)
