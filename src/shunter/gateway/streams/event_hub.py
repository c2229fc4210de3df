"""Hands committed events to their followers. Used by `gateway.streams.events`; one per manager.

Each round is rendered once and each event encoded once, for all followers. Followers are indexed by what they follow:
an event of one job costs only the followers of that job, of its namespace and of everything. Events that come within a
few milliseconds leave as one chunk, which all followers of the same subject share."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Iterator
from typing import NamedTuple

from shunter.engine.feed import Feed, PublishedRound, Subscription
from shunter.model.rest.cluster_views import EventView
from shunter.model.rest.event_stream import encode_event

BACKLOG_BYTES_MAX = 2**20  # encoded events that wait for one follower; beyond it the follower is dropped
HAND_OUT_INTERVAL_S = 0.02  # between two chunks, under load; the first event after a pause leaves at once
HAND_OUT_EVENTS_MAX = 500  # after which other tasks get a turn

Render = Callable[[PublishedRound], list[EventView]]


class Subject(NamedTuple):
    """What a follower follows: None means all. With a `tenant`, only what it owns when it happens."""

    namespace: str | None
    job: str | None
    tenant: str | None = None


class Follower:
    """The events of one subject after `version`, in chunks of bytes. `next` returns None at the end."""

    __slots__ = ("_backlog_bytes", "_chunks", "_is_closed", "_waiter", "is_behind", "subject", "version")

    def __init__(self, subject: Subject, version: int) -> None:
        self.subject = subject
        self.version = version  # of the last round whose events were all put
        self.is_behind = False  # it read too slowly: events after `version` are missing
        self._chunks: deque[bytes] = deque()
        self._backlog_bytes = 0
        self._is_closed = False
        self._waiter: asyncio.Future[None] | None = None

    def put(self, chunk: bytes, since: int, version: int) -> None:
        """The events after version `since`, up to `version`. All before were put, or were not about its subject."""
        if self._is_closed:
            return
        self.version = since
        if self._chunks and self._backlog_bytes + len(chunk) > BACKLOG_BYTES_MAX:
            self.is_behind = True
            self.end()
            return
        self.version = version
        self._backlog_bytes += len(chunk)
        self._chunks.append(chunk)
        self._wake()

    def end(self) -> None:
        """What was put is still read."""
        self._is_closed = True
        self._wake()

    async def next(self) -> bytes | None:
        while not self._chunks:
            if self._is_closed:
                return None
            self._waiter = asyncio.get_running_loop().create_future()
            await self._waiter
        chunk = self._chunks.popleft()
        self._backlog_bytes -= len(chunk)
        return chunk

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)


class EventHub:
    def __init__(self, feed: Feed, render: Render, owner_of: Callable[[str], str]) -> None:
        """`owner_of` a namespace: the tenant; empty if it belongs to the cluster."""
        self._feed, self._render, self._owner_of = feed, render, owner_of
        self._followers: dict[Subject, set[Follower]] = {}
        self._version = 0  # of the last round that was handed out
        self._subscription: Subscription | None = None
        self._task: asyncio.Task[None] | None = None

    def join(self, subject: Subject, version: int) -> Follower | None:
        """Follow everything after `version`. None if later rounds were handed out already: read them from the store
        first. `leave` must follow."""
        if self._subscription is None:
            self._subscription = self._feed.subscribe()
            self._version = self._feed.version
            self._task = asyncio.get_running_loop().create_task(self._run(self._subscription))
        if version < self._version:
            if not self._followers:
                self._stop()
            return None
        follower = Follower(subject, version)
        self._followers.setdefault(subject, set()).add(follower)
        return follower

    def leave(self, follower: Follower) -> None:
        followers = self._followers.get(follower.subject, set())
        followers.discard(follower)
        if not followers:
            self._followers.pop(follower.subject, None)
        if not self._followers:
            self._stop()

    def _stop(self) -> None:
        """Nobody follows: rounds are not even rendered."""
        if self._subscription is not None:
            self._feed.unsubscribe(self._subscription)
            self._subscription = None
        if self._task is not None:
            self._task.cancel()
            self._task = None

    async def _run(self, subscription: Subscription) -> None:
        """Until nobody follows, or the engine stops."""
        try:
            while (published := await subscription.next()) is not None:
                await self._hand_out_all([published, *subscription.take_waiting()])
                await asyncio.sleep(HAND_OUT_INTERVAL_S)
        finally:
            if self._subscription is subscription:  # it ended by itself
                self._subscription = self._task = None
                for followers in self._followers.values():
                    for follower in followers:
                        follower.end()

    async def _hand_out_all(self, rounds: list[PublishedRound]) -> None:
        batch: list[tuple[int, EventView]] = []
        for published in rounds:
            batch += [(published.version, event) for event in self._render(published)]
            if len(batch) >= HAND_OUT_EVENTS_MAX:
                self._hand_out(batch, published.version)
                batch = []
                await asyncio.sleep(0)
        self._hand_out(batch, rounds[-1].version)

    def _hand_out(self, batch: list[tuple[int, EventView]], version: int) -> None:
        chunks: dict[Subject, list[tuple[int, bytes]]] = {}
        for event_version, event in batch:
            data = b""
            for subject in self._subjects_of(event):
                if subject in self._followers:
                    data = data or encode_event(event)
                    chunks.setdefault(subject, []).append((event_version, data))
        for subject, parts in chunks.items():
            shared = b"".join([data for _, data in parts])
            for follower in self._followers[subject]:
                if follower.version <= self._version:
                    follower.put(shared, self._version, version)
                else:  # it joined in between and has read some of these rounds from the store
                    late = b"".join([data for each, data in parts if each > follower.version])
                    follower.put(late, follower.version, max(version, follower.version))
        self._version = version

    def _subjects_of(self, event: EventView) -> Iterator[Subject]:
        yield from subjects_of(event)
        if event.namespace is not None and (tenant := self._owner_of(event.namespace)):
            yield from (subject._replace(tenant=tenant) for subject in subjects_of(event))


def subjects_of(event: EventView) -> Iterator[Subject]:
    yield Subject(None, None)
    if event.namespace is not None:
        yield Subject(event.namespace, None)
    if event.job is not None:
        yield Subject(event.namespace, event.job)
        yield Subject(None, event.job)
