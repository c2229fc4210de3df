"""Streaming responses: NDJSON lines, server-sent events and growing logs. They end with their source, client or server.

A stream runs in the task of its request, and a second task watches the client. When the client disconnects, the second
task cancels the stream, so that the source cleans up at once."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import aclosing, asynccontextmanager
from typing import TypeVar

from shunter.api.http.exchange import Exchange, encode
from shunter.log import Log
from shunter.model.errors import ShunterError
from shunter.model.objects.object_meta import Document
from shunter.model.rest.job_views import FollowLine
from shunter.model.rest.log_views import JobLogLine
from shunter.ports.jobs import LogChunk

NDJSON = b"application/x-ndjson"
EVENT_STREAM = b"text/event-stream"
OCTETS = b"application/octet-stream"
HEARTBEAT = b": still here\n\n"
EMPTY_LINE = b"\n"
log = Log(__name__)

Item = TypeVar("Item")
Line = TypeVar("Line", FollowLine, JobLogLine)


async def stream_lines(exchange: Exchange, status: int, lines: AsyncGenerator[Line, None]) -> None:
    """One JSON object a line. Without an `end` line it was cut short, and the client may follow again. Lines carry the
    version, because that in the head of the answer is older: a client must not see the job as it was before its end."""

    def to_bytes(line: Line) -> bytes:
        if line.log is None:
            line.version = exchange.replication.version
        return encode(line) + b"\n"

    async with aclosing(lines):
        await exchange.begin(status, NDJSON)
        await _pump(exchange, lines, to_bytes)
        await exchange.end()


async def stream_events(exchange: Exchange, events: AsyncGenerator[bytes, None], heartbeat_s: float) -> None:
    """Server-sent events, resumable by their ids, with a comment every `heartbeat_s` for proxies that close quiet
    connections."""
    async with aclosing(events):
        await exchange.begin(200, EVENT_STREAM)
        await exchange.write(HEARTBEAT)
        await _pump(exchange, events, bytes, heartbeat_s)
        await exchange.end()


async def stream_watch(exchange: Exchange, lines: AsyncGenerator[Document, None], heartbeat_s: float) -> None:
    """One JSON object per line, without end, and an empty line at once and every `heartbeat_s` for proxies that close
    quiet connections. It ends early for a reader that falls too far behind; it may watch again from the last version it
    saw."""
    async with aclosing(lines):
        await exchange.begin(200, NDJSON)
        await exchange.write(EMPTY_LINE)
        await _pump(exchange, lines, lambda line: encode(line) + b"\n", heartbeat_s, EMPTY_LINE)
        await exchange.end()


async def stream_bytes(exchange: Exchange, source: AsyncGenerator[bytes, None]) -> None:
    """A file, as it is read. What is cut short has no proper end."""
    async with aclosing(source):
        await exchange.begin(200, OCTETS)
        if await _pump(exchange, source, bytes):
            await exchange.end()


async def stream_log(exchange: Exchange, source: AsyncGenerator[LogChunk, None], size_max: int | None) -> None:
    """Raw output, at most `size_max` bytes. An incomplete response has no proper end, so that no client takes it for
    complete."""
    async with aclosing(source):
        first = await anext(source, LogChunk(b"", 0, eof=True))
        await exchange.begin(200, OCTETS, [log_header(first)])
        async with aclosing(_log_chunks(first, source, size_max)) as chunks:
            if await _pump(exchange, chunks, bytes):
                await exchange.end()


def log_header(log_chunk: LogChunk) -> tuple[bytes, bytes]:
    return b"x-log-truncated", b"true" if log_chunk.truncated else b"false"


async def _pump(
    exchange: Exchange,
    source: AsyncGenerator[Item, None],
    to_bytes: Callable[[Item], bytes],
    heartbeat_s: float | None = None,
    heartbeat: bytes = HEARTBEAT,
) -> bool:
    """Write what the source yields, until it ends; says whether it did, or was cut short instead."""
    if exchange.is_head:
        return True
    try:
        async with cancel_on_disconnect(exchange, heartbeat_s, heartbeat):
            async for item in source:
                await exchange.write(to_bytes(item))
            return True
    except ShunterError as error:
        log.warning("stream.failed", path=exchange.scope["path"], error=error.detail)
    return False


@asynccontextmanager
async def cancel_on_disconnect(
    exchange: Exchange, heartbeat_s: float | None = None, heartbeat: bytes = HEARTBEAT
) -> AsyncIterator[None]:
    """Leaves the block early, without an error, when the client goes, the server cancels the request to stop, or the
    caller loses its permission."""
    stream = asyncio.current_task()
    assert stream is not None
    background_tasks = [asyncio.create_task(_watch_disconnect(exchange, stream))]
    if heartbeat_s is not None:
        background_tasks.append(asyncio.create_task(_send_heartbeats(exchange, heartbeat_s, heartbeat)))
    if exchange.permission is not None:
        exchange.permission.watch(stream)
    try:
        yield
    except asyncio.CancelledError:
        stream.uncancel()
    finally:
        if exchange.permission is not None:
            exchange.permission.leave(stream)
        for background_task in background_tasks:
            background_task.cancel()


async def _watch_disconnect(exchange: Exchange, stream: asyncio.Task[object]) -> None:
    await exchange.wait_for_disconnect()
    stream.cancel()


async def _send_heartbeats(exchange: Exchange, heartbeat_s: float, heartbeat: bytes) -> None:
    while True:
        await asyncio.sleep(heartbeat_s)
        await exchange.write(heartbeat)


async def _log_chunks(
    first: LogChunk, source: AsyncGenerator[LogChunk, None], size_max: int | None
) -> AsyncGenerator[bytes, None]:
    remaining = size_max
    log_chunk: LogChunk | None = first
    while log_chunk is not None:
        chunk = log_chunk.data[:remaining]
        if chunk:
            yield chunk
        if remaining is not None:
            remaining -= len(chunk)
            if remaining <= 0:
                return
        log_chunk = await anext(source, None)
