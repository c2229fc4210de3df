"""The in-memory service that tests of transports use passes the contract of every ObjectService."""

from __future__ import annotations

import pytest

from .memory_objects import MemoryObjectService
from .objects import CONTRACT, Claim, Harness


@pytest.mark.parametrize("claim", CONTRACT)
async def test_memory_objects(claim: Claim) -> None:
    await claim(Harness(MemoryObjectService(remembered_max=50), remembered_max=50))
