"""Finding runs, live or finished, by name, run or id, and listing them. Called by the gateway.

A live run is read from the engine's memory between rounds, a finished one from the store; templates stand among them.
"""

from __future__ import annotations

from difflib import get_close_matches

import msgspec

from shunter.engine.engine import Engine
from shunter.engine.jobs.finish import Summary
from shunter.engine.read.views import job_view
from shunter.engine.state.records import Job
from shunter.engine.state.registries.templates import Template
from shunter.gateway.jobs.task_refs import AnyRun, FinishedRun
from shunter.gateway.jobs.templates import template_as_job
from shunter.model.errors import NotFound
from shunter.model.rest.views import JobPage, JobView
from shunter.ports.gateway import JobQuery, JobReference
from shunter.ports.store import FinishedJob, FinishedQuery, Store

_summary_decoder = msgspec.msgpack.Decoder(Summary)
_FINISHED_STATES = ("succeeded", "failed", "cancelled")


class Runs:
    def __init__(self, engine: Engine, store: Store) -> None:
        self._engine, self._store = engine, store

    async def find(self, reference: JobReference) -> AnyRun:
        """The run that is meant: the newest of its name unless the reference says otherwise."""
        await self._engine.wait_committed()
        state = self._engine.state
        if reference.id is not None:
            live = state.jobs.get(reference.id)
            finished = None if live else await self._store.finished_job(reference.id)
        else:
            runs = state.unfinished_runs(reference.namespace, reference.name)
            live = next((run for run in reversed(runs) if reference.run in (None, run.run)), None)
            finished = None
            if live is None:
                finished = await self._store.finished_run(reference.namespace, reference.name, reference.run)
        if live is not None:
            return live
        if finished is None:
            template = self._template(reference)
            if template is None:
                raise NotFound(self._not_found_message(reference))
            return FinishedRun(template.id, Summary(template_as_job(template), [], []))
        return FinishedRun(finished.id, _summary_decoder.decode(finished.summary))

    async def page(self, query: JobQuery) -> JobPage:
        """Newest first. Live ones are read before the store is asked, so a job that ends meanwhile is not missed."""
        await self._engine.wait_committed()
        before = int(query.after) if query.after else None
        live, live_total = self._live(query, before)
        states = tuple(state for state in query.states if state in _FINISHED_STATES)
        finished: list[FinishedJob] = []
        finished_total = 0
        if states or not query.states:
            finished_query = FinishedQuery(
                namespace=query.namespace, states=states, labels=query.labels, before_id=before, limit=query.limit + 1
            )
            finished = await self._store.finished_jobs(finished_query)
            finished_total = await self._store.count_finished(finished_query)
        ended = {job.id for job in finished}
        views = [view for view in live if view.id not in ended] + self._templates(query, before)
        views += [_summary_decoder.decode(job.summary).view for job in finished]
        views.sort(key=lambda view: -view.id)
        has_more = len(views) > query.limit
        views = views[: query.limit]
        total = live_total + finished_total + len(self._templates(query, None))
        return JobPage(views, str(views[-1].id) if has_more else None, total)

    async def runs_of(self, run: AnyRun, limit: int, after: str | None) -> JobPage:
        view = job_view(run, self._engine.state) if isinstance(run, Job) else run.view
        query = FinishedQuery(
            namespace=view.namespace, name=view.name, before_id=int(after) if after else None, limit=limit + 1
        )
        views = [_summary_decoder.decode(job.summary).view for job in await self._store.finished_jobs(query)]
        total = await self._store.count_finished(query)
        live = self._engine.state.unfinished_runs(view.namespace, view.name)
        if not after:
            views = [*(job_view(job, self._engine.state) for job in reversed(live)), *views]
        total += len(live)
        return JobPage(views[:limit], str(views[limit - 1].id) if len(views) > limit else None, total)

    def _live(self, query: JobQuery, before: int | None) -> tuple[list[JobView], int]:
        views: list[JobView] = []
        total = 0
        for job in reversed(self._engine.state.jobs.values()):
            if query.namespace not in (None, job.namespace):
                continue
            if query.states and job.state.wire_name not in query.states:
                continue
            if any(job.labels.get(key) != value for key, value in query.labels):
                continue
            total += 1
            if (before is None or job.id < before) and len(views) <= query.limit:
                views.append(job_view(job, self._engine.state))
        return views, total

    def _template(self, reference: JobReference) -> Template | None:
        """A name without runs may be that of a template."""
        templates = self._engine.state.templates
        if reference.id is not None:
            return templates.by_id.get(reference.id)
        return templates.get(reference.namespace, reference.name) if reference.run is None else None

    def _templates(self, query: JobQuery, before: int | None) -> list[JobView]:
        """Templates stand among the jobs, unless a job's state is asked for."""
        return [
            template_as_job(template)
            for template in ([] if query.states else self._engine.state.templates.by_id.values())
            if query.namespace in (None, template.namespace)
            and (before is None or template.id < before)
            and all(template.spec.labels.get(key) == value for key, value in query.labels)
        ]

    def _not_found_message(self, reference: JobReference) -> str:
        if reference.id is not None:
            return f"there is no job with id {reference.id}"
        state = self._engine.state
        names = [*state.jobs_by_name.get(reference.namespace, ()), *state.last_runs.get(reference.namespace, ())]
        close_matches = get_close_matches(reference.name, names[:10_000], 1)
        requested = reference.name if reference.run is None else f"{reference.name}@{reference.run}"
        hint = f"; did you mean {close_matches[0]}?" if close_matches and close_matches[0] != reference.name else ""
        return f"there is no job {requested} in namespace {reference.namespace}{hint}"
