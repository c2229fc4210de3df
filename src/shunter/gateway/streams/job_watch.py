"""Watches one run of a job: the job as it is, every change of it in order, and its end. Part of the sub-gateway
`streams`.

Changes are the events of the run. A reader that is slow holds nobody up and misses nothing: it goes on from the
store."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import replace

from shunter.engine.engine import Engine
from shunter.gateway.jobs.runs import Runs
from shunter.gateway.streams.events import Events
from shunter.model.errors import Conflict, Gone, Invalid, NotFound, Problem, Unavailable
from shunter.model.rest.cluster_views import EventView
from shunter.model.rest.event_stream import decode_events
from shunter.model.rest.job_views import JobView
from shunter.ports.admin import EventPosition, EventQuery
from shunter.ports.jobs import JobNews
from shunter.ports.principals import JobReference

ENDED = ("succeeded", "failed", "cancelled")
END_EVENTS = frozenset(f"job.{state}" for state in ENDED)


class JobWatches:
    def __init__(self, engine: Engine, runs: Runs, events: Events) -> None:
        self._engine, self._runs, self._events = engine, runs, events

    async def open(self, job: JobReference, after: EventPosition | None) -> AsyncGenerator[JobNews, None]:
        """Raises NotFound for the job, and Gone for a position whose events are not stored any more."""
        await self._engine.wait_committed(0 if after is None else after.version)
        version = self._engine.state.version
        view = await self._runs.view(job)
        if not view.run:
            fix = f"watch one of its runs, like {view.name}@1"
            raise Conflict(f"'{view.name}' is a template, which does not end; {fix}")
        if after is not None and after.version > self._engine.state.version:
            fix = "use a position that this cluster has told"
            raise Invalid([Problem("after", "is ahead of the cluster", _text(after), fix)])
        start = after or EventPosition(version)
        try:
            await self._events.check_position(start)
        except NotFound as error:
            raise Gone(f"{error.detail}; watch again without a position") from error
        query = EventQuery(view.namespace, view.name, after=start)
        return self._follow(view, query, start, has_past=after is not None)

    async def _follow(
        self, view: JobView, query: EventQuery, start: EventPosition, *, has_past: bool
    ) -> AsyncGenerator[JobNews, None]:
        yield JobNews(_text(start), job=view)
        if view.state in ENDED and not has_past:
            yield JobNews(_text(start), end=view)
            return
        position, is_over = _text(start), False
        source = self._events.stored(query) if view.state in ENDED else self._future(query)
        async with aclosing(source) as events:
            async for event in events:
                if event.run != view.run:
                    continue
                position = event.id
                yield JobNews(position, change=event)
                if event.type in END_EVENTS:
                    is_over = True
                    break
        if not is_over and view.state not in ENDED:
            raise Unavailable(f"the manager stops; watch again after {position}")
        yield JobNews(position, end=await self._runs.view(JobReference(view.namespace, id=view.id)))

    async def _future(self, query: EventQuery) -> AsyncGenerator[EventView, None]:
        """What is stored, and what comes. Ends when the engine stops."""
        while True:
            resume = ""
            async with aclosing(await self._events.subscribe(query)) as chunks:
                async for chunk in chunks:
                    events, resume = decode_events(chunk)
                    for event in events:
                        yield event
            if not resume:
                return
            query = replace(query, after=EventPosition(int(resume)))


def _text(position: EventPosition) -> str:
    return str(position.version) if position.number is None else f"{position.version}-{position.number}"
