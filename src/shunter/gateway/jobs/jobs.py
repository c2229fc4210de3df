"""The sub-gateway `jobs`: submit, list, stop, hold and retry jobs. Implements `ports.jobs.JobService`."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from heapq import merge
from itertools import islice

from shunter.engine.engine import Engine
from shunter.engine.jobs.apply_file import MixedFile
from shunter.engine.jobs.finish import decode_summary
from shunter.engine.jobs.submit import SubmitResult
from shunter.engine.read.views import job_view
from shunter.engine.state.records import Job
from shunter.gateway.jobs.job_search import search_jobs
from shunter.gateway.jobs.rerun import retry_spec, submitted_job
from shunter.gateway.jobs.runs import Runs
from shunter.gateway.jobs.task_refs import FinishedRun, group_name, locate_task
from shunter.gateway.jobs.template_views import template_as_job
from shunter.gateway.objects.objects import Objects
from shunter.gateway.objects.remote_objects import RemoteObjects
from shunter.gateway.scope import Scope
from shunter.model.errors import Conflict, Invalid, Problem, Unavailable
from shunter.model.files.mixed_files import join, read_parts, split
from shunter.model.job.manifests import JobReader
from shunter.model.lifecycles import JobState
from shunter.model.objects.object_manifests import read_objects
from shunter.model.rest.job_views import JobPage, JobView, SubmittedJob, describe_end_state
from shunter.ports.jobs import JobQuery
from shunter.ports.objects import Applied
from shunter.ports.principals import JobReference, Principal, TaskReference
from shunter.ports.store import FinishedJob, FinishedQuery, Store

LABEL_SLICE_JOBS = 5_000  # looked at before the loop comes around
_FINISHED_STATES = ("succeeded", "failed", "cancelled")


class Jobs:
    def __init__(
        self,
        caller: Principal,
        engine: Engine,
        store: Store,
        runs: Runs,
        manifests: JobReader,
        objects: Objects | RemoteObjects,
        scope: Scope,
    ) -> None:
        self._caller, self._engine, self._store, self._runs, self._scope = caller, engine, store, runs, scope
        self._manifests, self._objects = manifests, objects

    async def submit(self, documents: Sequence[object], *, namespace: str, key: str | None) -> list[SubmittedJob]:
        with self._engine.metrics.time_submit():
            specs = self._manifests.read_all(documents, default_namespace=namespace, make_name=str)
            self._scope.require_jobs(specs)
            return await self._submitted(await self._engine.submit(specs, self._caller.user, self._scope.own_key(key)))

    async def apply_file(
        self, documents: Sequence[object], *, namespace: str, key: str | None
    ) -> list[SubmittedJob | Applied]:
        jobs, objects = split(documents)
        if not jobs.documents:
            return [*await self._objects.apply(documents, namespace=namespace)]
        if not objects.documents:
            return [*await self.submit(documents, namespace=namespace, key=key)]
        if not isinstance(self._objects, Objects):
            fix = "apply the jobs and the objects in separate files"
            raise Invalid([Problem("items", "has jobs and objects, but the objects are on Kubernetes", None, fix)])
        read_jobs = partial(self._manifests.read_all, default_namespace=namespace, make_name=str)
        read = read_parts(jobs, read_jobs, objects, partial(read_objects, default_namespace=namespace))
        file = MixedFile(*read, jobs, objects)
        self._scope.require_jobs(file.specs)
        self._scope.require_objects(file.drafts)
        submitted, taken = await self._engine.apply_file(file, self._caller.user, self._scope.own_key(key))
        applied = [await self._objects.applied(each) for each in taken]
        return join(jobs, await self._submitted(submitted), objects, applied)

    async def page(self, query: JobQuery) -> JobPage:
        """Newest first. Reads live runs before it asks the store, so that a job that ends meanwhile is not missed. The
        store of a follower may be ahead of its state: a run that is in both has ended."""
        if query.is_search:
            return await search_jobs(self._engine, self._store, query, self._scope.sees)
        await self._engine.wait_committed()
        before = int(query.after.partition(":")[0]) if query.after else None
        live, live_total = await self._live(query, before)
        states = tuple(state for state in query.states if state in _FINISHED_STATES)
        finished: list[FinishedJob] = []
        finished_total = 0
        if states or not query.states:
            for namespace in self._scope.select(query.namespace):
                finished_query = FinishedQuery(
                    namespace=namespace, states=states, labels=query.labels, before_id=before, limit=query.limit + 1
                )
                finished += await self._store.finished_jobs(finished_query)
                finished_total += await self._store.count_finished(finished_query)
        ended = {job.id for job in finished}
        views = [view for view in live if view.id not in ended] + self._templates(query, before)
        views += [decode_summary(job.summary).view for job in finished]
        views.sort(key=lambda view: -view.id)
        has_more = len(views) > query.limit
        views = views[: query.limit]
        in_both = sum(view.id in ended for view in live)
        total = live_total + finished_total - in_both + len(self._templates(query, None))
        return JobPage(views, str(views[-1].id) if has_more else None, total)

    async def get(self, job: JobReference) -> JobView:
        return await self._runs.view(job)

    async def runs(self, job: JobReference, limit: int, after: str | None) -> JobPage:
        view = await self._runs.view(job)
        query = FinishedQuery(
            namespace=view.namespace, name=view.name, before_id=int(after) if after else None, limit=limit + 1
        )
        state, now_ms = self._engine.state, self._engine.now_ms()
        live = [job_view(run, state, now_ms) for run in reversed(state.unfinished_runs(view.namespace, view.name))]
        views = [decode_summary(run.summary).view for run in await self._store.finished_jobs(query)]
        total = await self._store.count_finished(query)
        ended = {view.id for view in views}
        live = [run for run in live if run.id not in ended]
        if not after:
            views = [*live, *views]
        return JobPage(views[:limit], str(views[limit - 1].id) if len(views) > limit else None, total + len(live))

    async def stop(self, job: JobReference, task: TaskReference | None, now: bool, signal: int = 0) -> None:
        run = await self._runs.find(job)
        if task is not None:
            locate_task(self._engine.state, run, task)
        if isinstance(run, FinishedRun) and not run.view.run:
            raise Conflict(f"'{run.view.name}' is a template; delete it with `shunter cron delete {run.view.name}`")
        if isinstance(run, Job):
            target = None if task is None else (group_name(run, task.group), task.index)
            await self._engine.stop_tasks(run.id, target, now, f"stopped by {self._caller.user}", signal)

    async def hold(self, job: JobReference, is_held: bool) -> JobView:
        run = await self._runs.find(job)
        if not isinstance(run, Job):
            raise Conflict(
                f"job '{run.view.name}' {describe_end_state(run.view.state)}; only unfinished jobs can be held"
            )
        await self._engine.hold(run.id, is_held)
        return await self._runs.view(JobReference(job.namespace, id=run.id))

    async def retry(self, job: JobReference, only_failed: bool, key: str | None) -> JobView:
        run, key = await self._runs.find(job), self._scope.own_key(key)
        known = self._engine.state.idempotency_keys.get(key) if key else None
        if known:  # the name may mean the run that the first request with this key started
            job_id = known[0]
        else:
            spec = await retry_spec(self._store, run, only_failed)
            job_id = (await self._engine.start_run(spec, self._caller.user, key)).job_id
        return await self._runs.view(JobReference(job.namespace, id=job_id))

    async def _submitted(self, results: Sequence[SubmitResult]) -> list[SubmittedJob]:
        """The answers to a submit. A result without a name is the job of a repeated key that has ended since."""
        submitted: list[SubmittedJob] = []
        for result in results:
            answer = submitted_job(result) if result.name else await self._finished_duplicate(result.job_id)
            if (job := self._engine.state.jobs.get(result.job_id)) is not None:
                answer.state, answer.count = job.state.wire_name, sum(each.count for each in job.task_sets)
            submitted.append(answer)
        return submitted

    async def _finished_duplicate(self, job_id: int) -> SubmittedJob:
        finished = await self._store.finished_job(job_id)
        if finished is None:
            raise Unavailable(f"job {job_id} of this key has ended and is no longer in history")
        view = decode_summary(finished.summary).view
        return SubmittedJob(
            name=view.name, namespace=view.namespace, id=job_id, run=view.run, created=False, state=view.state,
            count=view.count,
        )  # fmt: skip

    async def _live(self, query: JobQuery, before: int | None) -> tuple[list[JobView], int]:
        """One more than the page holds, and how many there are in all."""
        states = tuple(state for state in JobState if state.wire_name in query.states)
        if query.states and not states:
            return [], 0
        if query.labels:
            return await self._labelled(query, states, before)
        index = self._engine.state.job_index
        total = sum(index.count(namespace, states) for namespace in self._scope.select(query.namespace))
        return self._views(islice(self._newest(query, states, before), query.limit + 1)), total

    def _newest(self, query: JobQuery, states: Sequence[JobState], before: int | None) -> Iterator[int]:
        """Ids of unfinished jobs below the cursor, the greatest first."""
        index = self._engine.state.job_index
        parts = [index.newest(namespace, states, before) for namespace in self._scope.select(query.namespace)]
        return parts[0] if len(parts) == 1 else merge(*parts, reverse=True)

    async def _labelled(
        self, query: JobQuery, states: Sequence[JobState], before: int | None
    ) -> tuple[list[JobView], int]:
        """Labels have no index, so every job is looked at, a slice at a time."""
        views: list[JobView] = []
        total, cursor = 0, None
        while True:
            jobs = self._engine.state.jobs
            ids = list(islice(self._newest(query, states, cursor), LABEL_SLICE_JOBS))
            found = [id for id in ids if all(jobs[id].labels.get(key) == value for key, value in query.labels)]
            total += len(found)
            on_page = (id for id in found if before is None or id < before)
            views += self._views(islice(on_page, query.limit + 1 - len(views)))
            if len(ids) < LABEL_SLICE_JOBS:
                return views, total
            cursor = ids[-1]
            await asyncio.sleep(0)
            await self._engine.wait_committed()

    def _views(self, ids: Iterable[int]) -> list[JobView]:
        state, now_ms = self._engine.state, self._engine.now_ms()
        return [job_view(state.jobs[id], state, now_ms) for id in ids]

    def _templates(self, query: JobQuery, before: int | None) -> list[JobView]:
        """Templates are listed among the jobs, unless the query asks for states of jobs."""
        return [
            template_as_job(template)
            for template in ([] if query.states else self._engine.state.templates.by_id.values())
            if query.namespace in (None, template.namespace)
            and self._scope.sees(template.namespace)
            and (before is None or template.id < before)
            and all(template.spec.labels.get(key) == value for key, value in query.labels)
        ]
