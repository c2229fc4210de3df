"""Commits of the PostgreSQL store whose connection is lost: each lands before a new epoch begins, or never."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import asyncpg
import pytest

from shunter.adapters.postgres.store import PostgresStore
from shunter.model.errors import Fenced, StoreFailed
from shunter.ports.store import FinishedQuery
from tests.contracts.store_samples import finished_job, write
from tests.postgres_server import PostgresServer
from tests.tcp_proxy import tcp_proxy

ADVISORY = (
    "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND classid = 1397247566 AND granted = $1"
    " AND objid = 'leadership'::regclass"
)


async def test_a_commit_that_arrives_after_a_new_epoch_began_is_refused(postgres: PostgresServer, schema: str) -> None:
    """It was on its way through the network when its client gave up."""
    async with (
        tcp_proxy(postgres.port) as proxy,
        opened(postgres, schema) as leader,
        opened(postgres, schema, proxy.port) as deposed,
    ):
        epoch = await deposed.begin_epoch()
        await write(deposed, epoch, 1, [finished_job(1)])
        proxy.hold_requests()
        late = asyncio.create_task(write(deposed, epoch, 2, [finished_job(2)]))
        await proxy.held.wait()
        proxy.cut_clients()
        with pytest.raises(StoreFailed):
            await late
        leading = await leader.begin_epoch()
        proxy.release_requests()
        admin = await connect_admin(postgres, schema)
        await until(
            lambda: admin.fetchval(
                "SELECT count(*) = 0 FROM pg_stat_activity WHERE query LIKE '%commit_round%' AND state = 'active'"
                " AND pid <> pg_backend_pid()"
            )
        )
        await admin.close()
        assert await leader.last_version() == 1
        assert await leader.count_finished(FinishedQuery()) == 1
        await write(leader, leading, 2)
        with pytest.raises(Fenced):
            await write(deposed, epoch, 3)


async def test_a_new_epoch_waits_for_a_commit_whose_client_is_gone(postgres: PostgresServer, schema: str) -> None:
    """The server is in the middle of it when the connection is cut. It lands, and the new leader finds it."""
    async with (
        tcp_proxy(postgres.port) as proxy,
        opened(postgres, schema) as leader,
        opened(postgres, schema, proxy.port) as deposed,
        side_connection(postgres, schema) as admin,
    ):
        epoch = await deposed.begin_epoch()
        async with admin.transaction():
            await admin.execute("LOCK TABLE rounds IN EXCLUSIVE MODE")  # the commit has the fence and waits here
            commit = asyncio.create_task(write(deposed, epoch, 1, [finished_job(1)]))
            await until(lambda: admin.fetchval(f"SELECT ({ADVISORY}) = 1", True))
            proxy.cut_clients()
            with pytest.raises(StoreFailed):
                await commit
            beginning = asyncio.create_task(leader.begin_epoch())
            await until(lambda: admin.fetchval(f"SELECT ({ADVISORY}) = 1", False))
            assert not beginning.done()
        assert await beginning == epoch + 1
        assert await leader.last_version() == 1
        assert await leader.count_finished(FinishedQuery()) == 1


async def test_a_commit_whose_backend_is_killed_writes_nothing(postgres: PostgresServer, schema: str) -> None:
    async with opened(postgres, schema) as store, side_connection(postgres, schema) as admin:
        epoch = await store.begin_epoch()
        async with admin.transaction():
            await admin.execute("LOCK TABLE rounds IN EXCLUSIVE MODE")
            commit = asyncio.create_task(write(store, epoch, 1, [finished_job(1)]))
            await until(lambda: admin.fetchval(f"SELECT ({ADVISORY}) = 1", True))
            await admin.fetch(
                "SELECT pg_terminate_backend(pid) FROM pg_locks WHERE locktype = 'advisory' AND classid = 1397247566"
            )
            with pytest.raises(StoreFailed, match=r"shutting down|lost"):
                await commit
        assert await store.begin_epoch() == epoch + 1
        assert await store.last_version() == 0
        await write(store, epoch + 1, 1, [finished_job(1)])


async def test_a_lost_answer_is_a_failure_and_the_commit_is_there(postgres: PostgresServer, schema: str) -> None:
    """The client cannot know; whoever begins the next epoch finds out."""
    async with tcp_proxy(postgres.port) as proxy, opened(postgres, schema, proxy.port) as store:
        epoch = await store.begin_epoch()
        async with side_connection(postgres, schema) as admin, admin.transaction():
            await admin.execute("LOCK TABLE rounds IN EXCLUSIVE MODE")
            commit = asyncio.create_task(write(store, epoch, 1))
            await until(lambda: admin.fetchval(f"SELECT ({ADVISORY}) = 1", True))
            proxy.cut_clients()
            with pytest.raises(StoreFailed, match=r"lost|closed|reset"):
                await commit
        assert await store.begin_epoch() == epoch + 1
        assert await store.last_version() == 1


@asynccontextmanager
async def opened(postgres: PostgresServer, schema: str, port: int | None = None) -> AsyncIterator[PostgresStore]:
    store = PostgresStore(f"{postgres.url_of('postgres', port)}?schema={schema}")
    await store.open()
    try:
        yield store
    finally:
        await store.close()


@asynccontextmanager
async def side_connection(postgres: PostgresServer, schema: str) -> AsyncIterator[Any]:
    """A connection side_connection the store."""
    admin = await connect_admin(postgres, schema)
    try:
        yield admin
    finally:
        await admin.close()


async def connect_admin(postgres: PostgresServer, schema: str) -> Any:
    return await asyncpg.connect(postgres.url, server_settings={"search_path": schema})


async def until(holds: Callable[[], Awaitable[bool]]) -> None:
    async with asyncio.timeout(30):
        while not await holds():
            await asyncio.sleep(0.005)
