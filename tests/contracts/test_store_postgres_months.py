"""History by month in the PostgreSQL store: partitions are made ahead, and dropped when all of a month has expired."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import asyncpg

from shunter.adapters.postgres.store import PostgresStore
from shunter.ports.store import FinishedJob, FinishedQuery, FinishedTasks
from tests.contracts.store_samples import FOREVER, finished_job, write
from tests.postgres_server import PostgresServer


async def test_a_month_is_dropped_when_all_of_it_has_expired(postgres: PostgresServer, schema: str) -> None:
    async with store_and_admin(postgres, schema) as (store, admin):
        epoch = await store.begin_epoch()
        await write(store, epoch, 1, [_job(1, 2025, 11, 3), _job(2, 2025, 11, 30), _job(3, 2025, 12, 31)])
        await write(store, epoch, 2, [_job(4, 2026, 1, 1), _job(5, 2026, 1, 20)])
        assert await _months(admin) == ["2025_11", "2025_12", "2026_01"]
        now = _time(2026, 1, 21)
        await store.purge(epoch, replace(FOREVER, finished_age_s=now - _time(2025, 11, 30, 12)), now)
        assert await _months(admin) == ["2025_12", "2026_01", "2026_02"], "two jobs expired, and all of November"
        await store.purge(epoch, replace(FOREVER, finished_max=1), now)
        assert await _months(admin) == ["2026_01", "2026_02"]
        assert [job.id for job in await store.finished_jobs(FinishedQuery(labels=(("team", "film"),)))] == [5]
        wide = [
            await admin.fetchval(f"SELECT count(*) FROM {each}") for each in ("job_details", "job_tasks", "job_labels")
        ]
        assert wide == [1, 1, 1], "job 4 was deleted from a month that stays"


async def test_a_month_that_is_read_is_dropped_at_a_later_purge(postgres: PostgresServer, schema: str) -> None:
    async with store_and_admin(postgres, schema) as (store, admin):
        epoch = await store.begin_epoch()
        await write(store, epoch, 1, [_job(1, 2025, 11, 3)])
        nothing = replace(FOREVER, finished_max=0)
        async with admin.transaction():
            await admin.fetch("SELECT * FROM job_details")
            purged = await store.purge(epoch, nothing, _time(2026, 1, 1))
            assert purged.names == (("default", "job-1"),)
            assert await store.finished_job(1) is None
        assert "2025_11" in await _months(admin)
        await store.purge(epoch, nothing, _time(2026, 1, 1))
        assert "2025_11" not in await _months(admin)


async def test_a_run_is_unique_across_months(postgres: PostgresServer, schema: str) -> None:
    async with store_and_admin(postgres, schema) as (store, admin):
        epoch = await store.begin_epoch()
        await write(store, epoch, 1, [_job(1, 2025, 11, 3)])
        for again in (_job(1, 2025, 12, 3, name="other"), _job(2, 2025, 12, 3, name="job-1")):
            try:
                await write(store, epoch, 2, [again])
            except Exception as error:
                assert "constraint" in str(error)
            else:
                raise AssertionError("it was accepted twice")
        assert await store.count_finished(FinishedQuery()) == 1
        assert await _months(admin) == ["2025_11"], "the partition was part of the commit"


def _job(id: int, year: int, month: int, day: int, name: str | None = None) -> FinishedJob:
    tasks = [FinishedTasks(0, 0, 1, b"task")]
    return finished_job(id, name=name, ended_at=_time(year, month, day), tasks=tasks, labels={"team": "film"})


def _time(year: int, month: int, day: int, hour: int = 0) -> float:
    return datetime(year, month, day, hour, tzinfo=UTC).timestamp()


async def _months(admin: Any) -> list[str]:
    rows = await admin.fetch(
        "SELECT right(relname, 7) AS month FROM pg_class JOIN pg_inherits ON inhrelid = pg_class.oid"
        " WHERE relnamespace = current_schema()::regnamespace AND inhparent = 'job_tasks'::regclass ORDER BY 1"
    )
    return [row["month"] for row in rows]


@asynccontextmanager
async def store_and_admin(postgres: PostgresServer, schema: str) -> AsyncIterator[tuple[PostgresStore, Any]]:
    store = PostgresStore(f"{postgres.url}?schema={schema}")
    await store.open()
    admin = await asyncpg.connect(postgres.url, server_settings={"search_path": schema})
    try:
        yield store, admin
    finally:
        await admin.close()
        await store.close()
