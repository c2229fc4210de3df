"""The sub-gateway `events`: pages of committed events, and a stream of them. Implements `ports.admin.EventService`."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from functools import partial

from shunter.engine.changes import decode_round
from shunter.engine.engine import Engine
from shunter.engine.feed import PublishedRound
from shunter.engine.read.events import render
from shunter.gateway.scope import Scope
from shunter.gateway.streams.event_hub import EventHub, Subject
from shunter.model.errors import Invalid, Problem
from shunter.model.rest.cluster_views import EventPage, EventView
from shunter.model.rest.event_stream import encode_event, encode_resume_point
from shunter.ports.admin import EventPosition, EventQuery
from shunter.ports.store import LoggedRound, Store

ROUNDS_PER_READ = 200
NEWEST_ROUNDS_MAX = 20_000  # that a page of the newest events looks at
NOBODY = "/"  # no tenant has this name


class Events:
    """One for each caller; all share the hub."""

    def __init__(self, engine: Engine, store: Store, scope: Scope, hub: EventHub | None = None) -> None:
        self._engine, self._store, self._scope = engine, store, scope
        self._hub = hub or build_hub(engine)

    async def page(self, query: EventQuery) -> EventPage:
        await self._engine.wait_committed()
        if query.is_newest_first:
            return await self._newest(query)
        found: list[EventView] = []
        version = await self._store.first_version() - 1 if query.after is None else _last_consumed_version(query.after)
        while len(found) <= query.limit:
            rounds = await self._rounds_after(version)
            if not rounds:
                break
            for logged in rounds:
                found += self._render(_published(logged), query, query.after)
            version = rounds[-1].version
        has_more = len(found) > query.limit
        found = found[: query.limit]
        return EventPage(found, found[-1].id if has_more else None, len(found))

    async def _newest(self, query: EventQuery) -> EventPage:
        """Reads backwards. A page that looked at many rounds is cut short, and its cursor goes on from there."""
        known = self._engine.state.version
        first, last = await self._store.first_version(), min(await self._store.last_version(), known)
        before = (last + 1, 0) if query.after is None else (query.after.version, query.after.number or 0)
        found: list[EventView] = []
        stop = min(before[0], last)  # the last round that was not read yet
        read_down_to = max(first, stop - NEWEST_ROUNDS_MAX + 1)
        while len(found) <= query.limit and stop >= read_down_to:
            start = max(read_down_to, stop - ROUNDS_PER_READ + 1)
            for logged in reversed(await self._store.rounds_after(start - 1, stop - start + 1)):
                events = self._render(_published(logged), query, None)
                found += [event for event in reversed(events) if _position(event) < before]
            stop = start - 1
            await asyncio.sleep(0)
        following = found[query.limit - 1].id if len(found) > query.limit else None
        if following is None and stop >= first:
            following = f"{stop + 1}-0"
        found = found[: query.limit]
        return EventPage(found, following, len(found))

    async def subscribe(self, query: EventQuery) -> AsyncGenerator[bytes, None]:
        """Raises NotLeader at a follower that does not reach the position soon: it could not tell which events of that
        round come after it."""
        await self._engine.wait_committed(0 if query.after is None else query.after.version)
        self._subject(query)  # it may be refused
        if query.after is not None:
            await self.check_position(query.after)
        return self._stream(query, self._engine.state.version)

    async def check_position(self, after: EventPosition) -> None:
        """Before an answer begins. Raises NotFound if it is too old."""
        await self._store.rounds_after(_last_consumed_version(after), 1)

    async def stored(self, query: EventQuery) -> AsyncGenerator[EventView, None]:
        """All events that the state has and that match; needs `after`, ignores `limit`."""
        assert query.after is not None
        version = _last_consumed_version(query.after)
        while rounds := await self._rounds_after(version):
            for logged in rounds:
                for event in self._render(_published(logged), query, query.after):
                    yield event
                await asyncio.sleep(0)
            version = rounds[-1].version

    async def _stream(self, query: EventQuery, version: int) -> AsyncGenerator[bytes, None]:
        """First the events after the position from the store, then new ones as they are committed."""
        subject = self._subject(query)
        is_behind = query.after is not None
        if query.after is not None:
            version = _last_consumed_version(query.after)
        while True:
            while is_behind and (rounds := await self._rounds_after(version)):
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

    async def _rounds_after(self, version: int) -> list[LoggedRound]:
        """Only those that the state has: that of a follower may be behind the store, and lack nodes of later rounds."""
        known = self._engine.state.version
        return [each for each in await self._store.rounds_after(version, ROUNDS_PER_READ) if each.version <= known]

    def _render(self, published: PublishedRound, query: EventQuery, after: EventPosition | None) -> list[EventView]:
        """The events of a round that match the query and come after the position."""
        events = _render_all(self._engine, published)
        if after is not None and after.version == published.version and after.number is not None:
            events = events[after.number + 1 :]
        return [
            event
            for event in events
            if query.namespace in (None, event.namespace)
            and query.job in (None, event.job)
            and (not query.types or event.type in query.types)
            and self._scope.sees(event.namespace)
        ]

    def _subject(self, query: EventQuery) -> Subject:
        """Raises Invalid if a namespace has to be named."""
        if self._scope.sees_all:
            return Subject(query.namespace, query.job)
        namespaces = self._scope.select(query.namespace)
        tenant = self._scope.tenant
        if query.namespace is None and tenant is not None and namespaces == tenant.namespaces:
            return Subject(None, query.job, tenant.name)
        if query.namespace is None and len(namespaces) != 1:
            fault = "must be one namespace: your key is bound to more than one"
            raise Invalid([Problem("query.namespace", fault, None, f"name one of {', '.join(map(str, namespaces))}")])
        own = query.namespace if query.namespace is not None else namespaces[0]
        if tenant is None and own not in namespaces:
            return Subject(own, query.job, NOBODY)
        return Subject(own, query.job, None if tenant is None else tenant.name)


def build_hub(engine: Engine) -> EventHub:
    """For all callers of a manager."""
    return EventHub(engine.feed, partial(_render_all, engine), lambda name: engine.state.tenants.owner_of(name))


def _render_all(engine: Engine, published: PublishedRound) -> list[EventView]:
    return render(published.version, published.at, published.changes, engine.state.nodes.view.names.__getitem__)


def _last_consumed_version(position: EventPosition) -> int:
    """The last version of which the reader has all events."""
    return position.version if position.number is None else position.version - 1


def _position(event: EventView) -> tuple[int, int]:
    version, _, number = event.id.partition("-")
    return int(version), int(number)


def _published(logged: LoggedRound) -> PublishedRound:
    return PublishedRound(logged.version, logged.at, decode_round(logged.body))
