"""Claims about the log of rounds, fencing and the snapshot."""

from __future__ import annotations

import asyncio
import contextlib
import random

import pytest

from shunter.model.errors import Fenced, StoreFailed
from shunter.ports.store import Commit, FinishedQuery, FinishedTasks, LoggedRound, Retention, Snapshot, Store
from tests.contracts.store_samples import Claim, OpenStore, collector, finished_job, without_tasks, write

CLAIMS: list[Claim] = []
claim = collector(CLAIMS)


# ---- the log ----


@claim
async def a_new_store_is_empty(open_store: OpenStore) -> None:
    store = await open_store()
    assert await store.last_version() == 0
    assert await store.snapshot() is None
    assert await store.rounds_after(0, 10) == []
    assert await store.finished_jobs(FinishedQuery()) == []
    assert await store.count_finished(FinishedQuery()) == 0
    assert await store.ended_runs([("default", "job", None), ("default", "job", 1)]) == {}


@claim
async def committed_rounds_come_back_in_order(open_store: OpenStore) -> None:
    store = await open_store()
    epoch = await store.begin_epoch()
    for version in range(1, 8):
        await store.commit(Commit(epoch, version, 100.5 + version, b"body %d" % version))
    assert await store.last_version() == 7
    assert await store.rounds_after(3, 100) == [
        LoggedRound(version, 100.5 + version, b"body %d" % version) for version in (4, 5, 6, 7)
    ]
    assert [round.version for round in await store.rounds_after(0, 2)] == [1, 2]
    assert await store.rounds_after(7, 100) == []


@claim
async def data_outlives_the_store_that_wrote_it(open_store: OpenStore) -> None:
    first = await open_store()
    await write(first, await first.begin_epoch(), 1, [finished_job(1)])
    await first.close()
    second = await open_store()
    assert await second.last_version() == 1
    assert await second.finished_job(1) == without_tasks(finished_job(1))


@claim
async def a_gap_or_a_repeat_in_the_versions_writes_nothing(open_store: OpenStore) -> None:
    store = await open_store()
    epoch = await store.begin_epoch()
    await write(store, epoch, 1)
    for version in (0, 1, 3):
        with pytest.raises(StoreFailed):
            await write(store, epoch, version, [finished_job(version + 10)])
    assert await store.last_version() == 1
    assert await store.count_finished(FinishedQuery()) == 0
    await write(store, epoch, 2)


@claim
async def a_commit_with_a_run_that_is_there_already_writes_nothing(open_store: OpenStore) -> None:
    store = await open_store()
    epoch = await store.begin_epoch()
    await write(store, epoch, 1, [finished_job(1, name="a", run=1)])
    twice_in_history = [finished_job(2, name="b"), finished_job(3, name="a", run=1)]
    twice_in_commit = [finished_job(4, name="c", run=1), finished_job(5, name="c", run=1)]
    same_id = [finished_job(6, name="d"), finished_job(1, name="e")]
    for finished in (twice_in_history, twice_in_commit, same_id):
        with pytest.raises(StoreFailed):
            await write(store, epoch, 2, finished)
    assert await store.last_version() == 1
    assert [job.id for job in await store.finished_jobs(FinishedQuery())] == [1]
    assert await store.count_finished(FinishedQuery()) == 1
    await write(store, epoch, 2, [finished_job(2, name="a", run=2)])


@claim
async def a_commit_with_a_chunk_of_tasks_twice_writes_nothing(open_store: OpenStore) -> None:
    store = await open_store()
    epoch = await store.begin_epoch()
    chunk = FinishedTasks(0, 0, 5, b"tasks")
    with pytest.raises(StoreFailed):
        await write(store, epoch, 1, [finished_job(1, tasks=[chunk, chunk])])
    assert await store.last_version() == 0
    assert await store.finished_job(1) is None


# ---- fencing ----


@claim
async def epochs_rise_by_one_across_stores(open_store: OpenStore) -> None:
    first = await open_store()
    assert await first.begin_epoch() == 1
    assert await first.begin_epoch() == 2
    second = await open_store()
    assert await second.begin_epoch() == 3


@claim
async def an_older_epoch_is_refused_and_changes_nothing(open_store: OpenStore) -> None:
    paused = await open_store()
    old_epoch = await paused.begin_epoch()
    await write(paused, old_epoch, 1, [finished_job(1)])
    leader = await open_store()
    epoch = await leader.begin_epoch()
    nothing = Retention(finished_age_s=0, finished_max=0, rounds_age_s=0, rounds_max=0)
    with pytest.raises(Fenced):
        await write(paused, old_epoch, 2, [finished_job(2)])
    with pytest.raises(Fenced):
        await paused.save_snapshot(old_epoch, Snapshot(1, b"stale"))
    with pytest.raises(Fenced):
        await paused.purge(old_epoch, nothing, 1e12)
    assert await leader.last_version() == 1
    assert await leader.snapshot() is None
    assert [job.id for job in await leader.finished_jobs(FinishedQuery())] == [1]
    await write(leader, epoch, 2)


