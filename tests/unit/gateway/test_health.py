"""What `GET /healthz` says while a manager cannot commit. It needs no token, so it does not tell where the store is."""

from __future__ import annotations

import random

import pytest

from shunter.adapters.memory.store import MemoryStore
from shunter.engine.settings import EngineSettings
from shunter.model.errors import StoreFailed, Unavailable
from shunter.ports.store import Commit
from shunter.simulation.runtime.loop import run_virtual
from tests.unit.engine.harness import spec
from tests.unit.gateway.harness import GatewayHarness


class FailingStore(MemoryStore):
    """Raises `error` from every commit and every new epoch."""

    error: Exception | None = None

    async def commit(self, commit: Commit) -> None:
        if self.error is not None:
            raise self.error
        await super().commit(commit)

    async def begin_epoch(self, term: int = 0) -> int:
        if self.error is not None:
            raise self.error
        return await super().begin_epoch(term)


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (StoreFailed("the disk is full", "/srv/a: b/store.db"), "the disk is full"),
        (StoreFailed("epoch 3 was never begun"), "epoch 3 was never begun"),
        (ZeroDivisionError("/srv/a: b"), "an internal error; see the manager's log"),
    ],
)
def test_health_names_the_reason_but_not_the_place_of_the_store(error: Exception, reason: str) -> None:
    async def main(_: random.Random) -> None:
        store = FailingStore()
        harness = GatewayHarness(store, EngineSettings())
        await harness.open()
        harness.gateway.cluster.check_health()
        store.error = error
        with pytest.raises(Unavailable):
            await harness.submit(spec("lost"))
        with pytest.raises(Unavailable) as caught:
            harness.gateway.cluster.check_health()
        assert caught.value.detail == f"the manager cannot commit: {reason}; only reads work"
        store.error = None
        await harness.settle(10)
        harness.gateway.cluster.check_health()

    run_virtual(main, 1)


def test_callers_with_a_token_are_told_which_store_failed() -> None:
    assert str(StoreFailed("the disk is full", "/srv/store.db")) == "store /srv/store.db: the disk is full"
