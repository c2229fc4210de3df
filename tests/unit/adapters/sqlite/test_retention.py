"""Retention works in slices: commits run in between, large jobs take several slices, and space is freed."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from shunter.adapters.sqlite import retention
from shunter.adapters.sqlite.connection import connect
from shunter.adapters.sqlite.store import SqliteStore
from shunter.ports.store import Commit, FinishedJob, FinishedTasks, Retention, Snapshot

NOTHING = Retention(finished_age_s=0, finished_max=0, rounds_age_s=0, rounds_max=0)
CHUNK_BYTES = 100_000
CHUNKS_PER_SLICE = retention.BYTES_PER_SLICE_MAX // CHUNK_BYTES


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[SqliteStore]:
    store = SqliteStore(tmp_path / "store.db")
    await store.open()
    yield store
    await store.close()


async def test_a_commit_does_not_wait_for_the_end_of_a_purge(store: SqliteStore) -> None:
    epoch = await store.begin_epoch()
    jobs = [_job(id) for id in range(1, 10 * retention.JOBS_PER_SLICE_MAX)]
    await store.commit(Commit(epoch, 1, 0.0, b"", jobs))
    purge = asyncio.create_task(store.purge(epoch, NOTHING, 0.0))
    await asyncio.sleep(0)  # its first slice is handed over
    await store.commit(Commit(epoch, 2, 0.0, b""))
    assert not purge.done()
    assert set((await purge).names) == {("default", job.name) for job in jobs}


async def test_a_purge_of_many_rounds_cuts_them_all(store: SqliteStore) -> None:
    epoch = await store.begin_epoch()
    large = [b"x" * 700_000] * 10
    bodies = [b""] * (retention.ROUNDS_PER_SLICE_MAX + 5) + large + [b"x" * (retention.BYTES_PER_SLICE_MAX + 1)]
    for version, body in enumerate(bodies, 1):
        await store.commit(Commit(epoch, version, 0.0, body))
    await store.save_snapshot(epoch, Snapshot(len(bodies), b""))
    assert (await store.purge(epoch, NOTHING, 0.0)).rounds == len(bodies)
    assert await store.last_version() == len(bodies)


async def test_a_job_with_very_many_tasks_goes_in_several_slices(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "store.db")
    await store.open()
    epoch = await store.begin_epoch()
    tasks = [FinishedTasks(0, first, 1, bytes(CHUNK_BYTES)) for first in range(2 * CHUNKS_PER_SLICE + 1)]
    await store.commit(Commit(epoch, 1, 0.0, b"", [_job(1, tasks), _job(2)]))
    await store.close()

    connection = connect(tmp_path / "store.db")
    slices = []
    while (dropped := retention.drop_jobs(connection, epoch, NOTHING, 0.0)).rows:
        slices.append((dropped.rows, [name for _, name in dropped.names]))
    assert slices == [(CHUNKS_PER_SLICE, []), (CHUNKS_PER_SLICE, []), (2, ["job-1", "job-2"])]
    assert connection.execute("SELECT count(*) FROM job_tasks").fetchone() == (0,)
    connection.close()


async def test_space_that_is_free_is_given_back_but_for_a_reserve(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    store = SqliteStore(path)
    await store.open()
    epoch = await store.begin_epoch()
    for id in range(1, 5):
        await store.commit(Commit(epoch, id, 0.0, b"", [_job(id, [FinishedTasks(0, 0, 1, bytes(2**22))])]))
    await store.close()
    assert path.stat().st_size > 2**24

    await store.open()
    await store.purge(epoch, replace(NOTHING, rounds_age_s=1e9, rounds_max=10**9), 0.0)
    await store.close()
    assert path.stat().st_size < (retention.FREE_PAGES_RESERVED + 100) * 4096


def _job(id: int, tasks: Sequence[FinishedTasks] = ()) -> FinishedJob:
    return FinishedJob(id, "default", f"job-{id}", 1, "succeeded", 1.0, float(id), {}, b"summary", list(tasks))
