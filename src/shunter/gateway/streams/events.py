"""The sub-gateway `events`: pages of committed events, and a stream of them. Implements `ports.admin.EventService`."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator

from shunter.engine.changes import decode_round
from shunter.engine.engine import Engine
from shunter.engine.feed import PublishedRound
from shunter.engine.read.events import render
from shunter.gateway.streams.event_hub import EventHub, Subject
from shunter.model.rest.cluster_views import EventPage, EventView
from shunter.model.rest.event_stream import encode_event, encode_resume_point
from shunter.ports.admin import EventPosition, EventQuery
from shunter.ports.store import LoggedRound, Store

ROUNDS_PER_READ = 200


class Events:
    def __init__(self, engine: Engine, store: Store) -> None:
        self._engine, self._store = engine, store
        self._hub = EventHub(engine.feed, self._render_all)

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

    async def subscribe(self, query: EventQuery) -> AsyncGenerator[bytes, None]:
        await self._engine.wait_committed()
        if query.after is not None:  # it may be too old: say so before the answer begins
            await self._store.rounds_after(_last_consumed_version(query.after), 1)
        return self._stream(query, self._engine.state.version)

    async def _stream(self, query: EventQuery, version: int) -> AsyncGenerator[bytes, None]:
        """First the events after the position from the store, then new ones as they are committed."""
        subject = Subject(query.namespace, query.job)
        is_behind = query.after is not None
        if query.after is not None:
            version = _last_consumed_version(query.after)
        while True:
            while is_behind and (rounds := await self._store.rounds_after(version, ROUNDS_PER_READ)):
                for logged in rounds:
                    if events := self._render(_published(logged), query, query.after):
                        yield b"".join(map(encode_event, events))
                    await asyncio.sleep(0)  # much may have happened meanwhile: others get their turn
                version = rounds[-1].version
            follower = self._hub.join(subject, version)
            if follower is not None:
                break
            is_behind = True
        try:
            while (chunk := await follower.next()) is not None:
                yield chunk
            if follower.is_behind:
                yield encode_resume_point(follower.version)
        finally:
            self._hub.leave(follower)

    def _render(self, published: PublishedRound, query: EventQuery, after: EventPosition | None) -> list[EventView]:
        """The events of a round that match the query and come after the position."""
        events = self._render_all(published)
        if after is not None and after.version == published.version and after.number is not None:
            events = events[after.number + 1 :]
        return [
            event for event in events if query.namespace in (None, event.namespace) and query.job in (None, event.job)
        ]

    def _render_all(self, published: PublishedRound) -> list[EventView]:
        names = self._engine.state.nodes.view.names
        return render(published.version, published.at, published.changes, names.__getitem__)


def _last_consumed_version(position: EventPosition) -> int:
    """The last version of which the reader has all events."""
    return position.version if position.number is None else position.version - 1


def _published(logged: LoggedRound) -> PublishedRound:
    return PublishedRound(logged.version, logged.at, decode_round(logged.body))
