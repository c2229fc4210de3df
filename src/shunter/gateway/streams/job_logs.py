"""Streams the output of many tasks of a job: task by task, or as they write it. Called by `follow`.

In memory are one chunk of output and, for each task that is followed, the position up to which it was read."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from dataclasses import dataclass, field

from shunter.gateway.jobs.log_tasks import LogGaps, LogTask, TasksWithOutput, check_indexes
from shunter.gateway.jobs.runs import Runs
from shunter.gateway.jobs.task_reader import LogLocation, TaskReader
from shunter.gateway.jobs.task_refs import FinishedRun, group_name
from shunter.gateway.streams.log_chunks import (
    CHUNK_SIZE,
    GIVE_UP_AFTER_S,
    TAIL_SIZE_MAX,
    Lines,
    all_lines,
    read_lines,
    tail_offset,
)
from shunter.model.errors import Busy, Gone, NotFound, Unavailable
from shunter.model.rest.log_views import JobLogEnd, JobLogLine, TaskLogView
from shunter.ports.jobs import JobLogQuery
from shunter.ports.principals import JobReference
from shunter.ports.workers import Workers

INTERVAL_S = 0.1  # between two passes over the tasks of a followed job
SLOW_INTERVAL_S = 1.0  # the same for jobs with more than MANY_TASKS tasks
MANY_TASKS = 10_000
READS_PER_INTERVAL = 64  # of one follower, so that it does not slow others down


@dataclass(slots=True)
class _Stream:
    """One request."""

    job: JobReference
    query: JobLogQuery
    found: TasksWithOutput
    missing: LogGaps = field(default_factory=LogGaps)
    down_nodes: dict[int, str] = field(default_factory=dict)  # node -> why it does not answer
    tasks: int = 0  # whose output was read, at least in part
    open_tasks: dict[tuple[int, int], LogTask] = field(default_factory=dict)  # followed, and not read to their end
    is_first_pass: bool = True
    has_more: bool = False  # a task writes faster than one pass reads

    def end(self) -> JobLogLine:
        left_out, missing = list(self.found.left_out.found.values()), list(self.missing.found.values())
        return JobLogLine(end=JobLogEnd(tasks=self.tasks, left_out=left_out, missing=missing))


class JobLogs:
    def __init__(
        self, workers: Workers, runs: Runs, reader: TaskReader, describe_down: Callable[[int], str | None]
    ) -> None:
        """`describe_down`: why the logs of a node cannot be read; None if it is not down."""
        self._workers, self._runs, self._reader, self._describe_down = workers, runs, reader, describe_down

    async def open(self, job: JobReference, query: JobLogQuery) -> AsyncGenerator[JobLogLine, None]:
        """Raises NotFound or Invalid for groups and indexes that do not exist."""
        run = await self._runs.find(job)
        for group in query.groups:
            group_name(run, group)
        check_indexes(run, query)
        reference = JobReference(job.namespace, id=run.id)
        stream = _Stream(reference, query, TasksWithOutput(self._runs, self._reader, reference, query))
        if isinstance(run, FinishedRun) and not run.view.run:
            raise NotFound(f"job '{run.name}' has not run yet: {run.view.reason}")  # a template
        return self._follow(stream) if query.follow else self._read_all(stream)

    def _explain(self, error: Gone | Unavailable | Busy, location: LogLocation) -> str:
        """In the words that the log of one task uses."""
        down = self._describe_down(location.node) if isinstance(error, Unavailable) else None
        return error.detail if down is None else down

    # ---- what is written by now, task by task ----

    async def _read_all(self, stream: _Stream) -> AsyncGenerator[JobLogLine, None]:
        await stream.found.count_not_started()
        async with aclosing(stream.found.tasks()) as tasks:
            async for task in tasks:
                stream.found.finish(task)
                stream.tasks += 1
                if (reason := stream.down_nodes.get(task.location.node)) is not None:
                    stream.missing.add(reason, [task.view.name])
                    continue
                try:
                    async with aclosing(self._whole_task(stream, task)) as lines:
                        async for line in lines:
                            yield line
                except (Gone, Unavailable, Busy) as error:
                    reason = self._explain(error, task.location)
                    stream.missing.add(reason, [task.view.name])
                    if isinstance(error, Unavailable):
                        stream.down_nodes[task.location.node] = reason
        yield stream.end()

    async def _whole_task(self, stream: _Stream, task: LogTask) -> AsyncGenerator[JobLogLine, None]:
        query, is_cut = stream.query, False
        for name in query.streams:
            if query.tail is not None and query.grep is not None:
                lines = await self._last_matches(task.location, name, query.tail, query.grep.encode())
                is_cut |= lines.offset > 0
                if lines.data:
                    yield _line(task, name, lines)
                continue
            offset = await self._first_offset(query, task.location, name)
            is_cut |= offset > 0
            async with aclosing(all_lines(self._workers, task.location, name, offset)) as found:
                async for lines in found:
                    if data := _matching(lines.data, query.grep):
                        yield _line(task, name, lines._replace(data=data))
        if is_cut:
            stream.found.left_out.add(_tail_reason(query), [task.view.name])

    async def _first_offset(self, query: JobLogQuery, location: LogLocation, name: str) -> int:
        return 0 if query.tail is None else await tail_offset(self._workers, location, name, query.tail)

    async def _last_matches(self, location: LogLocation, name: str, count: int, text: bytes) -> Lines:
        """The last lines that have the text. Its `offset` is not 0 if there are more."""
        kept: deque[bytes] = deque()
        size, is_cut, end = 0, False, 0
        async with aclosing(all_lines(self._workers, location, name, 0)) as found:
            async for lines in found:
                end = lines.next_offset
                for line in _split(lines.data):
                    if text in line:
                        kept.append(line)
                        size += len(line)
                while len(kept) > count or size > TAIL_SIZE_MAX:
                    size -= len(kept.popleft())
                    is_cut = True
        return Lines(b"".join(kept), int(is_cut), end, True)

    # ---- as it is written ----

    async def _follow(self, stream: _Stream) -> AsyncGenerator[JobLogLine, None]:
        """Pass over all tasks again and again. A task that was read to its end is left out of the next passes."""
        give_up_at = float("inf")
        while True:
            run = await self._runs.find(stream.job)
            is_over = isinstance(run, FinishedRun)
            now = asyncio.get_running_loop().time()
            if is_over:
                give_up_at = min(give_up_at, now + GIVE_UP_AFTER_S)
            stream.down_nodes.clear()
            stream.has_more = False
            async with aclosing(self._pass(stream, is_last_try=now >= give_up_at)) as lines:
                async for line in lines:
                    yield line
            stream.is_first_pass = False
            if is_over and not stream.open_tasks:
                break
            if not stream.has_more:
                await asyncio.sleep(SLOW_INTERVAL_S if self._runs.view_of(run).count > MANY_TASKS else INTERVAL_S)
        await stream.found.count_not_started()
        yield stream.end()

    async def _pass(self, stream: _Stream, is_last_try: bool) -> AsyncGenerator[JobLogLine, None]:
        """What all tasks have written since the last pass."""
        reads = 0
        async with aclosing(stream.found.tasks()) as tasks:
            async for found in tasks:
                task = await self._open_task(stream, found)
                async with aclosing(self._new_lines(stream, task, is_last_try)) as lines:
                    async for line in lines:
                        stream.has_more |= line.log is not None and len(line.log.data) > CHUNK_SIZE // 2
                        yield line
                if stream.found.last_finished(task) >= task.attempt:
                    stream.open_tasks.pop(task.key, None)
                reads += len(stream.query.streams)
                if reads >= READS_PER_INTERVAL:
                    await asyncio.sleep(INTERVAL_S)
                    reads = 0

    async def _open_task(self, stream: _Stream, found: LogTask) -> LogTask:
        """The attempt to read on with. If a new attempt has started, the rest of the old one comes first."""
        known = stream.open_tasks.get(found.key)
        if known is not None:
            known.location = found.location if known.attempt == found.attempt else _ended(known.location)
            return known
        if not stream.found.last_finished(found):
            stream.tasks += 1
        if stream.is_first_pass:
            await self._skip_to_tail(stream, found)
        stream.open_tasks[found.key] = found
        return found

    async def _skip_to_tail(self, stream: _Stream, task: LogTask) -> None:
        if stream.query.tail is None:
            return
        try:
            for name in stream.query.streams:
                task.offsets[name] = await self._first_offset(stream.query, task.location, name)
        except (Gone, Unavailable, Busy):
            return  # the next read says what is wrong
        if any(task.offsets.values()):
            stream.found.left_out.add(_tail_reason(stream.query), [task.view.name])

    async def _new_lines(self, stream: _Stream, task: LogTask, is_last_try: bool) -> AsyncGenerator[JobLogLine, None]:
        """What a task has written since the last pass. An unfinished line waits until it is whole or the task ends."""
        location, is_end = task.location, True
        if location.node in stream.down_nodes and not is_last_try:
            return
        for name in stream.query.streams:
            offset = task.offsets.get(name, 0)
            try:
                lines = await read_lines(self._workers, location, name, offset)
            except (Gone, Unavailable, Busy) as error:
                if isinstance(error, Unavailable):
                    stream.down_nodes[location.node] = error.detail
                if isinstance(error, Gone) or is_last_try:
                    stream.missing.add(self._explain(error, location), [task.view.name])
                    stream.found.finish(task)
                return
            if lines.is_end and not location.is_over:
                lines = _without_unfinished_line(lines)
            task.offsets[name] = lines.next_offset
            is_end &= lines.is_end
            if data := _matching(lines.data, stream.query.grep):
                yield _line(task, name, lines._replace(data=data))
        if is_end and location.is_over:
            stream.found.finish(task)


def _line(task: LogTask, stream: str, lines: Lines) -> JobLogLine:
    view = task.view
    return JobLogLine(
        log=TaskLogView(
            task=view.name, group=view.group, index=view.index, attempt=task.attempt, stream=stream,
            offset=lines.offset, next=lines.next_offset, data=lines.data,
        )
    )  # fmt: skip


def _matching(data: bytes, text: str | None) -> bytes:
    if text is None:
        return data
    return b"".join(line for line in _split(data) if text.encode() in line)


def _split(data: bytes) -> list[bytes]:
    """Lines with their newlines; a task may write any other character in a line."""
    *whole, rest = data.split(b"\n")
    return [line + b"\n" for line in whole] + ([rest] if rest else [])


def _without_unfinished_line(lines: Lines) -> Lines:
    whole = lines.data.rfind(b"\n") + 1
    if lines.next_offset - lines.offset != len(lines.data):
        return lines  # a part was cut out: offsets do not count these bytes
    return lines._replace(data=lines.data[:whole], next_offset=lines.offset + whole)


def _ended(location: LogLocation) -> LogLocation:
    return LogLocation(location.node, location.log, True, location.attempt)


def _tail_reason(query: JobLogQuery) -> str:
    return f"earlier lines than the last {query.tail}"
