"""The in-memory store passes the contract of every store."""

from __future__ import annotations

import pytest

from shunter.adapters.memory.store import MemoryStore
from tests.contracts.store_samples import Claim

from .store import CONTRACT, check


@pytest.mark.parametrize("claim", CONTRACT)
async def test_memory_store(claim: Claim) -> None:
    shared = MemoryStore()
    await check(claim, lambda: shared)
