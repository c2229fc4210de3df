"""Reads parts of the log of one attempt from its worker: the next bytes, whole lines, the last lines. Never holds a
whole log. Used by `follow` and `job_logs`."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import NamedTuple

from shunter.gateway.jobs.task_reader import LogLocation
from shunter.model.errors import Gone, Unavailable
from shunter.model.protocol.worker_messages import LOG_GONE
from shunter.ports.jobs import LogChunk
from shunter.ports.workers import Workers

CHUNK_SIZE = 64 * 2**10  # a line that is longer comes in several pieces
TAIL_SIZE_MAX = 2**20  # of the last lines of one stream
GIVE_UP_AFTER_S = 10.0  # how long readers retry after the end of a job whose output cannot be read
NEWLINE = b"\n"


class Lines(NamedTuple):
    """Whole lines, from `offset` on. At the end of what is written so far, the last one may be unfinished."""

    data: bytes
    offset: int
    next_offset: int
    is_end: bool  # nothing more is written by now


async def read_chunk(workers: Workers, location: LogLocation, stream: str, offset: int, size_max: int) -> LogChunk:
    """Raises Gone, Unavailable or Busy."""
    log = location.log
    if not log and location.starting_attempt is None:
        return LogChunk(b"", offset, False)
    arguments = (location.node, log >> 32, log & 0xFFFFFFFF, stream, offset, size_max)
    data = await workers.read_log(*arguments, location.starting_attempt)
    if data.error == LOG_GONE:
        raise Gone(data.error)
    if data.error:
        raise Unavailable(data.error)
    return LogChunk(data.data, max(data.next, offset + len(data.data)), data.eof, data.truncated)


async def read_lines(workers: Workers, location: LogLocation, stream: str, offset: int) -> Lines:
    """The next whole lines. Bytes behind the last newline are left for the next call, unless they are the end."""
    chunk = await read_chunk(workers, location, stream, offset, CHUNK_SIZE)
    has_hole = chunk.next_offset > offset + len(chunk.data)  # the log limit removed a part
    is_end = chunk.eof or (len(chunk.data) < CHUNK_SIZE and not has_hole)
    whole = chunk.data.rfind(NEWLINE) + 1
    if is_end or has_hole or not whole:
        return Lines(chunk.data, offset, chunk.next_offset, is_end)
    return Lines(chunk.data[:whole], offset, offset + whole, False)


async def all_lines(workers: Workers, location: LogLocation, stream: str, offset: int) -> AsyncGenerator[Lines, None]:
    """All lines that are written so far."""
    while True:
        lines = await read_lines(workers, location, stream, offset)
        if lines.data:
            yield lines
        if lines.is_end:
            return
        offset = lines.next_offset


async def tail_offset(workers: Workers, location: LogLocation, stream: str, count: int) -> int:
    """Where the last `count` lines of a log begin; at most TAIL_SIZE_MAX bytes before its end."""
    first = await read_lines(workers, location, stream, 0)
    if first.is_end:
        return _start_of_tail(first.data, count)
    end = await _find_end(workers, location, stream, first.next_offset)
    size = CHUNK_SIZE
    while True:
        start = max(0, end - size)
        body = await _read_up_to(workers, location, stream, start, size + CHUNK_SIZE)
        found = _start_of_tail(body, count)
        if found or not start or size >= TAIL_SIZE_MAX:
            return start + (found or (body.find(NEWLINE) + 1 if start else 0))
        size = min(size * 4, TAIL_SIZE_MAX)


async def _read_up_to(workers: Workers, location: LogLocation, stream: str, offset: int, size_max: int) -> bytes:
    """A running task may write faster than this reads, so it stops at `size_max`."""
    body = bytearray()
    async with aclosing(all_lines(workers, location, stream, offset)) as found:
        async for lines in found:
            body += lines.data
            if len(body) >= size_max:
                break
    return bytes(body)


def _start_of_tail(body: bytes, count: int) -> int:
    """0 if there are not more lines."""
    position = len(body) - 1 if body.endswith(NEWLINE) else len(body)
    for _ in range(count):
        position = body.rfind(NEWLINE, 0, max(position, 0))
        if position < 0:
            return 0
    return position + 1


async def _find_end(workers: Workers, location: LogLocation, stream: str, known: int) -> int:
    """About where a log ends: workers do not tell how long it is. `known` is a position before its end."""
    step = CHUNK_SIZE
    while (await read_chunk(workers, location, stream, known + step, 1)).data:
        known, step = known + step, step * 2
    while step > CHUNK_SIZE:
        step //= 2
        if (await read_chunk(workers, location, stream, known + step, 1)).data:
            known += step
    return known + CHUNK_SIZE
