"""Publishes committed rounds to subscribers of all changes and to watchers of single jobs. Owned by `engine.engine`."""

from __future__ import annotations

import asyncio
from collections import deque
from dataclasses import dataclass, field

from shunter.engine.changes import Change
from shunter.engine.jobs.finish import Summary

# Rounds buffered for a slow subscriber, and their size in the store; beyond either the subscription ends.
BACKLOG_MAX = 2_000
BACKLOG_BYTES_MAX = 16 * 2**20


@dataclass(frozen=True, slots=True)
class PublishedRound:
    version: int
    at: float
    changes: list[Change]
    size_bytes: int = 0  # of the changes, as the store has them


class Subscription:
    """Committed rounds in order, from the moment of subscribing. `next` returns None at the end."""

    def __init__(self) -> None:
        self._rounds: deque[PublishedRound] = deque()
        self._backlog_bytes = 0
        self._wakeup = asyncio.Event()
        self.is_closed = False

    def put(self, published: PublishedRound) -> None:
        is_full = len(self._rounds) >= BACKLOG_MAX or self._backlog_bytes + published.size_bytes > BACKLOG_BYTES_MAX
        if self._rounds and is_full:
            self.is_closed = True
        if not self.is_closed:
            self._rounds.append(published)
            self._backlog_bytes += published.size_bytes
        self._wakeup.set()

    def end(self) -> None:
        self.is_closed = True
        self._wakeup.set()

    async def next(self) -> PublishedRound | None:
        while not self._rounds:
            if self.is_closed:
                return None
            self._wakeup.clear()
            await self._wakeup.wait()
        published = self._rounds.popleft()
        self._backlog_bytes -= published.size_bytes
        return published

    def take_waiting(self) -> list[PublishedRound]:
        """All rounds that wait, without waiting for more."""
        rounds = list(self._rounds)
        self._rounds.clear()
        self._backlog_bytes = 0
        return rounds


@dataclass(slots=True, eq=False)
class JobWatch:
    """Wakes the waiters of one job; `summary` is set once the job has ended."""

    job_id: int
    wakeup: asyncio.Event = field(default_factory=asyncio.Event)
    summary: Summary | None = None
    is_closed: bool = False  # no more rounds follow, or history has lost the job


class Feed:
    def __init__(self) -> None:
        self.version = 0  # of the last round that was published, or that was in the state when it was loaded
        self._subscriptions: set[Subscription] = set()
        self._watches: dict[int, list[JobWatch]] = {}

    def subscribe(self) -> Subscription:
        subscription = Subscription()
        self._subscriptions.add(subscription)
        return subscription

    def unsubscribe(self, subscription: Subscription) -> None:
        self._subscriptions.discard(subscription)

    def watch(self, job_id: int) -> JobWatch:
        watch = JobWatch(job_id)
        self._watches.setdefault(job_id, []).append(watch)
        return watch

    def unwatch(self, watch: JobWatch) -> None:
        watches = self._watches.get(watch.job_id, [])
        if watch in watches:
            watches.remove(watch)
        if not watches:
            self._watches.pop(watch.job_id, None)

    def publish(self, published: PublishedRound, summaries: dict[int, Summary]) -> None:
        self.version = published.version
        for subscription in self._subscriptions:
            subscription.put(published)
        if not self._watches:
            return
        for change in published.changes:
            for watch in self._watches.get(getattr(change, "job", 0), ()):
                watch.summary = summaries.get(watch.job_id)
                watch.wakeup.set()

    def is_watched(self, job_id: int) -> bool:
        return job_id in self._watches

    def end_watches(self, job_id: int) -> None:
        for watch in self._watches.get(job_id, ()):
            watch.is_closed = True
            watch.wakeup.set()

    def end(self) -> None:
        """End every subscription and watch: the engine stops, or its state was loaded again. Who followed may follow
        again."""
        for subscription in self._subscriptions:
            subscription.end()
        for job_id in self._watches:
            self.end_watches(job_id)
