"""A commit that fails: nothing of its round is ever seen, and the engine goes on from what is committed."""

from __future__ import annotations

import asyncio
import random

import pytest

from shunter.adapters.memory.store import MemoryStore
from shunter.engine.settings import EngineSettings
from shunter.model.errors import StoreFailed, Unavailable
from shunter.ports.store import Commit
from shunter.simulation.runtime.loop import run_virtual
from tests.unit.engine.harness import Stage, spec


class FullDisk(MemoryStore):
    """Refuses to write while `is_full`, commits and epochs alike."""

    is_full = False

    async def commit(self, commit: Commit) -> None:
        if self.is_full:
            raise StoreFailed("the disk is full")
        await super().commit(commit)

    async def begin_epoch(self) -> int:
        if self.is_full:
            raise StoreFailed("the disk is full")
        return await super().begin_epoch()


async def stage_with_full_disk() -> tuple[Stage, FullDisk]:
    store = FullDisk()
    stage = await Stage(store, EngineSettings()).open()
    await stage.join("n1", cpu=1)
    await stage.submit(spec("kept"))
    stage.orders()
    store.is_full = True
    return stage, store


def test_nothing_of_a_failed_round_is_answered_sent_or_seen() -> None:
    async def main(_: random.Random) -> None:
        stage, _store = await stage_with_full_disk()
        with pytest.raises(Unavailable, match="the disk is full"):
            await stage.engine.submit([spec("phantom")], "tester")
        assert not stage.orders()
        with pytest.raises(Unavailable, match="the disk is full"):
            await stage.engine.committed()

    run_virtual(main, 1)


def test_while_the_store_fails_requests_are_refused_at_once_and_later_all_is_well() -> None:
    async def main(_: random.Random) -> None:
        stage, store = await stage_with_full_disk()
        epoch = stage.engine.epoch
        for name in ("a", "b"):
            with pytest.raises(Unavailable, match="the disk is full"):
                await stage.engine.submit([spec(name)], "tester")
        store.is_full = False
        await stage.settle(10)
        await stage.engine.committed()
        assert stage.engine.epoch > epoch
        assert stage.workers.resets == 1
        assert set(stage.engine.state.names["default"]) == {"kept"}
        [again] = await stage.submit(spec("a"))
        assert again.created

    run_virtual(main, 1)


def test_a_manager_that_stops_without_a_store_saves_no_snapshot_of_what_was_never_committed() -> None:
    async def main(_: random.Random) -> None:
        stage, store = await stage_with_full_disk()
        with pytest.raises(Unavailable):
            await stage.engine.submit([spec("phantom")], "tester")
        store.is_full = False
        await asyncio.wait_for(stage.engine.stop(), 60)
        snapshot = await store.snapshot()
        assert snapshot is None or snapshot.version <= await store.last_version()
        second = await Stage(store, EngineSettings()).open()
        assert set(second.engine.state.names["default"]) == {"kept"}

    run_virtual(main, 1)
