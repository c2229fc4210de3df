"""What every store promises, as claims. An adapter's test file runs all of them in three lines:

    @pytest.mark.parametrize("claim", CONTRACT)
    async def test_postgres_store(claim: Claim, url: str) -> None:
        await check(claim, lambda: PostgresStore(url))

Each store that the callable makes must stand on the same data.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from shunter.ports.store import Store
from tests.contracts.store_samples import Claim

from . import store_audit, store_history, store_log, store_past, store_rollups

_CLAIMS = (*store_log.CLAIMS, *store_history.CLAIMS, *store_past.CLAIMS, *store_audit.CLAIMS, *store_rollups.CLAIMS)
CONTRACT = [pytest.param(claim, id=claim.__name__) for claim in _CLAIMS]


async def check(claim: Claim, make: Callable[[], Store]) -> None:
    opened: list[Store] = []

    async def open_store() -> Store:
        store = make()
        await store.open()
        opened.append(store)
        return store

    try:
        await claim(open_store)
    finally:
        for store in opened:
            await store.close()
