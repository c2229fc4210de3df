"""Streams: a job to its end, a log as it is written. Made by the gateway."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing

from shunter.engine.engine import Engine
from shunter.engine.feed import JobWatch
from shunter.engine.read.views import counts_view, job_view
from shunter.engine.state.records import Job
from shunter.gateway.jobs.runs import Runs
from shunter.gateway.jobs.task_refs import FinishedRun, Run
from shunter.gateway.jobs.tasks import TaskPlace, Tasks
from shunter.model.errors import Unavailable
from shunter.model.rest.views import FollowLine, LogView, ProgressView
from shunter.ports.gateway import JobReference, LogPiece, LogQuery, TaskReference
from shunter.ports.workers import Workers

PROGRESS_INTERVAL_S = 0.1
LOG_INTERVAL_S = 0.1
LOG_SIZE_MAX = 256 * 2**10
STREAMS = ("stdout", "stderr")
ONLY = TaskReference(0)  # the task of a job that has just one


class Following:
    def __init__(self, engine: Engine, workers: Workers, runs: Runs, tasks: Tasks) -> None:
        self._engine, self._workers, self._runs, self._tasks = engine, workers, runs, tasks

    async def job(self, run: Run, mode: str) -> AsyncGenerator[FollowLine, None]:
        """The job at once, what the mode asks for, its end. The watch is set before the first line goes out."""
        if isinstance(run, FinishedRun):
            yield FollowLine(job=run.view)
            async with aclosing(self._all_logs(run, mode)) as lines:
                async for line in lines:
                    yield line
            yield FollowLine(end=run.view, exit_code=run.summary.exit_code)
            return
        watch = self._engine.feed.watch(run.id)
        try:
            yield FollowLine(job=job_view(run, self._engine.state))
            steps = {"progress": self._progress, "logs": self._logs}.get(mode)
            if steps is not None:
                async with aclosing(steps(run, watch)) as lines:
                    async for line in lines:
                        yield line
            while watch.summary is None and not watch.is_closed:
                watch.wakeup.clear()
                await watch.wakeup.wait()
            if watch.summary is not None:
                yield FollowLine(end=watch.summary.view, exit_code=watch.summary.exit_code)
        finally:
            self._engine.feed.unwatch(watch)

    async def log(
        self, reference: JobReference, task: TaskReference, query: LogQuery
    ) -> AsyncGenerator[LogPiece, None]:
        """Pieces as they are written, later attempts included unless one is named."""
        offset, has_begun = query.offset, False
        last: TaskPlace | None = None
        while True:
            run = await self._runs.find(reference)
            place = await self._tasks.place_of(run, task, query.attempt)
            if place.log or place.opening is not None:
                if last is not None and not place.goes_on(last):
                    offset = 0
                last = place
            try:
                piece = await self.piece(place, query.stream, offset, query.size_max)
            except Unavailable:
                if place.is_over or not has_begun:
                    raise
                piece = LogPiece(b"", offset, False)  # the node may come back, or the task run elsewhere
            if piece.data or not has_begun:
                has_begun = True
                yield piece
            offset = piece.next_offset
            if not piece.data and place.is_over:
                return
            if not piece.data:
                await asyncio.sleep(LOG_INTERVAL_S)

    async def piece(self, place: TaskPlace, stream: str, offset: int, size_max: int) -> LogPiece:
        log = place.log
        if not log and place.opening is None:
            return LogPiece(b"", offset, False)
        where = (place.node, log >> 32, log & 0xFFFFFFFF, stream, offset, size_max)
        data = await self._workers.read_log(*where, place.opening)
        return LogPiece(data.data, max(data.next, offset + len(data.data)), data.eof, data.truncated)

    async def _progress(self, job: Job, watch: JobWatch) -> AsyncGenerator[FollowLine, None]:
        shown: dict[str, int] = {}
        while watch.summary is None and not watch.is_closed:
            watch.wakeup.clear()  # before looking, so that what changes from here on wakes us again
            counts = counts_view(job.counts())
            if counts != shown:
                shown = counts
                yield FollowLine(progress=ProgressView(job.state.word, counts))
                await _end_within(watch, PROGRESS_INTERVAL_S)
            await watch.wakeup.wait()

    async def _logs(self, job: Job, watch: JobWatch) -> AsyncGenerator[FollowLine, None]:
        """Both streams of a job's only task, while it runs and once more after its end."""
        offsets = dict.fromkeys(STREAMS, 0)
        last: TaskPlace | None = None
        while True:
            is_over = watch.summary is not None or watch.is_closed
            run = await self._runs.find(JobReference(job.namespace, id=job.id))
            place = await self._tasks.place_of(run, ONLY, None)
            if not place.goes_on(last):
                offsets = dict.fromkeys(STREAMS, 0)
            last = place
            got = False
            for stream in STREAMS:
                piece = await self._piece_or_nothing(place, stream, offsets[stream])
                offsets[stream] = piece.next_offset
                if piece.data:
                    got = True
                    yield FollowLine(log=LogView(stream, piece.data))
            if is_over and not got:
                return
            if not is_over:
                await _news_within(watch, LOG_INTERVAL_S)

    async def _all_logs(self, run: FinishedRun, mode: str) -> AsyncGenerator[FollowLine, None]:
        if mode != "logs" or run.view.count != 1:
            return
        place = await self._tasks.place_of(run, ONLY, None)
        for stream in STREAMS:
            offset = 0
            while (piece := await self._piece_or_nothing(place, stream, offset)).data:
                offset = piece.next_offset
                yield FollowLine(log=LogView(stream, piece.data))

    async def _piece_or_nothing(self, place: TaskPlace, stream: str, offset: int) -> LogPiece:
        """Whoever follows a job wants its end most: a node that is away does not keep it from them."""
        try:
            return await self.piece(place, stream, offset, LOG_SIZE_MAX)
        except Unavailable:
            return LogPiece(b"", offset, False)


async def _news_within(watch: JobWatch, seconds: float) -> None:
    watch.wakeup.clear()
    if watch.summary is not None or watch.is_closed:
        return
    try:
        async with asyncio.timeout(seconds):
            await watch.wakeup.wait()
    except TimeoutError:
        pass


async def _end_within(watch: JobWatch, seconds: float) -> None:
    """Pause, but not past the job's end. What is news meanwhile stays news."""
    has_news = False
    try:
        async with asyncio.timeout(seconds):
            while watch.summary is None and not watch.is_closed:
                watch.wakeup.clear()
                await watch.wakeup.wait()
                has_news = True
    except TimeoutError:
        pass
    if has_news:
        watch.wakeup.set()
