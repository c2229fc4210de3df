"""The PostgreSQL store passes the contract of every store, on a real server."""

from __future__ import annotations

import asyncio

import pytest
import uvloop

from shunter.adapters.postgres.store import PostgresStore
from tests.contracts.store_samples import Claim

from .store import CONTRACT, check


@pytest.mark.parametrize("claim", CONTRACT)
async def test_postgres_store(claim: Claim, url: str) -> None:
    await check(claim, lambda: PostgresStore(url))


@pytest.mark.parametrize("claim", CONTRACT[:3])
def test_postgres_store_works_on_uvloop(claim: Claim, url: str) -> None:
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(check(claim, lambda: PostgresStore(url)))