@claim
async def an_epoch_that_was_never_begun_is_refused(open_store: OpenStore) -> None:
    store = await open_store()
    epoch = await store.begin_epoch()
    with pytest.raises(StoreFailed):
        await write(store, epoch + 1, 1)
    assert await store.last_version() == 0


@claim
async def a_term_that_was_replaced_begins_no_epoch(open_store: OpenStore) -> None:
    deposed, leader = await open_store(), await open_store()
    epoch = await deposed.begin_epoch(term=7)
    assert await deposed.begin_epoch(term=7) == epoch + 1, "the same manager may load its state again"
    assert await leader.leading_term() == 7
    leading = await leader.begin_epoch(term=9)
    assert await deposed.leading_term() == 9
    for term in (0, 7, 8):
        with pytest.raises(Fenced):
            await deposed.begin_epoch(term)
    assert await leader.leading_epoch() == leading
    await write(leader, leading, 1)
    assert await (await open_store()).begin_epoch(term=9) == leading + 1


@claim
async def no_commit_of_an_older_epoch_lands_after_a_new_one_began(open_store: OpenStore) -> None:
    """The fence holds under concurrency: what the new leader finds is what there is."""
    deposed, leader = await open_store(), await open_store()
    for term in range(1, 21):
        epoch = await deposed.begin_epoch(term)
        writing = asyncio.create_task(_commit_until_fenced(deposed, epoch))
        await asyncio.sleep(0.0005 * term)
        leading = await leader.begin_epoch(term)
        version = await leader.last_version()
        await writing
        assert await leader.last_version() == version
        await write(leader, leading, version + 1)


async def _commit_until_fenced(store: Store, epoch: int) -> None:
    version = await store.last_version()
    with contextlib.suppress(Fenced):
        while True:
            version += 1
            await write(store, epoch, version)
            await asyncio.sleep(0)  # a store in memory never waits


@claim
async def a_commit_that_nobody_waits_for_does_not_land_after_a_new_epoch_began(open_store: OpenStore) -> None:
    """Its caller is gone, as after a lost connection: it lands before the new epoch, or never."""
    deposed, leader = await open_store(), await open_store()
    for term in range(1, 11):
        epoch = await deposed.begin_epoch(term)
        version = await deposed.last_version() + 1
        commit = asyncio.create_task(write(deposed, epoch, version, [finished_job(version, run=version)]))
        await asyncio.sleep(0.0002 * term)
        commit.cancel()
        leading = await leader.begin_epoch(term)
        found = await leader.last_version()
        assert found in (version - 1, version)
        await asyncio.wait((commit,))
        await asyncio.sleep(0.01)
        assert await leader.last_version() == found
        assert await leader.count_finished(FinishedQuery()) <= found
        await write(leader, leading, found + 1)


# ---- the snapshot ----


@claim
async def the_snapshot_is_replaced_whole(open_store: OpenStore) -> None:
    store = await open_store()
    epoch = await store.begin_epoch()
    for version in (1, 2, 3):
        await write(store, epoch, version)
    bodies = (b"", random.Random(1).randbytes(3_000_000), b"small", random.Random(2).randbytes(1_500_000))
    for version, body in zip((0, 1, 3, 3), bodies, strict=True):
        await store.save_snapshot(epoch, Snapshot(version, body))
        assert await store.snapshot() == Snapshot(version, body)
    assert await (await open_store()).snapshot() == Snapshot(3, bodies[-1])


@claim
async def a_snapshot_neither_goes_back_nor_runs_ahead(open_store: OpenStore) -> None:
    store = await open_store()
    epoch = await store.begin_epoch()
    for version in (1, 2):
        await write(store, epoch, version)
    await store.save_snapshot(epoch, Snapshot(2, b"two"))
    for version in (1, 3):
        with pytest.raises(StoreFailed):
            await store.save_snapshot(epoch, Snapshot(version, b"wrong"))
    assert await store.snapshot() == Snapshot(2, b"two")


# ---- hints ----


@claim
async def whoever_waits_for_a_commit_wakes_soon_after_it(open_store: OpenStore) -> None:
    store = await open_store()
    epoch = await store.begin_epoch()
    waiting = asyncio.create_task(store.wait_for_commit(0, timeout_s=60.0))
    version = 0
    while not waiting.done():  # a hint may miss commits, for instance before it listens
        version += 1
        await write(store, epoch, version)
        await asyncio.wait((waiting,), timeout=0.05)
        assert version < 400
    await waiting
    await asyncio.wait_for(store.wait_for_commit(version - 1, timeout_s=60.0), 10.0)
    await store.wait_for_commit(version, timeout_s=0.001)  # nothing comes: the time-out ends it
