"""Passes the streams of workers on to the manager that leads, byte by byte. Used by the server for workers of a manager
with the watcher role.

The relay knows the bytes of messages, not their meaning: the leader sees each worker's own token and checks each of its
messages, as on a direct connection. Nothing is queued here. A message is read when the one before it was written, so a
peer that reads slowly holds back the other one, whose own limits then apply. All streams together hold a limited number
of bytes: a message that does not fit ends its stream."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import grpc
import grpc.aio

from shunter.adapters.grpc.byte_budget import RESERVE_BYTES, BudgetFull, ByteBudget
from shunter.adapters.grpc.channel import (
    FLUSH_TIMEOUT_S,
    METHOD,
    QUICK_CLIENT_OPTIONS,
    SERVICE,
    STATUS,
    ReadClientTls,
    open_channel,
)
from shunter.adapters.grpc.codec import encode_manager
from shunter.log import Log
from shunter.model.protocol.refusals import RefusalCode, refuse
from shunter.ports.workers import LeaderRoutes

RELAYED = "shunter-relayed"  # in the metadata of a stream that comes from a watcher
NODE = "shunter-node"  # next to it: whom the worker's certificate names
RELAYED_BYTES_MAX = 256 * 2**20 - RESERVE_BYTES  # that were read and are not yet written, of all streams together
LEADER_WAIT_MAX_S = 5.0  # for a new worker, while nobody leads or the leader does not answer
LEADER_RETRY_S = 0.2
STALL_MAX_S = 30.0  # for one message to be taken
# Until a leader that restarted is reached again. gRPC would wait up to two minutes.
RECONNECT_OPTIONS = (("grpc.initial_reconnect_backoff_ms", 100), ("grpc.max_reconnect_backoff_ms", 1000))

log = Log(__name__)

Context = grpc.aio.ServicerContext[bytes, bytes]
Call = Any  # of gRPC: a stream in both directions


@dataclass(frozen=True, slots=True)
class End:
    """Why a relayed stream ended, as the worker gets it."""

    code: RefusalCode
    reason: str


@dataclass(eq=False, slots=True)
class LeaderLink:
    """The connection to one leader, which all streams share. `ended` is set to end them."""

    address: str
    channel: grpc.aio.Channel
    ended: asyncio.Event = field(default_factory=asyncio.Event)
    end: End = End(RefusalCode.NOT_LEADER, "another manager leads")


class WorkerRelay:
    """`tls` is how this manager presents itself to the leader; None: without TLS."""

    def __init__(
        self, routes: LeaderRoutes, tls: ReadClientTls | None = None, *, budget: ByteBudget | None = None
    ) -> None:
        self._routes = routes
        self._tls = tls
        self._budget = budget or ByteBudget(RELAYED_BYTES_MAX)
        self._link: LeaderLink | None = None
        self._following: asyncio.Task[None] | None = None
        self._closed = asyncio.Event()
        self._closing: set[asyncio.Task[None]] = set()  # connections to former leaders
        self.streams = 0

    def start(self) -> None:
        self._following = asyncio.create_task(self._follow_leader())

    async def close(self) -> None:
        """End every stream: workers go to another watcher."""
        self._closed.set()
        if self._following is not None:
            self._following.cancel()
        self._drop_link(End(RefusalCode.SHUTTING_DOWN, "the watcher is stopping"))
        await asyncio.gather(*self._closing)

    async def serve(self, requests: AsyncIterator[bytes], context: Context, authorization: str, node: str) -> None:
        """One worker's stream. `authorization` is what the worker sent: the leader judges it again. `node` is whom its
        certificate names; the leader believes it because a manager says it."""
        self.streams += 1
        call: Call = None
        try:
            found = await self._open(authorization, node)
            if found is None:
                end: End | None = self._closing_end() or End(RefusalCode.NOT_LEADER, "no manager leads now")
            else:
                link, call = found
                end = await self._relay(link, call, requests, context)
            if end is None:  # the leader's word
                context.set_code(await call.code())
                context.set_details(await call.details() or "")
            else:
                await self._refuse(context, end)
            log.info("worker.relay_ended", peer=context.peer(), reason=end.reason if end else await call.details())
        finally:
            self.streams -= 1
            if call is not None:
                call.cancel()

    async def _open(self, authorization: str, node: str) -> tuple[LeaderLink, Call] | None:
        """A stream that the leader has taken; None if there is none in time."""
        given = (("authorization", authorization), (NODE, node))
        metadata = ((RELAYED, "1"), *((name, text) for name, text in given if text))
        loop = asyncio.get_running_loop()
        give_up_s = loop.time() + LEADER_WAIT_MAX_S
        while loop.time() < give_up_s and not self._closed.is_set():
            if address := self._routes.relay_to():
                link = self._link_to(address)
                call: Call = link.channel.stream_stream(f"/{SERVICE}/{METHOD}", bytes, bytes)(metadata=metadata)  # type: ignore[call-arg]
                problem = await _connect(call, link, give_up_s - loop.time())
                if not problem:
                    return link, call
                call.cancel()
                log.info("leader.unreachable", address=address, reason=problem)
                if link.ended.is_set():
                    continue  # to the next leader, which is known already
            with suppress(TimeoutError):
                async with asyncio.timeout(LEADER_RETRY_S):
                    await self._routes.wait_changed()
        return None

    async def _relay(
        self, link: LeaderLink, call: Call, requests: AsyncIterator[bytes], context: Context
    ) -> End | None:
        """Until one side ends it, or another manager leads; None if the leader ended it."""
        up = asyncio.create_task(self._pass_up(requests, call))
        down = asyncio.create_task(self._pass_down(call, context))
        ended = asyncio.create_task(link.ended.wait())
        try:
            await asyncio.wait({up, down, ended}, return_when=asyncio.FIRST_COMPLETED)
            stalled = End(RefusalCode.NOT_LEADER, f"the leader took no message for {STALL_MAX_S:.0f} s")
            if (end := _end_of(up, stalled)) is not None:
                return end
            if not down.done() and not ended.done():  # the worker closed its side, or the leader is about to end
                await asyncio.wait({down, ended}, timeout=FLUSH_TIMEOUT_S)
            stalled = End(RefusalCode.TOO_SLOW, f"the worker took no message for {STALL_MAX_S:.0f} s")
            if (end := _end_of(down, stalled)) is not None:
                return end
            if link.ended.is_set():
                return link.end
            call.cancel()
            return None
        finally:
            for task in (up, down, ended):
                task.cancel()
            await asyncio.gather(up, down, ended, return_exceptions=True)

    async def _pass_up(self, requests: AsyncIterator[bytes], call: Call) -> None:
        async for data in requests:
            with self._budget.hold(len(data)):
                await _within_stall_max(call.write(data))
        await call.done_writing()

    async def _pass_down(self, call: Call, context: Context) -> None:
        async for data in call:
            with self._budget.hold(len(data)):
                await _within_stall_max(context.write(data))

    async def _refuse(self, context: Context, end: End) -> None:
        """The worker may not read, or be gone."""
        with suppress(TimeoutError, grpc.aio.BaseError, asyncio.InvalidStateError):
            async with asyncio.timeout(FLUSH_TIMEOUT_S):
                await context.write(encode_manager(refuse(end.code, end.reason)))
        context.set_code(STATUS[end.code])
        context.set_details(end.reason)

    # ---- the leader ----

    async def _follow_leader(self) -> None:
        """A leader that hangs keeps its connections open, so its streams are ended when another one leads. As
        long as no other one is known, they stay: this watcher may just be cut off from the news."""
        while True:
            address = self._routes.relay_to()
            if self._link is not None and address != "" and address != self._link.address:
                self._drop_link(End(RefusalCode.NOT_LEADER, "another manager leads"))
            await self._routes.wait_changed()

    def _link_to(self, address: str) -> LeaderLink:
        if self._link is None or self._link.address != address:
            self._drop_link(End(RefusalCode.NOT_LEADER, "another manager leads"))
            options = (*QUICK_CLIENT_OPTIONS, *RECONNECT_OPTIONS)
            self._link = LeaderLink(address, open_channel(address, options, self._tls))
        return self._link

    def _drop_link(self, end: End) -> None:
        link, self._link = self._link, None
        if link is not None:
            link.end = end
            link.ended.set()
            closing = asyncio.create_task(link.channel.close(FLUSH_TIMEOUT_S))
            self._closing.add(closing)
            closing.add_done_callback(self._closing.discard)

    def _closing_end(self) -> End | None:
        return End(RefusalCode.SHUTTING_DOWN, "the watcher is stopping") if self._closed.is_set() else None


async def _connect(call: Call, link: LeaderLink, seconds: float) -> str:
    """Wait until the stream is open; returns why not, empty if it is. A leader that hangs may never answer, so the
    wait ends with its link."""
    connecting = asyncio.ensure_future(call.wait_for_connection())
    ended = asyncio.ensure_future(link.ended.wait())
    try:
        await asyncio.wait({connecting, ended}, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
        if link.ended.is_set():
            return link.end.reason
        if not connecting.done():
            return "no answer in time"
        if connecting.cancelled():
            return "the call was cancelled"
        error = connecting.exception()
        if isinstance(error, grpc.aio.AioRpcError):
            return error.details() or error.code().name
        if error is not None:
            raise error
        return ""
    finally:
        for task in (connecting, ended):
            task.cancel()
        await asyncio.gather(connecting, ended, return_exceptions=True)


def _end_of(passing: asyncio.Task[None], stalled: End) -> End | None:
    """Why one direction ended, if that was the relay's decision."""
    error = passing.exception() if passing.done() and not passing.cancelled() else None
    if isinstance(error, BudgetFull):
        return End(RefusalCode.BUSY, "the watcher holds as many messages as it may")
    return stalled if isinstance(error, TimeoutError) else None


async def _within_stall_max(writing: Awaitable[object]) -> None:
    async with asyncio.timeout(STALL_MAX_S):
        await writing
