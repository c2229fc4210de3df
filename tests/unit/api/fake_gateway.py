"""A gateway without an engine, for the tests of the API alone: jobs are entries in a dict, and end when a test says."""

# ruff: noqa: ARG002 - the caller is a part of the port

from __future__ import annotations

import asyncio
import hmac
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from typing import Any, TypeVar

import msgspec

from shunter.model.errors import Invalid, NotFound, Problem, ShunterError
from shunter.model.files.mixed_files import IDEMPOTENCY_KEY_REUSED, join, split
from shunter.model.job.manifests import JobReader, check_labels
from shunter.model.rest.admin_views import (
    DeadPage,
    DeadView,
    QueuePage,
    QueueView,
    Replayed,
    TemplatePage,
    TemplateView,
)
from shunter.model.rest.views import (
    AttemptPage,
    AttemptView,
    ClusterInfo,
    EventPage,
    EventView,
    FollowLine,
    JobPage,
    JobView,
    LogView,
    NodePage,
    NodeStatsView,
    NodeView,
    PlannedJobView,
    PlanView,
    PolicyPage,
    PolicyView,
    ProgressView,
    SubmittedJob,
    TaskPage,
    TaskView,
    WhyView,
)
from shunter.ports.gateway import (
    Caller,
    DeadLetterSelector,
    DispatchRequest,
    EventPosition,
    EventQuery,
    JobQuery,
    JobReference,
    LogChunk,
    LogQuery,
    QueueChange,
    TaskQuery,
    TaskReference,
)
from shunter.ports.objects import Applied
from tests.contracts.memory_objects import MemoryObjectService
from tests.unit.api.fake_jobs import AT, FakeJobs, task_view
from tests.unit.api.fake_services import FakeFlight, FakeMetrics, FakeNodeAdmin, FakeSchedulers, FakeServices

TOKEN = "correct-horse"
Item = TypeVar("Item")


TEMPLATE = TemplateView(
    name="nightly", namespace="default", id=9, state="scheduled", type="batch", count=1, command=["true"], user="me",
    labels={}, set_at=AT, cron="0 1 * * *", timezone="UTC", overlap="skip", catch_up="none", next_at=AT,
)  # fmt: skip
QUEUE = QueueView(name="film", queued=3, running=1, paused=False, strict=False, running_max=2)
DEAD = DeadView(
    name="render@1/3", number=7, namespace="default", job="render", run=1, group="main", index=3, exit_code=1,
    reason="exit code 1", at=AT,
)  # fmt: skip


