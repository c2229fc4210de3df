"""A job with very many tasks ends when they are packed for history, which happens in slices between rounds."""

from __future__ import annotations

import random
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from shunter.adapters.memory.store import MemoryStore
from shunter.engine.jobs import history_packer
from shunter.engine.settings import EngineSettings
from shunter.engine.state.task_table import TaskTable, unpack_columns
from shunter.model.errors import StoreFailed
from shunter.model.lifecycles import TaskState
from shunter.ports.store import Commit, FinishedQuery
from shunter.simulation.runtime.loop import run_virtual
from tests.unit.engine.harness import Harness, spec

TASKS = 5_000
PACKED_MAX = 2_000
CHUNK = 1_000
PAUSE_S = 1.0


class CountedCommits(MemoryStore):
    """Knows how many tasks each commit put into history."""

    def __init__(self) -> None:
        super().__init__()
        self.tasks: list[int] = []
        self.fails_next_end = False

    async def commit(self, commit: Commit) -> None:
        if commit.finished:
            if self.fails_next_end:
                self.fails_next_end = False
                raise StoreFailed("the disk is full")
            self.tasks.append(sum(chunk.count for job in commit.finished for chunk in job.tasks))
        await super().commit(commit)


def run_packing(
    monkeypatch: pytest.MonkeyPatch, scenario: Callable[[Harness, CountedCommits], Coroutine[Any, Any, None]]
) -> None:
    monkeypatch.setattr(history_packer, "CHUNK_TASKS", CHUNK)
    monkeypatch.setattr(history_packer, "PAUSE_S", PAUSE_S)

    async def main(_: random.Random) -> None:
        store = CountedCommits()
        await scenario(await Harness(store, EngineSettings(packed_tasks_max=PACKED_MAX)).open(), store)

    run_virtual(main, 1)


async def stop_all(harness: Harness) -> None:
    for job_id in list(harness.engine.state.jobs):
        await harness.engine.stop_tasks(job_id, None, now=True)
    await harness.settle()


async def ended(harness: Harness) -> list[str]:
    return sorted(job.name for job in await harness.store.finished_jobs(FinishedQuery()))


def test_a_large_job_ends_when_all_its_tasks_are_packed(monkeypatch: pytest.MonkeyPatch) -> None:
    async def scenario(harness: Harness, store: CountedCommits) -> None:
        await harness.submit(spec("huge", TASKS))
        [job_id] = harness.engine.state.jobs
        await stop_all(harness)
        assert harness.counts(job_id)["cancelled"] == TASKS and await ended(harness) == []
        await harness.settle(TASKS / CHUNK * PAUSE_S - 0.5)
        assert await ended(harness) == []
        await harness.settle(1.0)
        assert await ended(harness) == ["huge"] and store.tasks == [TASKS]
        chunks = await harness.store.finished_tasks(job_id, 0, 0, TASKS - 1)
        assert [(chunk.first, chunk.count) for chunk in chunks] == [(each, CHUNK) for each in range(0, TASKS, CHUNK)]
        assert all((unpack_columns(CHUNK, chunk.body)["state"] == TaskState.CANCELLED).all() for chunk in chunks)

    run_packing(monkeypatch, scenario)


def test_a_round_packs_a_bounded_number_of_tasks(monkeypatch: pytest.MonkeyPatch) -> None:
    async def scenario(harness: Harness, store: CountedCommits) -> None:
        for number in range(5):
            await harness.submit(spec(f"large-{number}", 1_500))
        await harness.submit(spec("small", 1_000))
        await stop_all(harness)
        assert "small" in await ended(harness)  # it never waits
        await harness.settle(20.0)
        assert len(await ended(harness)) == 6
        assert max(store.tasks) <= PACKED_MAX + 1_000

    run_packing(monkeypatch, scenario)


@pytest.mark.parametrize("is_stopped_twice", [False, True])
def test_a_job_is_packed_once_however_often_its_end_is_looked_at(
    monkeypatch: pytest.MonkeyPatch, is_stopped_twice: bool
) -> None:
    packed = 0
    pack = TaskTable.pack

    def count(table: TaskTable, base: int, count: int) -> bytes:
        nonlocal packed
        packed += 1
        return pack(table, base, count)

    monkeypatch.setattr(TaskTable, "pack", count)

    async def scenario(harness: Harness, _: CountedCommits) -> None:
        await harness.submit(spec("huge", TASKS))
        await stop_all(harness)
        await harness.settle(1.5)
        if is_stopped_twice:
            await stop_all(harness)
        await harness.settle(20.0)
        assert await ended(harness) == ["huge"] and packed == TASKS / CHUNK

    run_packing(monkeypatch, scenario)


def test_the_next_manager_ends_a_job_that_was_being_packed(monkeypatch: pytest.MonkeyPatch) -> None:
    async def scenario(harness: Harness, _: CountedCommits) -> None:
        await harness.submit(spec("huge", TASKS))
        await stop_all(harness)
        await harness.settle(2.5)
        await harness.restart_manager()
        assert await ended(harness) == []
        await harness.settle(TASKS / CHUNK * PAUSE_S + 1)
        assert await ended(harness) == ["huge"]

    run_packing(monkeypatch, scenario)


def test_a_job_ends_although_the_commit_of_its_end_fails_once(monkeypatch: pytest.MonkeyPatch) -> None:
    async def scenario(harness: Harness, store: CountedCommits) -> None:
        await harness.submit(spec("huge", TASKS))
        await stop_all(harness)
        store.fails_next_end = True
        await harness.settle(3 * TASKS / CHUNK * PAUSE_S)
        assert await ended(harness) == ["huge"]

    run_packing(monkeypatch, scenario)
