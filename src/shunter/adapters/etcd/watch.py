"""A copy of the few keys below a prefix, with the moment to which it is true. Used by the election and by the
coordination; lives in the coordination's thread.

A session with one member lists the keys, then watches them from the next revision on. It lists them again a few times
per TTL, over the same connection. So a half-open connection, a member without a majority, a compaction, a missed event
and a restored etcd are one case: the list fails or differs, and a new session begins with the next member."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress

import grpc.aio

from shunter.adapters.etcd.client import Backoff, Endpoint, EtcdClient
from shunter.adapters.etcd.errors import EtcdUnavailable, translate
from shunter.adapters.etcd.keys import Entry
from shunter.adapters.etcd.lease import read_clock
from shunter.adapters.etcd.methods import RANGE, WATCH, end_of_prefix
from shunter.log import Log
from shunter.model.errors import Unauthorized
from shunter.proto.etcd import etcd_pb2 as pb

LISTS_PER_TTL = 3

log = Log(__name__)


class KeyWatch:
    """`on_change` is called after each change, and when the copy becomes old or new again."""

    def __init__(self, client: EtcdClient, prefix: bytes, ttl_s: float, on_change: Callable[[], None]) -> None:
        self._client = client
        self._prefix = prefix
        self._ttl_s = ttl_s
        self._on_change = on_change
        self._changed = asyncio.Event()
        self.entries: dict[bytes, Entry] = {}
        self.revision = 0
        self.heard_at = float("-inf")  # the copy was complete then

    async def run(self) -> None:
        """Follow the keys until cancelled. Never raises for a fault of the servers."""
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._follow())
            tasks.create_task(self._report_age())

    async def wait_until(self, condition: Callable[[], bool]) -> None:
        while not condition():
            await self._changed.wait()

    async def wait_for_revision(self, revision: int) -> None:
        """At most for a TTL: an etcd that loses its data counts from 1 again."""
        with suppress(TimeoutError):
            async with asyncio.timeout(self._ttl_s):
                await self.wait_until(lambda: self.revision >= revision)

    def is_current(self) -> bool:
        return read_clock() - self.heard_at <= self._ttl_s

    # ---- sessions ----

    async def _follow(self) -> None:
        backoff = Backoff()
        while True:
            endpoint, begun_at = self._client.endpoint, read_clock()
            try:
                await self._run_session(endpoint)
            except (EtcdUnavailable, Unauthorized) as error:
                self._client.avoid(endpoint, error)
            except Exception:
                log.exception("etcd.watch_failed")
            if read_clock() - begun_at > self._ttl_s:
                backoff.reset()  # the session worked
            await backoff.wait()

    async def _run_session(self, endpoint: Endpoint) -> None:
        await self.list_from(endpoint)
        call = await self._client.open_stream(endpoint, WATCH)
        create = pb.WatchCreateRequest(
            key=self._prefix, range_end=end_of_prefix(self._prefix), start_revision=self.revision + 1
        )
        try:
            await call.write(pb.WatchRequest(create_request=create))
            await _run_until_one_ends(self._read(call), self._list_again_and_again(endpoint))
        except grpc.aio.AioRpcError as error:
            raise translate_watch(error, endpoint) from error
        except asyncio.InvalidStateError as error:  # the stream ended before the request was written
            raise EtcdUnavailable(f"etcd at {endpoint.address}: the watch was refused") from error
        finally:
            call.cancel()

    async def list_from(self, endpoint: Endpoint) -> None:
        """Replace the copy. etcd answers with what a majority has, so it is complete as of the time of the request."""
        sent_at, known = read_clock(), self.revision
        request = pb.RangeRequest(key=self._prefix, range_end=end_of_prefix(self._prefix))
        response = await self._client.call_at(endpoint, RANGE, request)
        if response.header.revision < known:
            log.warning("etcd.history_lost", revision=response.header.revision, known=known)
        if response.header.revision >= self.revision or response.header.revision < known:
            self.entries = {kv.key: _entry(kv) for kv in response.kvs}
            self.revision = response.header.revision
        self.heard_at = sent_at
        self._announce()
        if response.header.revision < known:
            raise EtcdUnavailable("etcd lost its history; the watch starts again")

    async def _list_again_and_again(self, endpoint: Endpoint) -> None:
        while True:
            await asyncio.sleep(self._ttl_s / LISTS_PER_TTL)
            await self.list_from(endpoint)

    async def _read(self, call: grpc.aio.StreamStreamCall[pb.WatchRequest, pb.WatchResponse]) -> None:
        async for response in call:
            if response.canceled:  # most likely a compaction since the list; the next session lists again
                reason = response.cancel_reason or f"compacted up to revision {response.compact_revision}"
                log.info("etcd.watch_cancelled", reason=reason)
                return
            self._apply(response)

    def _apply(self, response: pb.WatchResponse) -> None:
        """A list may have been faster than the watch: older events are known."""
        news = [event for event in response.events if event.kv.mod_revision > self.revision]
        for event in news:
            if event.type == pb.Event.DELETE:
                self.entries.pop(event.kv.key, None)
            else:
                self.entries[event.kv.key] = _entry(event.kv)
        if news:
            self.revision = news[-1].kv.mod_revision
            self._announce()

    # ---- who is told ----

    def _announce(self) -> None:
        changed, self._changed = self._changed, asyncio.Event()
        changed.set()
        self._on_change()

    async def _report_age(self) -> None:
        """Nothing else happens when nothing is heard."""
        while True:
            await self.wait_until(self.is_current)
            while (left_s := self.heard_at + self._ttl_s - read_clock()) >= 0:
                await asyncio.sleep(left_s + 0.001)
            self._announce()


async def _run_until_one_ends(*parts: Awaitable[None]) -> None:
    tasks = [asyncio.ensure_future(part) for part in parts]
    try:
        done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        for task in done:
            task.result()
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def translate_watch(error: grpc.aio.AioRpcError, endpoint: Endpoint) -> Exception:
    translated = translate(error, endpoint.address)
    return translated if isinstance(translated, EtcdUnavailable | Unauthorized) else EtcdUnavailable(str(translated))


def _entry(kv: pb.KeyValue) -> Entry:
    return Entry(kv.value, kv.create_revision, kv.mod_revision, kv.lease)
