"""The sub-gateway `streams`: follows logs, and follows jobs until they end. Implements `ports.jobs.StreamService`."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import dataclass, field

from shunter.engine.engine import Engine
from shunter.engine.feed import JobWatch
from shunter.engine.read.views import counts_view, job_view
from shunter.engine.state.records import Job
from shunter.gateway.jobs.runs import Runs
from shunter.gateway.jobs.task_reader import LogLocation, TaskReader
from shunter.gateway.jobs.task_refs import AnyRun, FinishedRun, first_task_of
from shunter.gateway.streams.events import Events
from shunter.gateway.streams.job_logs import JobLogs
from shunter.gateway.streams.job_watch import JobWatches
from shunter.gateway.streams.log_chunks import GIVE_UP_AFTER_S, read_chunk
from shunter.model.errors import Conflict, Gone, Unavailable
from shunter.model.lifecycles import NodeState
from shunter.model.rest.job_views import FollowLine, LogView, ProgressView
from shunter.model.rest.log_views import JobLogLine
from shunter.ports.admin import EventPosition
from shunter.ports.jobs import JobLogQuery, JobNews, LogChunk, LogQuery
from shunter.ports.principals import JobReference, TaskReference
from shunter.ports.workers import Workers

PROGRESS_INTERVAL_S = 0.1
LOG_INTERVAL_S = 0.1
LOG_SIZE_MAX = 256 * 2**10
STREAMS = ("stdout", "stderr")


class Streams:
    def __init__(self, engine: Engine, workers: Workers, runs: Runs, reader: TaskReader, events: Events) -> None:
        self._engine, self._workers, self._runs, self._reader = engine, workers, runs, reader
        self._job_logs = JobLogs(workers, runs, reader, self._describe_down)
        self._job_watches = JobWatches(engine, runs, events)

    async def follow_job(self, job: JobReference, mode: str) -> AsyncGenerator[FollowLine, None]:
        return self._follow_run(await self._runs.find(job), mode)

    async def watch_job(self, job: JobReference, after: EventPosition | None) -> AsyncGenerator[JobNews, None]:
        return await self._job_watches.open(job, after)

    async def read_log(self, job: JobReference, task: TaskReference, query: LogQuery) -> LogChunk:
        location = await self._reader.log_location(await self._runs.find(job), task, query.attempt)
        try:
            return await read_chunk(self._workers, location, query.stream, query.offset, query.size_max)
        except Unavailable:
            self._refuse_if_down(location)
            raise

    async def follow_log(
        self, job: JobReference, task: TaskReference, query: LogQuery
    ) -> AsyncGenerator[LogChunk, None]:
        run = await self._runs.find(job)
        await self._reader.log_location(run, task, query.attempt)
        return self._follow_log(JobReference(job.namespace, id=run.id), task, query)

    async def job_logs(self, job: JobReference, query: JobLogQuery) -> AsyncGenerator[JobLogLine, None]:
        return await self._job_logs.open(job, query)

    async def _follow_run(self, run: AnyRun, mode: str) -> AsyncGenerator[FollowLine, None]:
        """The job, what the mode asks for, and its end. A job may end between the request and the first line."""
        if isinstance(run, Job) and run.id not in self._engine.state.jobs:
            run = await self._runs.find(JobReference(run.namespace, id=run.id))
        followed = self._follow_live(run, mode) if isinstance(run, Job) else self._follow_finished(run, mode)
        async with aclosing(followed) as lines:
            async for line in lines:
                yield line

    async def _follow_finished(self, run: FinishedRun, mode: str) -> AsyncGenerator[FollowLine, None]:
        output = _Output()
        yield FollowLine(job=run.view)
        if mode == "logs" and run.view.count == 1:
            async with aclosing(self._rest_of_output(JobReference(run.view.namespace, id=run.id), output)) as lines:
                async for line in lines:
                    yield line
        yield FollowLine(end=run.view, exit_code=run.summary.exit_code, output_error=output.error)

    async def _follow_live(self, run: Job, mode: str) -> AsyncGenerator[FollowLine, None]:
        """Starts to watch before the first line goes out."""
        output = _Output()
        watch = self._engine.feed.watch(run.id)
        try:
            yield FollowLine(job=job_view(run, self._engine.state, self._engine.now_ms()))
            if mode in ("progress", "logs"):
                followed = self._progress(run, watch) if mode == "progress" else self._logs(run, watch, output)
                async with aclosing(followed) as lines:
                    async for line in lines:
                        yield line
            while watch.summary is None and not watch.is_closed:
                watch.wakeup.clear()
                await watch.wakeup.wait()
            if watch.summary is not None:
                summary = watch.summary
                yield FollowLine(end=summary.view, exit_code=summary.exit_code, output_error=output.error)
        finally:
            self._engine.feed.unwatch(watch)

    async def _follow_log(
        self, reference: JobReference, task: TaskReference, query: LogQuery
    ) -> AsyncGenerator[LogChunk, None]:
        offset, has_begun = query.offset, False
        last: LogLocation | None = None
        while True:
            run = await self._runs.find(reference)
            location = await self._reader.log_location(run, task, query.attempt)
            if location.log or location.starting_attempt is not None:
                if last is not None and not location.continues(last):
                    offset = 0
                last = location
            try:
                chunk = await read_chunk(self._workers, location, query.stream, offset, query.size_max)
            except Unavailable:
                if location.is_over or not has_begun:
                    self._refuse_if_down(location)
                    raise
                chunk = LogChunk(b"", offset, False)  # the node may come back, or the task run elsewhere
            if chunk.data or not has_begun:
                has_begun = True
                yield chunk
            offset = chunk.next_offset
            if not chunk.data and location.is_over:
                return
            if not chunk.data:
                await asyncio.sleep(LOG_INTERVAL_S)

    def _refuse_if_down(self, location: LogLocation) -> None:
        """A node that is down will not answer soon: the caller is told so at once, and does not retry. Raises
        Conflict."""
        reason = self._describe_down(location.node)
        if reason is not None:
            raise Conflict(reason)

    def _describe_down(self, number: int) -> str | None:
        """Why the logs of a node that is down cannot be read; None if it is not down."""
        node = self._engine.state.nodes.records.get(number)
        if node is None or node.state is not NodeState.DOWN:
            return None
        cause = f" ({node.reason})" if node.reason else ""
        return f"node '{node.name}' is down{cause}: its logs cannot be read now; try again when it is back"

    async def _progress(self, job: Job, watch: JobWatch) -> AsyncGenerator[FollowLine, None]:
        reported: dict[str, int] = {}
        while watch.summary is None and not watch.is_closed:
            watch.wakeup.clear()  # before looking, so that what changes from here on wakes us again
            counts = counts_view(job.counts())
            if counts != reported:
                reported = counts
                yield FollowLine(progress=ProgressView(job.state.wire_name, counts))
                await _wait_for_end(watch, PROGRESS_INTERVAL_S)
            await watch.wakeup.wait()

    async def _logs(self, job: Job, watch: JobWatch, output: _Output) -> AsyncGenerator[FollowLine, None]:
        """Both streams of a job's only task, while it runs and once more after its end."""
        reference = JobReference(job.namespace, id=job.id)
        while watch.summary is None and not watch.is_closed:
            async with aclosing(self._new_output(reference, output)) as lines:
                async for line in lines:
                    yield line
            await _wait_for_news(watch, LOG_INTERVAL_S)
        if watch.summary is None:
            return  # the engine stops: follow again
        async with aclosing(self._rest_of_output(reference, output)) as lines:
            async for line in lines:
                yield line

    async def _rest_of_output(self, reference: JobReference, output: _Output) -> AsyncGenerator[FollowLine, None]:
        """The rest of the output of an ended job. If it cannot be read now, try again for a while: a follower wants all
        of it, but also the end of the job."""
        give_up_at = asyncio.get_running_loop().time() + GIVE_UP_AFTER_S
        while True:
            output.error, has_data = None, False
            async with aclosing(self._new_output(reference, output)) as lines:
                async for line in lines:
                    has_data = True
                    yield line
            if output.error is None and not has_data:
                return
            if output.error is not None:
                if output.is_gone or asyncio.get_running_loop().time() >= give_up_at:
                    return
                await asyncio.sleep(LOG_INTERVAL_S)

    async def _new_output(self, reference: JobReference, output: _Output) -> AsyncGenerator[FollowLine, None]:
        """One chunk of each stream, if there is one. An error is noted: the node may come back."""
        run = await self._runs.find(reference)
        location = await self._reader.log_location(run, first_task_of(run), None)
        if not location.continues(output.location):
            output.offsets = dict.fromkeys(STREAMS, 0)
        output.location = location
        for stream in STREAMS:
            try:
                chunk = await read_chunk(self._workers, location, stream, output.offsets[stream], LOG_SIZE_MAX)
            except (Gone, Unavailable) as error:
                output.error, output.is_gone = error.detail, isinstance(error, Gone)
                continue
            output.offsets[stream] = chunk.next_offset
            if chunk.data:
                yield FollowLine(log=LogView(stream, chunk.data))


@dataclass(slots=True)
class _Output:
    """How far the output of a job's only task was read, and why not further."""

    offsets: dict[str, int] = field(default_factory=lambda: dict.fromkeys(STREAMS, 0))
    location: LogLocation | None = None
    error: str | None = None
    is_gone: bool = False  # the error stays


async def _wait_for_news(watch: JobWatch, seconds: float) -> None:
    watch.wakeup.clear()
    if watch.summary is not None or watch.is_closed:
        return
    try:
        async with asyncio.timeout(seconds):
            await watch.wakeup.wait()
    except TimeoutError:
        pass


async def _wait_for_end(watch: JobWatch, seconds: float) -> None:
    """Pause until the job ends, at most `seconds`. Leaves the watch set if something changed meanwhile."""
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
