"""A worker's second connection: one of the other managers tells it who leads. Run by the client of a worker that knows
several managers.

A leader that is stopped or cut off keeps its connections open. Only another manager knows soon that it was replaced."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress

import grpc
import grpc.aio

from shunter.adapters.grpc.backoff import Backoff
from shunter.adapters.grpc.channel import NEWS_EVERY_S, SERVICE, WATCH_METHOD
from shunter.adapters.grpc.codec import Malformed, decode_leader
from shunter.log import Log
from shunter.model.protocol.worker_messages import Leader

SILENCE_MAX_S = 2.5 * NEWS_EVERY_S
CONFIRM_TIMEOUT_S = 3.0

log = Log(__name__)

OpenChannel = Callable[[str], grpc.aio.Channel]
OnNews = Callable[[Leader, str], None]  # what was said, and the address of the manager that said it
Metadata = tuple[tuple[str, str], ...]


class LeaderWatch:
    """`current_address` returns the manager of the worker's stream: another one is watched."""

    def __init__(
        self,
        addresses: Sequence[str],
        open_channel: OpenChannel,
        metadata: Metadata,
        current_address: Callable[[], str],
        on_news: OnNews,
        rng: random.Random,
    ) -> None:
        self._addresses = addresses
        self._open_channel = open_channel
        self._metadata = metadata
        self._current_address = current_address
        self._on_news = on_news
        self._rng = rng
        self._watched = ""

    async def run(self) -> None:
        """Until cancelled."""
        backoff = Backoff(self._rng)
        while True:
            self._watched = self._choose()
            try:
                await self._listen(self._watched, lambda news: self._heard(news, backoff))
            except (grpc.aio.AioRpcError, Malformed, TimeoutError) as error:
                reason = error.details() if isinstance(error, grpc.aio.AioRpcError) else repr(error)
                log.info("leader.watch_lost", address=self._watched, reason=reason)
            except Exception:
                log.exception("leader.watch_failed", address=self._watched)
            await asyncio.sleep(backoff.next_delay_s())

    async def confirm(self, address: str, term: int) -> bool:
        """Whether the manager at that address says itself that it leads, under this term or a later one. It may need a
        moment after its election."""
        with suppress(grpc.aio.AioRpcError, Malformed, TimeoutError):
            async with asyncio.timeout(CONFIRM_TIMEOUT_S):
                await self._listen(address, lambda news: not (news.here and news.term >= term))
            return True
        return False

    def _heard(self, news: Leader, backoff: Backoff) -> bool:
        """Whether to go on listening: not to the manager of the worker's stream, and not to the leader itself, which
        may be the same one by another name."""
        is_leader = news.here and not news.relayed
        if not is_leader:  # otherwise the worker may know no other manager that answers
            backoff.reset()
        self._on_news(news, self._watched)
        return not is_leader and self._watched != self._current_address()

    def _choose(self) -> str:
        """Not the manager of the stream, and not the one before, if there are others."""
        current, last = self._current_address(), self._watched
        others = [address for address in self._addresses if address != current] or list(self._addresses)
        return self._rng.choice([address for address in others if address != last] or others)

    async def _listen(self, address: str, wants_more: Callable[[Leader], bool]) -> None:
        """Until it has heard enough. Raises AioRpcError, also if the manager ends the stream, Malformed, or
        TimeoutError if the manager is silent."""
        async with self._open_channel(address) as channel:
            watch = channel.unary_stream(f"/{SERVICE}/{WATCH_METHOD}", bytes, bytes)
            call = watch(b"", metadata=self._metadata)
            try:
                while True:
                    data = await _within(SILENCE_MAX_S, call.read())
                    if not isinstance(data, bytes):
                        raise TimeoutError("the stream ended")
                    if not wants_more(decode_leader(data)):
                        return
            finally:
                call.cancel()


async def _within(seconds: float, reading: Awaitable[object]) -> object:
    async with asyncio.timeout(seconds):
        return await reading