class FakeGateway:
    def __init__(self) -> None:
        self.manifests = JobReader(_check_constraint)
        self.fake_jobs = FakeJobs()
        self.keys: dict[str, list[SubmittedJob]] = {}
        self.received: list[object] = []  # the queries, as they arrived
        self.labels: dict[str, str] = {"disk": "ssd"}
        self.log = b"hello\n"
        self.log_is_truncated = False
        self.chunks: asyncio.Queue[LogChunk | None] = asyncio.Queue()
        self.pending_events: asyncio.Queue[EventView] = asyncio.Queue()
        self.past_events = [event("7-0"), event("7-1"), event("9-0")]
        self.stopped: list[tuple[JobReference, int | None, bool]] = []
        self.signals: list[int] = []
        self.shutdowns: list[bool] = []
        self.services = FakeServices(self)
        self.node_admin = FakeNodeAdmin(self)
        self.objects = MemoryObjectService()
        self.schedulers = FakeSchedulers()
        self.flight = FakeFlight(self)
        self.metrics = FakeMetrics(self)
        self.heartbeat_s = 1.0
        self.policy = "e-pvm"
        self.failure: ShunterError | Exception | None = None  # raised by every call
        self.is_eager = False  # jobs end as soon as they are followed, streams when there is nothing more
        self.streams_open = 0
        self.stream_closed = asyncio.Event()

    def authenticate(self, token: str) -> Caller | None:
        return Caller("tester") if hmac.compare_digest(token.encode(), TOKEN.encode()) else None

    async def submit(
        self, caller: Caller, documents: Sequence[object], *, namespace: str, key: str | None
    ) -> list[SubmittedJob]:
        self.record_call()
        specs = self.manifests.read_all(documents, default_namespace=namespace, make_name=self.fake_jobs.make_name)
        if key in self.keys:
            return [msgspec.structs.replace(job, created=False) for job in self.keys[key]]
        submitted = [self.fake_jobs.submit(spec, caller) for spec in specs]
        if key is not None:
            self.keys[key] = submitted
        return submitted

    async def apply(
        self, caller: Caller, documents: Sequence[object], *, namespace: str, key: str | None
    ) -> list[SubmittedJob | Applied]:
        jobs, objects = split(documents)
        if not jobs.documents:
            return [*await self.objects.apply(caller, documents, namespace=namespace)]
        submitted = await self.submit(caller, jobs.documents, namespace=namespace, key=key)
        if len(submitted) != len(jobs.documents):
            raise Invalid([IDEMPOTENCY_KEY_REUSED])
        return join(jobs, submitted, objects, await self.objects.apply(caller, objects.documents, namespace=namespace))

    async def jobs(self, caller: Caller, query: JobQuery) -> JobPage:
        self.record_call(query)
        views = [job.view for job in self.fake_jobs.by_id.values() if query.namespace in (None, job.spec.namespace)]
        return JobPage(views[: query.limit], None, len(views))

    async def job(self, caller: Caller, job: JobReference) -> JobView:
        self.record_call(job)
        return self.fake_jobs.find(job).view

    async def runs(self, caller: Caller, job: JobReference, limit: int, after: str | None) -> JobPage:
        self.record_call((limit, after))
        return JobPage([self.fake_jobs.find(job).view], None, 1)

    async def stop(
        self, caller: Caller, job: JobReference, task: TaskReference | None, now: bool, signal: int = 0
    ) -> None:
        self.record_call()
        self.fake_jobs.find(job)
        self.signals.append(signal)
        self.stopped.append((job, None if task is None else task.index, now))

    async def hold(self, caller: Caller, job: JobReference, is_held: bool) -> JobView:
        self.record_call((job, is_held))
        return self.fake_jobs.find(job).view

    async def retry(self, caller: Caller, job: JobReference, only_failed: bool, key: str | None) -> JobView:
        self.record_call((job, only_failed, key))
        return self.fake_jobs.find(job).view

    async def templates(self, caller: Caller, namespace: str | None, limit: int, after: str | None) -> TemplatePage:
        self.record_call((namespace, limit, after))
        return TemplatePage([TEMPLATE], None, 1)

    async def template(self, caller: Caller, namespace: str, name: str) -> TemplateView:
        self.record_call()
        if name != TEMPLATE.name:
            raise NotFound(f"there is no template {name}")
        return TEMPLATE

    async def pause_template(self, caller: Caller, namespace: str, name: str, is_paused: bool) -> TemplateView:
        self.record_call(is_paused)
        return await self.template(caller, namespace, name)

    async def drop_template(self, caller: Caller, namespace: str, name: str) -> None:
        await self.template(caller, namespace, name)

    async def dispatch(self, caller: Caller, request: DispatchRequest) -> JobView:
        self.record_call(request)
        await self.template(caller, request.namespace, request.name)
        spec = self.manifests.read(
            {"apiVersion": "shunter.dev/v1", "kind": "Job", "spec": {"command": ["x"]}}, name_default="nightly"
        )
        return self.fake_jobs.find(JobReference("default", id=self.fake_jobs.submit(spec, caller).id)).view

    async def queues(self, caller: Caller) -> QueuePage:
        self.record_call()
        return QueuePage([QUEUE], None, 1)

    async def queue(self, caller: Caller, name: str) -> QueueView:
        self.record_call()
        if name != QUEUE.name:
            raise NotFound(f"there is no queue {name}")
        return QUEUE

    async def change_queue(self, caller: Caller, name: str, change: QueueChange) -> QueueView:
        self.record_call((name, change))
        return QUEUE

    async def drop_queue(self, caller: Caller, name: str) -> None:
        await self.queue(caller, name)

    async def purge_queue(self, caller: Caller, name: str) -> int:
        self.record_call(name)
        return 3

    async def dead_letters(
        self, caller: Caller, namespace: str | None, job: str | None, limit: int, after: str | None
    ) -> DeadPage:
        self.record_call((namespace, job, limit, after))
        return DeadPage([DEAD], None, 1)

    async def replay(self, caller: Caller, choice: DeadLetterSelector) -> Replayed:
        self.record_call(choice)
        return Replayed([], 1)

    async def purge_dead(self, caller: Caller, choice: DeadLetterSelector) -> int:
        self.record_call(choice)
        return len(choice.numbers)

    async def tasks(self, caller: Caller, job: JobReference, query: TaskQuery) -> TaskPage:
        self.record_call(query)
        found = self.fake_jobs.find(job)
        items = [task_view(found, index) for index in range(min(query.limit, found.spec.count))]
        return TaskPage(items, None, found.spec.count)

    async def task(self, caller: Caller, job: JobReference, task: TaskReference) -> TaskView:
        self.record_call(task)
        return self.fake_jobs.task(job, task.index)

    async def attempts(self, caller: Caller, job: JobReference, task: TaskReference) -> AttemptPage:
        self.record_call(task)
        found = self.fake_jobs.task(job, task.index)
        return AttemptPage([AttemptView(name=f"{found.name}#1", index=task.index, attempt=1, state="running")], None, 1)

    async def read_log(self, caller: Caller, job: JobReference, task: TaskReference, query: LogQuery) -> LogChunk:
        self.record_call(query)
        self.fake_jobs.task(job, task.index)
        data = self.log[query.offset : query.offset + query.size_max]
        end = query.offset + len(data)
        return LogChunk(
            data,
            end,
            eof=self.fake_jobs.find(job).ended.is_set() and end >= len(self.log),
            truncated=self.log_is_truncated,
        )

    async def follow_log(
        self, caller: Caller, job: JobReference, task: TaskReference, query: LogQuery
    ) -> AsyncGenerator[LogChunk, None]:
        self.record_call(query)
        self.fake_jobs.task(job, task.index)

        async def chunks() -> AsyncGenerator[LogChunk, None]:
            while not (self.is_eager and self.chunks.empty()) and (piece := await self.chunks.get()) is not None:
                yield piece

        return self._tracked(chunks)

    async def follow(self, caller: Caller, job: JobReference, mode: str) -> AsyncGenerator[FollowLine, None]:
        self.record_call(mode)
        found = self.fake_jobs.find(job)

        async def lines() -> AsyncGenerator[FollowLine, None]:
            yield FollowLine(job=found.view)
            if mode == "progress":
                yield FollowLine(progress=ProgressView("running", {"running": found.spec.count}))
            if mode == "logs":
                yield FollowLine(log=LogView("stdout", self.log))
            if self.is_eager:
                self.fake_jobs.end(found.view.id)
            await found.ended.wait()
            yield FollowLine(end=found.view, exit_code=0)

        return self._tracked(lines)

    async def why(self, caller: Caller, job: JobReference, task: TaskReference | None = None) -> WhyView:
        self.record_call(job)
        view = self.fake_jobs.find(job).view
        sentence = "it waits for the test" if task is None else f"task {task.index} waits for the test"
        return WhyView(name=view.name, state=view.state, sentence=sentence, counts=view.counts)

    async def plan(self, caller: Caller, documents: Sequence[object], *, namespace: str) -> PlanView:
        self.record_call()
        specs = self.manifests.read_all(documents, default_namespace=namespace, make_name=self.fake_jobs.make_name)
        jobs = [
            PlannedJobView(
                name=spec.name, namespace=spec.namespace, verdict="starts", sentence="it would start", count=spec.count,
                starts=spec.count, waits=0,
            )
            for spec in specs
        ]  # fmt: skip
        return PlanView(starts=True, sentence="all start", state_version=7, policy=self.policy, jobs=jobs)

    async def policies(self, caller: Caller) -> PolicyPage:
        self.record_call()
        known = ("e-pvm", "bin-pack")
        items = [PolicyView(name=name, kind="score", source="built in", active=name == self.policy) for name in known]
        return PolicyPage(items, None, len(items))

    async def use_policy(self, caller: Caller, name: str) -> PolicyPage:
        if name not in ("e-pvm", "bin-pack"):
            raise Invalid([Problem("policy", "unknown policy", name)])
        self.policy = name
        return await self.policies(caller)

    async def nodes(self, caller: Caller, limit: int, after: str | None) -> NodePage:
        self.record_call((limit, after))
        return NodePage([self.node_view("here")], None, 1)

    async def node(self, caller: Caller, name: str) -> NodeView:
        self.record_call()
        return self.node_view(name)

    def node_view(self, name: str) -> NodeView:
        if name != "here":
            raise NotFound(f"there is no node {name}")
        return NodeView(
            name=name, id=1, state="ready", eligible=True, reason=None, datacenter="dc1", labels=self.labels,
            attributes={}, capacity={"cpu": "2"}, reserved={"cpu": "0"}, tasks=0,
        )  # fmt: skip

    async def label_node(self, caller: Caller, name: str, labels: Mapping[str, str | None]) -> NodeView:
        self.record_call()
        self.node_view(name)
        check_labels(dict(labels), "labels")
        changed = {**self.labels, **labels}
        self.labels = {key: value for key, value in changed.items() if value is not None}
        return self.node_view(name)

    async def node_stats(self, caller: Caller, name: str) -> NodeStatsView:
        self.record_call()
        return NodeStatsView(name=self.node_view(name).name, at=AT, machine={"cpu_busy": 0.5}, tasks=[])

    async def events(self, caller: Caller, query: EventQuery) -> EventPage:
        self.record_call(query)
        found = [event for event in self.past_events if query.after is None or _is_behind(event.id, query.after)]
        return EventPage(found[: query.limit], None, len(found))

    async def subscribe(self, caller: Caller, query: EventQuery) -> AsyncGenerator[EventView, None]:
        self.record_call(query)

        async def events() -> AsyncGenerator[EventView, None]:
            for past in self.past_events if query.after is not None else ():
                if _is_behind(past.id, query.after or EventPosition(0)):
                    yield past
            while not (self.is_eager and self.pending_events.empty()):
                yield await self.pending_events.get()

        return self._tracked(events)

    async def cluster(self, caller: Caller) -> ClusterInfo:
        self.record_call()
        return ClusterInfo(
            name="test", version="0", state_version=9, epoch=1, policy="greedy", heartbeat_s=self.heartbeat_s,
            started_at=AT, simulated=False,
            nodes={"ready": 1}, jobs={}, tasks={}, capacity={"cpu": "2"}, reserved={"cpu": "0"},
        )  # fmt: skip

    async def set_licences(self, caller: Caller, licences: Mapping[str, int | None]) -> ClusterInfo:
        self.record_call(dict(licences))
        return await self.cluster(caller)

    async def update_cluster(self, caller: Caller, settings: Mapping[str, Any]) -> ClusterInfo:
        self.record_call(dict(settings))
        if "heartbeat" in settings:
            self.heartbeat_s = 1.0 if settings["heartbeat"] is None else settings["heartbeat"]
        return await self.cluster(caller)

    async def down(self, caller: Caller, leave_running: bool) -> None:
        self.record_call()
        self.shutdowns.append(leave_running)

    def record_call(self, received: object = None) -> None:
        if received is not None:
            self.received.append(received)
        if self.failure is not None:
            raise self.failure

    async def _tracked(self, make: Callable[[], AsyncGenerator[Item, None]]) -> AsyncGenerator[Item, None]:
        """A stream whose end a test can wait for."""
        self.streams_open += 1
        try:
            async for item in make():
                yield item
        finally:
            self.streams_open -= 1
            self.stream_closed.set()


def event(id: str) -> EventView:
    return EventView(id=id, at=AT, type="job.submitted", name=f"event {id}", namespace="default", job="render")


def _is_behind(id: str, position: EventPosition) -> bool:
    version, number = map(int, id.split("-"))
    if position.number is None:
        return version > position.version
    return (version, number) > (position.version, position.number)


def _check_constraint(text: str) -> None:
    if "==" not in text:
        raise ValueError("must compare something")
