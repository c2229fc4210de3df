"""The PostgreSQL store passes the contract of every store, plus tests that only a server needs."""

from __future__ import annotations

import asyncio
from itertools import count

import pytest
import uvloop

from shunter.adapters.postgres.store import PostgresStore
from tests.contracts.store_samples import Claim
from tests.postgres_server import PostgresServer

from .store import CONTRACT, check

_schemas = count(1)


@pytest.fixture
def url(postgres: PostgresServer) -> str:
    """Of an empty store: every test has a schema of its own."""
    return f"{postgres.url}?schema=test_{next(_schemas)}"


@pytest.mark.parametrize("claim", CONTRACT)
async def test_postgres_store(claim: Claim, url: str) -> None:
    await check(claim, lambda: PostgresStore(url))


@pytest.mark.parametrize("claim", CONTRACT[:3])
def test_postgres_store_works_on_uvloop(claim: Claim, url: str) -> None:
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(check(claim, lambda: PostgresStore(url)))
