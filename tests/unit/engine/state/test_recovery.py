"""Loading the state of a store whose content is damaged, though its structure is intact."""

from __future__ import annotations

import pytest

from shunter.adapters.memory.store import MemoryStore
from shunter.engine.recovery import load_state
from shunter.model.errors import StoreFailed
from shunter.ports.store import Commit, Snapshot


@pytest.mark.parametrize("body", [b"\x93", b"\xa3\xff\xff\xff", b"\x01"])
@pytest.mark.parametrize("is_snapshot", [True, False])
async def test_damaged_content_is_a_failure_of_the_store(body: bytes, is_snapshot: bool) -> None:
    store = MemoryStore()
    await store.open()
    epoch = await store.begin_epoch()
    await store.commit(Commit(epoch, 1, 0.0, body))
    if is_snapshot:
        await store.save_snapshot(epoch, Snapshot(1, body))
    with pytest.raises(StoreFailed, match=r"damaged at version 1 .*shunter restore FILE"):
        await load_state(store)
