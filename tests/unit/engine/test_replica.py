"""A replica follows the committed rounds: it answers at a version, and tells whoever watches its feed."""

from __future__ import annotations

import asyncio
import random

import pytest

from shunter.engine.replica import Replica
from shunter.engine.settings import EngineSettings
from shunter.engine.state.fingerprints.fingerprint import fingerprint
from shunter.model.errors import NotLeader, StoreFailed
from shunter.ports.store import Retention
from shunter.simulation.runtime.loop import run_virtual
from tests.unit.engine.harness import Harness, spec
from tests.unit.engine.managers import CountingStore, leader_and_follower

CUT_ALL_ROUNDS = Retention(rounds_age_s=0.0, rounds_max=0)


async def leader_with_running_job(store: CountingStore) -> tuple[Harness, int]:
    """A harness with one node, and a job that runs on it."""
    harness = await Harness(store, EngineSettings()).open()
    await harness.join("n1", cpu=1)
    [answer] = await harness.submit(spec("a"))
    return harness, answer.job_id


async def end_job(harness: Harness) -> None:
    [(node, order)] = harness.orders()
    await harness.end(node, order)


def test_a_replica_has_the_state_of_the_leader() -> None:
    async def main(_: random.Random) -> None:
        store = CountingStore()
        replica = Replica(store)
        await replica.catch_up()
        harness, _job = await leader_with_running_job(store)
        await replica.catch_up()
        assert fingerprint(replica.state) == fingerprint(harness.engine.state)
        assert store.reads["snapshot"] == 2  # of both, when they started

    run_virtual(main, 1)


def test_who_watches_a_job_on_a_replica_hears_its_end() -> None:
    async def main(_: random.Random) -> None:
        harness, job = await leader_with_running_job(CountingStore())
        replica = Replica(harness.store)
        await replica.catch_up()
        watch = replica.feed.watch(job)
        await end_job(harness)
        await replica.catch_up()
        assert watch.summary is not None
        assert watch.summary.view.state == "succeeded"

    run_virtual(main, 1)


def test_who_watches_a_job_hears_its_end_although_the_store_fails_meanwhile() -> None:
    async def main(_: random.Random) -> None:
        harness, job = await leader_with_running_job(store := CountingStore())
        replica = Replica(store)
        await replica.catch_up()
        watch = replica.feed.watch(job)
        await end_job(harness)
        store.failing = {"finished_job"}
        with pytest.raises(StoreFailed):
            await replica.catch_up()
        store.failing = set()
        await replica.catch_up()
        assert watch.summary is not None

    run_virtual(main, 1)


def test_a_watch_of_a_job_that_history_has_lost_already_ends() -> None:
    async def main(_: random.Random) -> None:
        harness, job = await leader_with_running_job(store := CountingStore())
        replica = Replica(store)
        await replica.catch_up()
        watch = replica.feed.watch(job)
        await end_job(harness)
        await store.purge(harness.engine.epoch, Retention(finished_max=0), 0.0)
        await replica.catch_up()
        assert watch.is_closed

    run_virtual(main, 1)


def test_a_replica_that_retention_has_cut_off_loads_the_snapshot_and_its_followers_follow_again() -> None:
    async def main(_: random.Random) -> None:
        harness, job = await leader_with_running_job(store := CountingStore())
        replica = Replica(store)
        await replica.catch_up()
        subscription, watch = replica.feed.subscribe(), replica.feed.watch(job)
        await harness.submit(spec("b"))
        await harness.engine.stop()  # saves a snapshot
        await store.purge(harness.engine.epoch, CUT_ALL_ROUNDS, 0.0)
        await replica.catch_up()
        assert set(replica.state.jobs_by_name["default"]) == {"a", "b"}
        assert await subscription.next() is None
        assert watch.is_closed

    run_virtual(main, 1)


def test_a_follower_answers_at_the_version_that_a_client_has_seen_or_not_at_all() -> None:
    async def main(_: random.Random) -> None:
        leader, follower, _election = await leader_and_follower(CountingStore())
        for name in ("a", "b", "c"):
            await leader.engine.submit([spec(name)], "tester")
            seen = leader.engine.committed_version
            await follower.engine.wait_committed(seen)
            assert follower.engine.state.version >= seen
        with pytest.raises(NotLeader, match=rf"reached version {seen}, not yet {seen + 1}"):
            await follower.engine.wait_committed(seen + 1)

    run_virtual(main, 1)


def test_a_follower_that_cannot_reach_the_store_answers_what_it_has() -> None:
    async def main(_: random.Random) -> None:
        leader, follower, _election = await leader_and_follower(store := CountingStore())
        await leader.engine.submit([spec("a")], "tester")
        seen = leader.engine.committed_version
        await follower.engine.wait_committed(seen)
        store.failing = {"rounds_after"}
        await asyncio.sleep(2)
        await leader.engine.submit([spec("b")], "tester")
        await follower.engine.wait_committed(seen)
        assert set(follower.engine.state.jobs_by_name["default"]) == {"a"}
        with pytest.raises(NotLeader):
            await follower.engine.wait_committed(leader.engine.committed_version)
        store.failing = set()
        await asyncio.sleep(1)
        await follower.engine.wait_committed(leader.engine.committed_version)

    run_virtual(main, 1)
