"""What `GET /healthz` says while a manager cannot commit, or has no state to read. It needs no token, so it does not
tell where the store is."""

from __future__ import annotations

import asyncio
import random

import pytest

from shunter.adapters.memory.store import MemoryStore
from shunter.engine.settings import EngineSettings
from shunter.model.errors import StoreFailed, Unavailable
from shunter.ports.store import Commit, LoggedRound
from shunter.simulation.runtime.loop import run_virtual
from tests.unit.engine.harness import spec
from tests.unit.engine.managers import CountingStore, Manager, TestElection, leader_and_follower
from tests.unit.gateway.harness import ANNA, GatewayHarness, LogWorkers, local_gateway


class FailingStore(MemoryStore):
    """Raises `error` from every commit and every new epoch."""

    error: Exception | None = None
    unreadable = False

    async def rounds_after(self, version: int, limit: int) -> list[LoggedRound]:
        if self.unreadable:
            raise StoreFailed("the server is gone")
        return await super().rounds_after(version, limit)

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


def check_health_of(manager: Manager, store: MemoryStore) -> None:
    local_gateway(manager.engine, store, LogWorkers()).for_caller(ANNA, "getHealth").cluster.check_health()


def test_a_follower_is_healthy_once_it_has_a_state_to_read() -> None:
    async def main(_: random.Random) -> None:
        store = CountingStore()
        store.failing = {"rounds_after"}
        follower = Manager(store, TestElection(), is_candidate=False)
        for _attempt in range(3):
            with pytest.raises(Unavailable, match="no state to read"):
                check_health_of(follower, store)
            await asyncio.sleep(1)
        store.failing = set()
        await follower.engine.wait_committed()
        check_health_of(follower, store)

    run_virtual(main, 1)


def test_a_former_leader_is_healthy_with_the_state_that_it_has_committed() -> None:
    async def main(_: random.Random) -> None:
        leader, follower, election = await leader_and_follower(store := CountingStore())
        store.failing = {"rounds_after"}
        election.expire()
        await asyncio.sleep(1)
        assert leader.engine.is_following
        await leader.engine.wait_committed()
        check_health_of(leader, store)
        check_health_of(follower, store)

    run_virtual(main, 1)


def test_a_former_leader_whose_commit_failed_is_healthy_only_when_it_has_loaded_its_state_again() -> None:
    async def main(_: random.Random) -> None:
        leader, follower, election = await leader_and_follower(store := CountingStore())
        check_health_of(leader, store)
        store.failing = {"commit", "rounds_after"}
        with pytest.raises(Unavailable):
            await leader.engine.submit([spec("lost")], "anna")
        election.expire()
        await asyncio.sleep(1)
        assert leader.engine.is_following
        with pytest.raises(Unavailable, match="no state to read"):
            check_health_of(leader, store)
        check_health_of(follower, store)
        store.failing = set()
        await leader.engine.wait_committed()
        check_health_of(leader, store)

    run_virtual(main, 1)


def test_a_leader_whose_lease_is_lost_is_not_healthy_although_it_has_not_noticed() -> None:
    async def main(_: random.Random) -> None:
        leader, _follower, election = await leader_and_follower(store := CountingStore())
        assert election.lease is not None
        election.lease.lose()
        with pytest.raises(Unavailable, match="lost its lease"):
            check_health_of(leader, store)

    run_virtual(main, 1)


def test_without_a_state_health_does_not_claim_that_reads_work() -> None:
    async def main(_: random.Random) -> None:
        harness = GatewayHarness(store := FailingStore(), EngineSettings())
        await harness.open()
        store.error = StoreFailed("the server is gone")
        store.unreadable = True
        with pytest.raises(Unavailable):
            await harness.submit(spec("lost"))
        with pytest.raises(Unavailable) as caught:
            harness.gateway.cluster.check_health()
        assert caught.value.detail == "the manager cannot commit: the server is gone; reads do not work either"

    run_virtual(main, 1)
