"""Pages of jobs by what has no index: a part of the name, the queue, the user, the type, another order. Used by
`gateway.jobs.jobs`.

Unfinished jobs are looked at in memory, a slice at a time. Of ended ones a request looks at so many and no more, and
then says that its page is partial: the cursor goes on where it stopped."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, replace
from heapq import nsmallest
from itertools import islice
from typing import Any

from shunter.engine.engine import Engine
from shunter.engine.jobs.finish import decode_summary
from shunter.engine.read.views import job_view
from shunter.engine.state.records import Job
from shunter.model.errors import Invalid, Problem
from shunter.model.job.spec import QUEUE_DEFAULT
from shunter.model.lifecycles import JobState
from shunter.model.rest.job_views import JobPage, JobView
from shunter.ports.jobs import NEWEST, JobQuery
from shunter.ports.store import FinishedQuery, Store

SLICE_JOBS = 5_000  # looked at before the loop comes around
FINISHED_PAGE = 1_000
FINISHED_MAX = 10_000  # looked at for one request
UNFINISHED = ("pending", "running", "stopping")
_FINISHED = ("succeeded", "failed", "cancelled")


Sees = Callable[[str | None], bool]  # whether the caller sees what is in a namespace


async def search_jobs(engine: Engine, store: Store, query: JobQuery, sees: Sees) -> JobPage:
    if query.sort != NEWEST:
        return await _sorted(engine, query, sees)
    before = _cursor_id(query)
    live, live_total = await _live(engine, query, before, sees)
    finished = await _finished(store, query, before, sees)
    ended = {view.id for view in finished.views}
    views = [view for view in live if view.id not in ended and view.id >= finished.read_down_to] + finished.views
    views.sort(key=lambda view: -view.id)
    has_more = len(views) > query.limit
    views = views[: query.limit]
    following = str(views[-1].id) if has_more else str(finished.read_down_to) if finished.is_partial else None
    return JobPage(views, following, live_total + len(finished.views), partial=not finished.is_complete)


async def _sorted(engine: Engine, query: JobQuery, sees: Sees) -> JobPage:
    """Unfinished jobs in another order. The cursor is ID:KEY of the last one."""
    if not query.states or not set(query.states) <= set(UNFINISHED):
        fix = "add " + " and ".join(f"state={state}" for state in UNFINISHED)
        raise Invalid([Problem("query.sort", "only unfinished jobs can be sorted like this", query.sort, fix)])
    after = None
    if query.after:
        id, _, key = query.after.partition(":")
        after = _sort_key(query.sort, key, int(id))
    found: list[tuple[Any, int]] = []
    total = 0
    async for part in _slices(engine, query, sees):
        total += len(part)
        keyed = ((_key_of(query.sort, job), job.id) for job in part)
        found = nsmallest(query.limit + 1, [*found, *(each for each in keyed if after is None or each[0] > after)])
    state, now_ms = engine.state, engine.now_ms()
    jobs = [state.jobs[id] for _, id in found if id in state.jobs]
    page = jobs[: query.limit]
    following = f"{page[-1].id}:{_key_text(query.sort, page[-1])}" if len(jobs) > query.limit else None
    return JobPage([job_view(job, state, now_ms) for job in page], following, total)


def _key_of(sort: str, job: Job) -> tuple[Any, ...]:
    return (job.name, job.id) if sort == "name" else (-job.priority, job.id) if sort == "priority" else (job.id,)


def _key_text(sort: str, job: Job) -> str:
    return job.name if sort == "name" else str(job.priority) if sort == "priority" else "0"


def _sort_key(sort: str, text: str, id: int) -> tuple[Any, ...]:
    """Raises Invalid for the cursor of another order."""
    if sort == "name":
        return text, id
    if sort == "oldest":
        return (id,)
    try:
        return -int(text), id
    except ValueError:
        raise Invalid([Problem("query.after", "is not a cursor of this order", text)]) from None


async def _live(engine: Engine, query: JobQuery, before: int | None, sees: Sees) -> tuple[list[JobView], int]:
    views: list[JobView] = []
    total = 0
    async for part in _slices(engine, query, sees):
        total += len(part)
        on_page = (job for job in part if before is None or job.id < before)
        state, now_ms = engine.state, engine.now_ms()
        views += [job_view(job, state, now_ms) for job in islice(on_page, query.limit + 1 - len(views))]
    return views, total


async def _slices(engine: Engine, query: JobQuery, sees: Sees) -> AsyncIterator[list[Job]]:
    """The unfinished jobs that match, the newest first."""
    states = tuple(state for state in JobState if state.wire_name in query.states)
    if query.states and not states:
        return
    matches, before = _matcher(query, sees), None
    await engine.wait_committed()
    while True:
        jobs, index = engine.state.jobs, engine.state.job_index
        ids = list(islice(index.newest(query.namespace, states, before), SLICE_JOBS))
        yield [job for job in (jobs[id] for id in ids) if matches(job)]
        if len(ids) < SLICE_JOBS:
            return
        before = ids[-1]
        await asyncio.sleep(0)
        await engine.wait_committed()


def _matcher(query: JobQuery, sees: Sees) -> Callable[[Job], bool]:
    text, since_ms = query.text.lower(), query.since_ms or 0

    def matches(job: Job) -> bool:
        return (
            text in job.name.lower()
            and query.queue in (None, job.options.queue)
            and query.user in (None, job.user)
            and query.type in (None, job.type)
            and job.submitted_ms >= since_ms
            and sees(job.namespace)
            and all(job.labels.get(key) == value for key, value in query.labels)
        )

    return matches


@dataclass(slots=True)
class _Finished:
    """`read_down_to`: jobs with smaller ids were not looked at, although more were wanted."""

    views: list[JobView]
    read_down_to: int = 0
    is_complete: bool = True  # all were looked at

    @property
    def is_partial(self) -> bool:
        return self.read_down_to > 0


async def _finished(store: Store, query: JobQuery, before: int | None, sees: Sees) -> _Finished:
    states = tuple(state for state in query.states if state in _FINISHED)
    found = _Finished([])
    if query.states and not states:
        return found
    since_s = None if query.since_ms is None else query.since_ms / 1000
    page = FinishedQuery(
        namespace=query.namespace, states=states, labels=query.labels, ended_after=since_s, limit=FINISHED_PAGE
    )
    for _ in range(FINISHED_MAX // FINISHED_PAGE):
        jobs = await store.finished_jobs(replace(page, before_id=before))
        for job in jobs:
            if query.text.lower() in job.name.lower() and sees(job.namespace):
                view = decode_summary(job.summary).view
                if _view_matches(query, view) and job.submitted_at >= (since_s or 0.0):
                    found.views.append(view)
            if len(found.views) > query.limit:
                found.is_complete = False
                return found
        if len(jobs) < FINISHED_PAGE:
            return found
        before = jobs[-1].id
        await asyncio.sleep(0)
    found.read_down_to, found.is_complete = before or 0, False
    return found


def _view_matches(query: JobQuery, view: JobView) -> bool:
    queue = view.terms.queue if view.terms is not None else QUEUE_DEFAULT
    return query.queue in (None, queue) and query.user in (None, view.user) and query.type in (None, view.type)


def _cursor_id(query: JobQuery) -> int | None:
    return int(query.after.partition(":")[0]) if query.after else None
