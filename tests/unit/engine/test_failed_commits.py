"""A failed commit: nothing of its round becomes visible, and the engine continues from the committed state."""

from __future__ import annotations

import asyncio
import random

import pytest

from shunter.adapters.memory.store import MemoryStore
from shunter.engine.cluster_settings import on_set
from shunter.engine.round import Round
from shunter.engine.settings import EngineSettings
from shunter.model.errors import Failed, StoreFailed, Unavailable
from shunter.ports.store import Commit, Snapshot
from shunter.simulation.runtime.loop import run_virtual
from tests.unit.engine.harness import Harness, spec


class FullDisk(MemoryStore):
    """Refuses to write while `is_full`, commits and epochs alike."""

    is_full = False

    async def commit(self, commit: Commit) -> None:
        if self.is_full:
            raise StoreFailed("the disk is full")
        await super().commit(commit)

    async def begin_epoch(self, term: int = 0) -> int:
        if self.is_full:
            raise StoreFailed("the disk is full")
        return await super().begin_epoch(term)


async def harness_with_full_disk() -> tuple[Harness, FullDisk]:
    store = FullDisk()
    harness = await Harness(store, EngineSettings()).open()
    await harness.join("n1", cpu=1)
    await harness.submit(spec("kept"))
    harness.orders()
    store.is_full = True
    return harness, store


def test_nothing_of_a_failed_round_is_answered_sent_or_seen() -> None:
    async def main(_: random.Random) -> None:
        harness, _store = await harness_with_full_disk()
        with pytest.raises(Unavailable, match="the disk is full"):
            await harness.engine.submit([spec("phantom")], "tester")
        assert not harness.orders()
        await harness.engine.wait_committed()
        assert set(harness.engine.state.jobs_by_name["default"]) == {"kept"}

    run_virtual(main, 1)


def test_while_the_disk_is_full_the_committed_state_can_be_read_and_no_node_is_judged() -> None:
    async def main(_: random.Random) -> None:
        harness, store = await harness_with_full_disk()
        assert harness.engine.commit_problem == ""
        with pytest.raises(Unavailable):
            await harness.engine.submit([spec("phantom")], "tester")
        for _attempt in range(3):
            await harness.engine.wait_committed()
            assert set(harness.engine.state.jobs_by_name["default"]) == {"kept"}
            await harness.settle(20)
        assert "the disk is full" in harness.engine.commit_problem
        assert (harness.workers.suspensions, harness.workers.resets) == (1, 0)
        store.is_full = False
        await harness.settle(10)
        assert (harness.engine.commit_problem, harness.workers.resets) == ("", 1)

    run_virtual(main, 1)


def test_while_the_store_fails_requests_are_refused_at_once_and_later_all_is_well() -> None:
    async def main(_: random.Random) -> None:
        harness, store = await harness_with_full_disk()
        epoch = harness.engine.epoch
        for name in ("a", "b"):
            with pytest.raises(Unavailable, match="the disk is full"):
                await harness.engine.submit([spec(name)], "tester")
        store.is_full = False
        await harness.settle(10)
        await harness.engine.wait_committed()
        assert harness.engine.epoch > epoch
        assert harness.workers.resets == 1
        assert set(harness.engine.state.jobs_by_name["default"]) == {"kept"}
        [again] = await harness.submit(spec("a"))
        assert again.created

    run_virtual(main, 1)


def test_a_manager_that_stops_without_a_store_saves_no_snapshot_of_what_was_never_committed() -> None:
    async def main(_: random.Random) -> None:
        harness, store = await harness_with_full_disk()
        with pytest.raises(Unavailable):
            await harness.engine.submit([spec("phantom")], "tester")
        store.is_full = False
        await asyncio.wait_for(harness.engine.stop(), 60)
        snapshot = await store.snapshot()
        assert snapshot is None or snapshot.version <= await store.last_version()
        second = await Harness(store, EngineSettings()).open()
        assert set(second.engine.state.jobs_by_name["default"]) == {"kept"}

    run_virtual(main, 1)


class BrokenSnapshots(MemoryStore):
    async def save_snapshot(self, _epoch: int, _snapshot: Snapshot) -> None:
        raise RuntimeError("a mistake of ours")


def test_a_snapshot_that_fails_unexpectedly_does_not_keep_the_manager_from_stopping() -> None:
    async def main(_: random.Random) -> None:
        store = BrokenSnapshots()
        harness = await Harness(store, EngineSettings()).open()
        await harness.submit(spec("kept"))
        await harness.engine.stop()
        second = await Harness(store, EngineSettings()).open()
        assert set(second.engine.state.jobs_by_name["default"]) == {"kept"}

    run_virtual(main, 1)


class SlowDisk(FullDisk):
    """Every commit and every read of the state takes a second."""

    async def commit(self, commit: Commit) -> None:
        await asyncio.sleep(1)
        await super().commit(commit)

    async def snapshot(self) -> Snapshot | None:
        await asyncio.sleep(1)
        return await super().snapshot()


def test_a_read_that_waited_for_a_reload_sees_nothing_of_the_commit_that_follows_at_once() -> None:
    async def main(_: random.Random) -> None:
        harness = await Harness(SlowDisk(), EngineSettings()).open()
        engine = harness.engine
        submitting = asyncio.create_task(engine.submit([spec("next")], "tester"))
        failing = asyncio.create_task(engine.ask(_change_and_fail))
        await harness.settle(0.5)  # the state is being loaded, and the submit waits for it
        await engine.wait_committed()
        assert engine.state.version == await harness.store.last_version()
        await submitting
        with pytest.raises(Failed):
            await failing

    run_virtual(main, 1)


@pytest.mark.parametrize("is_full", [False, True], ids=["while the state is loaded", "between two attempts to load it"])
def test_a_request_that_waits_for_a_reload_is_refused_when_the_engine_stops(is_full: bool) -> None:
    async def main(_: random.Random) -> None:
        store = SlowDisk()
        harness = await Harness(store, EngineSettings()).open()
        store.is_full = is_full
        failing = asyncio.create_task(harness.engine.ask(_change_and_fail))
        waiting = asyncio.create_task(harness.engine.submit([spec("next")], "tester"))
        await harness.settle(0.5)
        with pytest.raises(Failed):
            await failing
        assert not waiting.done()
        stopping = asyncio.create_task(harness.engine.stop())
        with pytest.raises(Unavailable, match="the manager is stopping; try again"):
            await asyncio.wait_for(waiting, 60)
        await stopping

    run_virtual(main, 1)


def _change_and_fail(round: Round) -> None:
    on_set(round, {"licence.matlab": "1"})
    raise ValueError("a defect")
