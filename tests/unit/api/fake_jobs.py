"""The sub-gateways of the fake gateway for jobs, tasks, streams and explanations."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import msgspec

from shunter.model.errors import Invalid
from shunter.model.files.mixed_files import IDEMPOTENCY_KEY_REUSED, join, read_parts, split
from shunter.model.objects.object_manifests import read_objects
from shunter.model.objects.object_meta import ObjectName
from shunter.model.rest.job_views import (
    AttemptPage,
    AttemptView,
    FollowLine,
    JobPage,
    JobView,
    LogView,
    ProgressView,
    SubmittedJob,
    TaskPage,
    TaskView,
)
from shunter.model.rest.log_views import JobLogEnd, JobLogLine, TaskLogView
from shunter.model.rest.plan_views import PlannedJobView, PlannedObjectView, PlanView, WhyView
from shunter.ports.admin import EventPosition
from shunter.ports.jobs import JobLogQuery, JobNews, JobQuery, LogChunk, LogQuery, Suggestion, TaskQuery
from shunter.ports.objects import Applied
from shunter.ports.principals import JobReference, TaskReference
from tests.unit.api.job_table import task_view

if TYPE_CHECKING:
    from tests.unit.api.fake_gateway import FakeGateway


class FakeJobs:
    def __init__(self, gateway: FakeGateway) -> None:
        self._gateway = gateway
        self._keys: dict[str, list[SubmittedJob]] = {}

    async def submit(self, documents: Sequence[object], *, namespace: str, key: str | None) -> list[SubmittedJob]:
        self._gateway.record_call()
        specs = self._gateway.manifests.read_all(
            documents, default_namespace=namespace, make_name=self._gateway.job_table.make_name
        )
        if key in self._keys:
            return [msgspec.structs.replace(job, created=False) for job in self._keys[key]]
        submitted = [self._gateway.job_table.submit(spec, self._gateway.caller) for spec in specs]
        if key is not None:
            self._keys[key] = submitted
        return submitted

    async def apply_file(
        self, documents: Sequence[object], *, namespace: str, key: str | None
    ) -> list[SubmittedJob | Applied]:
        jobs, objects = split(documents)
        apply = self._gateway.objects.apply
        if not jobs.documents:
            return [*await apply(documents, namespace=namespace)]
        submitted = await self.submit(jobs.documents, namespace=namespace, key=key)
        if len(submitted) != len(jobs.documents):
            raise Invalid([IDEMPOTENCY_KEY_REUSED])
        return join(jobs, submitted, objects, await apply(objects.documents, namespace=namespace))

    async def page(self, query: JobQuery) -> JobPage:
        self._gateway.record_call(query)
        views = [
            job.view for job in self._gateway.job_table.by_id.values() if query.namespace in (None, job.spec.namespace)
        ]
        return JobPage(views[: query.limit], None, len(views))

    async def get(self, job: JobReference) -> JobView:
        self._gateway.record_call(job)
        return self._gateway.job_table.find(job).view

    async def runs(self, job: JobReference, limit: int, after: str | None) -> JobPage:
        self._gateway.record_call((limit, after))
        return JobPage([self._gateway.job_table.find(job).view], None, 1)

    async def stop(self, job: JobReference, task: TaskReference | None, now: bool, signal: int = 0) -> None:
        self._gateway.record_call()
        self._gateway.job_table.find(job)
        self._gateway.signals.append(signal)
        self._gateway.stopped.append((job, None if task is None else task.index, now))

    async def hold(self, job: JobReference, is_held: bool) -> JobView:
        self._gateway.record_call((job, is_held))
        return self._gateway.job_table.find(job).view

    async def retry(self, job: JobReference, only_failed: bool, key: str | None) -> JobView:
        self._gateway.record_call((job, only_failed, key))
        return self._gateway.job_table.find(job).view


class FakeServices:
    """The service for long-running jobs: notes what was asked, and changes nothing."""

    def __init__(self, gateway: FakeGateway) -> None:
        self._gateway = gateway

    async def update(self, job: JobReference, document: object, *, namespace: str, node: str | None) -> JobView:
        self._gateway.manifests.read_all([document], default_namespace=namespace, make_name=str)
        return self._record("update", job, node)

    async def scale(self, job: JobReference, counts: Mapping[str, int]) -> JobView:
        return self._record("scale", job, dict(counts))

    async def roll_back(self, job: JobReference) -> JobView:
        return self._record("rollback", job)

    async def restart(self, job: JobReference, task: TaskReference | None) -> JobView:
        return self._record("restart", job, task)

    async def move(self, job: JobReference, task: TaskReference, node: str) -> JobView:
        return self._record("move", job, task, node)

    def _record(self, *received: object) -> JobView:
        self._gateway.record_call(received)
        job = received[1]
        assert isinstance(job, JobReference)
        return self._gateway.job_table.find(job).view


class FakeTasks:
    def __init__(self, gateway: FakeGateway) -> None:
        self._gateway = gateway

    async def page(self, job: JobReference, query: TaskQuery) -> TaskPage:
        self._gateway.record_call(query)
        found = self._gateway.job_table.find(job)
        items = [task_view(found, index) for index in range(min(query.limit, found.spec.count))]
        return TaskPage(items, None, found.spec.count)

    async def get(self, job: JobReference, task: TaskReference) -> TaskView:
        self._gateway.record_call(task)
        return self._gateway.job_table.task(job, task.index)

    async def attempts(self, job: JobReference, task: TaskReference) -> AttemptPage:
        self._gateway.record_call(task)
        found = self._gateway.job_table.task(job, task.index)
        return AttemptPage([AttemptView(name=f"{found.name}#1", index=task.index, attempt=1, state="running")], None, 1)


class FakeStreams:
    def __init__(self, gateway: FakeGateway) -> None:
        self._gateway = gateway

    async def follow_job(self, job: JobReference, mode: str) -> AsyncGenerator[FollowLine, None]:
        self._gateway.record_call(mode)
        found = self._gateway.job_table.find(job)

        async def lines() -> AsyncGenerator[FollowLine, None]:
            yield FollowLine(job=found.view)
            if mode == "progress":
                yield FollowLine(progress=ProgressView("running", {"running": found.spec.count}))
            if mode == "logs":
                yield FollowLine(log=LogView("stdout", self._gateway.log))
            if self._gateway.is_eager:
                self._gateway.job_table.end(found.view.id)
            await found.ended.wait()
            yield FollowLine(end=found.view, exit_code=0)

        return self._gateway.tracked(lines)

    async def watch_job(self, job: JobReference, after: EventPosition | None) -> AsyncGenerator[JobNews, None]:
        self._gateway.record_call(after)
        found = self._gateway.job_table.find(job)

        async def news() -> AsyncGenerator[JobNews, None]:
            yield JobNews("1", job=found.view)
            await found.ended.wait()
            yield JobNews("2", end=found.view)

        return self._gateway.tracked(news)

    async def read_log(self, job: JobReference, task: TaskReference, query: LogQuery) -> LogChunk:
        self._gateway.record_call(query)
        self._gateway.job_table.task(job, task.index)
        data = self._gateway.log[query.offset : query.offset + query.size_max]
        end = query.offset + len(data)
        return LogChunk(
            data,
            end,
            eof=self._gateway.job_table.find(job).ended.is_set() and end >= len(self._gateway.log),
            truncated=self._gateway.log_is_truncated,
        )

    async def follow_log(
        self, job: JobReference, task: TaskReference, query: LogQuery
    ) -> AsyncGenerator[LogChunk, None]:
        self._gateway.record_call(query)
        self._gateway.job_table.task(job, task.index)

        async def chunks() -> AsyncGenerator[LogChunk, None]:
            while (
                not (self._gateway.is_eager and self._gateway.chunks.empty())
                and (piece := await self._gateway.chunks.get()) is not None
            ):
                yield piece

        return self._gateway.tracked(chunks)

    async def job_logs(self, job: JobReference, query: JobLogQuery) -> AsyncGenerator[JobLogLine, None]:
        self._gateway.record_call(query)
        found = self._gateway.job_table.find(job)

        async def lines() -> AsyncGenerator[JobLogLine, None]:
            log, name = self._gateway.log, f"{found.view.name}/0"
            fields: dict[str, Any] = {"task": name, "group": "main", "index": 0, "attempt": 1, "stream": "stdout"}
            yield JobLogLine(log=TaskLogView(**fields, offset=0, next=len(log), data=log))
            if query.follow and not self._gateway.is_eager:
                await found.ended.wait()
            yield JobLogLine(end=JobLogEnd(tasks=1))

        return self._gateway.tracked(lines)


class FakeExplain:
    def __init__(self, gateway: FakeGateway) -> None:
        self._gateway = gateway

    async def why(self, job: JobReference, task: TaskReference | None = None) -> WhyView:
        self._gateway.record_call(job)
        view = self._gateway.job_table.find(job).view
        sentence = "it waits for the test" if task is None else f"task {task.index} waits for the test"
        return WhyView(name=view.name, state=view.state, sentence=sentence, counts=view.counts)

    async def apply_suggestion(self, job: JobReference, suggestion: Suggestion) -> JobView:
        self._gateway.record_call(suggestion)
        return self._gateway.job_table.find(job).view

    async def why_object(self, kind: str, name: ObjectName) -> WhyView:
        self._gateway.record_call(name)
        await self._gateway.objects.object(kind, name)
        return WhyView(name=str(name), state="SUCCESS", sentence=f"{kind} {name} waits for the test", counts={})

    async def plan(self, documents: Sequence[object], *, namespace: str) -> PlanView:
        self._gateway.record_call()
        job_part, object_part = split(documents)
        read_jobs = partial(
            self._gateway.manifests.read_all, default_namespace=namespace, make_name=self._gateway.job_table.make_name
        )
        specs, drafts = read_parts(job_part, read_jobs, object_part, partial(read_objects, default_namespace=namespace))
        objects = [
            PlannedObjectView(
                kind=draft.kind, name=draft.name.name, namespace=draft.name.namespace, action="created",
                verdict="ready", state="INITIAL", sentence="It would be created.",
            )
            for draft in drafts
        ]  # fmt: skip
        jobs = [
            PlannedJobView(
                name=spec.name, namespace=spec.namespace, verdict="starts", sentence="it would start", count=spec.count,
                starts=spec.count, waits=0,
            )
            for spec in specs
        ]  # fmt: skip
        return PlanView(
            starts=True, sentence="all start", state_version=7, policy=self._gateway.policy, jobs=jobs, objects=objects
        )
