"""The sub-gateway `events`: pages of committed events, and a stream of them. Implements `ports.admin.EventService`."""

from __future__ import annotations

from collections.abc import AsyncGenerator

from shunter.engine.changes import decode_round
from shunter.engine.engine import Engine
from shunter.engine.feed import PublishedRound, Subscription
from shunter.engine.read.events import render
from shunter.model.errors import NotFound
from shunter.model.rest.views import EventPage, EventView
from shunter.ports.admin import EventPosition, EventQuery
from shunter.ports.store import LoggedRound, Store

ROUNDS_PER_READ = 200


class Events:
    def __init__(self, engine: Engine, store: Store) -> None:
        self._engine, self._store = engine, store

    async def page(self, query: EventQuery) -> EventPage:
        await self._engine.wait_committed()
        found: list[EventView] = []
        version = await self._store.first_version() - 1 if query.after is None else _last_consumed_version(query.after)
        while len(found) <= query.limit:
            rounds = await self._store.rounds_after(version, ROUNDS_PER_READ)
            if not rounds:
                break
            for logged in rounds:
                found += self._render(_published(logged), query, query.after)
            version = rounds[-1].version
        has_more = len(found) > query.limit
        found = found[: query.limit]
        return EventPage(found, found[-1].id if has_more else None, len(found))

    async def subscribe(self, query: EventQuery) -> AsyncGenerator[EventView, None]:
        await self._engine.wait_committed()
        subscription = self._engine.feed.subscribe()
        after = query.after or EventPosition(self._engine.state.version)
        if query.after is not None:
            try:
                await self._store.rounds_after(_last_consumed_version(after), 1)
            except NotFound:
                self._engine.feed.unsubscribe(subscription)
                raise
        return self._stream(subscription, query, after)

    async def _stream(
        self, subscription: Subscription, query: EventQuery, after: EventPosition
    ) -> AsyncGenerator[EventView, None]:
        """First the events after the position from the store, then new ones as they are committed."""
        version = _last_consumed_version(after)
        try:
            while rounds := await self._store.rounds_after(version, ROUNDS_PER_READ):
                for logged in rounds:
                    for event in self._render(_published(logged), query, after):
                        yield event
                version = rounds[-1].version
            while (live := await subscription.next()) is not None:
                if live.version > version:
                    for event in self._render(live, query, after):
                        yield event
        finally:
            self._engine.feed.unsubscribe(subscription)

    def _render(self, published: PublishedRound, query: EventQuery, after: EventPosition | None) -> list[EventView]:
        """The events of a round that match the query and come after the position."""
        names = self._engine.state.nodes.view.names
        events = render(published.version, published.at, published.changes, names.__getitem__)
        if after is not None and after.version == published.version and after.number is not None:
            events = events[after.number + 1 :]
        return [
            event for event in events if query.namespace in (None, event.namespace) and query.job in (None, event.job)
        ]


def _last_consumed_version(position: EventPosition) -> int:
    """The last version of which the reader has all events."""
    return position.version if position.number is None else position.version - 1


def _published(logged: LoggedRound) -> PublishedRound:
    return PublishedRound(logged.version, logged.at, decode_round(logged.body))
