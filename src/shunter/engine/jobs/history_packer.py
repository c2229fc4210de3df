"""Packs the tasks of ended jobs as history stores them, for `engine.jobs.finish`, which needs them to end a job.

Packing compresses, which takes about a second for ten million tasks. So a round packs few tasks itself. What is more is
packed in slices between rounds, and the job ends in a round after that: tasks that have ended never change again.
Nothing of it is committed. A manager that takes the lead begins anew, by a timer."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator

from shunter.engine.state.records import Job
from shunter.engine.state.state import State
from shunter.ports.clock import Clock
from shunter.ports.store import FinishedTasks

CHUNK_TASKS = 65_536
SMALL_TASK_SET = 1_000  # a job with smaller groups only ends in the round of its last task
PAUSE_S = 0.002  # between two chunks


def count_tasks(job: Job) -> int:
    return sum(task_set.count for task_set in job.task_sets)


def pack_tasks(state: State, job: Job) -> Iterator[FinishedTasks]:
    for task_set in job.task_sets:
        for first in range(0, task_set.count, CHUNK_TASKS):
            count = min(CHUNK_TASKS, task_set.count - first)
            yield FinishedTasks(task_set.number, first, count, state.table.pack(task_set.base + first, count))


class HistoryPacker:
    """Packs the rows of one engine's finished jobs. `wake` starts a round."""

    def __init__(self, clock: Clock, wake: Callable[[], None]) -> None:
        self._clock, self._wake = clock, wake
        self.packed: dict[int, list[FinishedTasks]] = {}  # by job; the next round takes them
        self._queue: dict[int, Job] = {}
        self._packing = 0  # the job
        self._task: asyncio.Task[None] | None = None

    def begin(self, state: State, jobs: Iterable[Job]) -> None:
        """Pack these jobs, all of whose tasks have ended. Called after a commit."""
        self._queue.update((job.id, job) for job in jobs if job.id != self._packing)
        if self._queue and self._task is None:
            self._task = asyncio.get_running_loop().create_task(self._pack_all(state))

    def discard(self) -> None:
        """The state is another one, or the manager stops."""
        self.packed.clear()
        self._queue.clear()
        self._packing = 0
        if self._task is not None:
            self._task.cancel()
            self._task = None

    async def _pack_all(self, state: State) -> None:
        while self._queue:
            job = self._queue.pop(next(iter(self._queue)))
            chunks: list[FinishedTasks] = []
            self._packing = job.id
            for chunk in pack_tasks(state, job):
                chunks.append(chunk)
                await self._clock.sleep(PAUSE_S)
            self.packed[job.id] = chunks
            self._packing = 0
            self._wake()
        self._task = None
