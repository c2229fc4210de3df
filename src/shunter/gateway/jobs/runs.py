"""Finds the run that a `JobReference` names. Called by every sub-gateway that takes one.

Live runs come from the engine's memory between rounds, finished ones from the store. A template without runs is
returned as run 0."""

from __future__ import annotations

from difflib import get_close_matches
from itertools import islice

from shunter.engine.engine import Engine
from shunter.engine.jobs.finish import Summary, decode_summary
from shunter.engine.read.views import job_view
from shunter.engine.state.records import Job
from shunter.engine.state.registries.templates import Template
from shunter.gateway.jobs.task_refs import AnyRun, FinishedRun
from shunter.gateway.jobs.template_views import template_as_job
from shunter.gateway.scope import Scope
from shunter.model.errors import NotFound
from shunter.model.job.spec import NAMESPACE_DEFAULT
from shunter.model.objects.documents import APPLICATION_PREFIX
from shunter.model.objects.object_meta import ObjectName
from shunter.model.rest.job_views import JobView
from shunter.ports.principals import JobReference
from shunter.ports.store import FinishedQuery, Store

SIMILAR_NAMES_MAX = 10_000  # of unfinished jobs, that a name without a job is compared with
SIMILAR_FINISHED_MAX = 200  # of finished ones, the newest


class Runs:
    def __init__(self, engine: Engine, store: Store, scope: Scope) -> None:
        self._engine, self._store, self._scope = engine, store, scope

    async def find(self, reference: JobReference) -> AnyRun:
        """The run that is meant: the newest of its name unless the reference says otherwise. Raises NotFound, with the
        same words for what is not there and for what the caller must not know about."""
        await self._engine.wait_committed()
        if reference.id is None and not self._scope.sees(reference.namespace):
            raise NotFound(_no_job_message(reference))
        run = await self._find(reference)
        if not self._scope.sees(run.namespace):
            raise NotFound(_no_job_message(reference))
        return run

    async def _find(self, reference: JobReference) -> AnyRun:
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
                raise NotFound(await self._not_found_message(reference))
            return FinishedRun(template.id, Summary(template_as_job(template), [], []))
        return FinishedRun(finished.id, decode_summary(finished.summary))

    async def view(self, reference: JobReference) -> JobView:
        return self.view_of(await self.find(reference))

    def view_of(self, run: AnyRun) -> JobView:
        return job_view(run, self._engine.state, self._engine.now_ms()) if isinstance(run, Job) else run.view

    def _template(self, reference: JobReference) -> Template | None:
        """A name without runs may be the name of a template."""
        templates = self._engine.state.templates
        if reference.id is not None:
            return templates.by_id.get(reference.id)
        return templates.get(reference.namespace, reference.name) if reference.run is None else None

    async def _not_found_message(self, reference: JobReference) -> str:
        if reference.id is not None:
            return _no_job_message(reference)
        if reference.run is None and reference.name.startswith(APPLICATION_PREFIX):
            return self._no_application_message(reference)
        names = list(islice(self._engine.state.jobs_by_name.get(reference.namespace, ()), SIMILAR_NAMES_MAX))
        newest = FinishedQuery(namespace=reference.namespace, limit=SIMILAR_FINISHED_MAX)
        names += [job.name for job in await self._store.finished_jobs(newest)]
        close_matches = get_close_matches(reference.name, names, 1)
        hint = f"; did you mean {close_matches[0]}?" if close_matches and close_matches[0] != reference.name else ""
        return f"{_no_job_message(reference)}{hint}"

    def _no_application_message(self, reference: JobReference) -> str:
        """For the job that runs a BatchJob: it does not exist before the first submission."""
        name, namespace = reference.name.removeprefix(APPLICATION_PREFIX), reference.namespace
        batch_jobs = self._engine.state.objects.batch_jobs
        if ObjectName(namespace, name) in batch_jobs:
            found = f"BatchJob '{name}' in namespace '{namespace}' has not run yet: no Scheduling has submitted it"
            option = "" if namespace == NAMESPACE_DEFAULT else f" -n {namespace}"
            return f"{found}; `shunter why {reference.name}{option}` says what it waits for"
        others = [each.name for each in batch_jobs if each.namespace == namespace][:10_000]
        close_matches = get_close_matches(name, others, 1)
        hint = f"; did you mean {APPLICATION_PREFIX}{close_matches[0]}?" if close_matches else ""
        return f"{_no_job_message(reference)}{hint}"


def _no_job_message(reference: JobReference) -> str:
    """As in a namespace that nobody has ever used."""
    if reference.id is not None:
        return f"job {reference.id} does not exist"
    if reference.run is None and reference.name.startswith(APPLICATION_PREFIX):
        name = reference.name.removeprefix(APPLICATION_PREFIX)
        return f"BatchJob '{name}' does not exist in namespace '{reference.namespace}'"
    requested = reference.name if reference.run is None else f"{reference.name}@{reference.run}"
    return f"job '{requested}' does not exist in namespace '{reference.namespace}'"
