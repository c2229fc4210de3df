"""The gateway on the local engine: the one door for every transport. Implements `ports.gateway`."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from functools import partial
from typing import Any

from shunter.engine.engine import Engine
from shunter.engine.jobs.apply_file import MixedFile
from shunter.engine.jobs.queue_admin import QueuePatch
from shunter.engine.jobs.submit import SubmitResult
from shunter.engine.jobs.templates import Dispatch
from shunter.engine.read.views import job_view, last_attempt_view, node_view, past_attempt_view
from shunter.engine.state.records import Job
from shunter.engine.state.state import State
from shunter.gateway.cluster import Cluster, ManagerInfo
from shunter.gateway.explain.plan import DryRuns, RunInThread, job_with_dependencies, jobs_named_in, plan, run_inline
from shunter.gateway.explain.verified_remedies import diagnose
from shunter.gateway.explain.why import reservation_reasons, why, why_ended, why_task
from shunter.gateway.flight import Flight
from shunter.gateway.jobs.queues import find_queue, queue_page, queue_view
from shunter.gateway.jobs.rerun import Reruns
from shunter.gateway.jobs.runs import Runs
from shunter.gateway.jobs.services import Services
from shunter.gateway.jobs.task_refs import AnyRun, FinishedRun, group_name, locate_task
from shunter.gateway.jobs.tasks import Tasks
from shunter.gateway.jobs.templates import find_template, template_page, template_view
from shunter.gateway.metrics import Metrics
from shunter.gateway.nodes import NodeAdmin
from shunter.gateway.objects import Objects
from shunter.gateway.policies import Policies
from shunter.gateway.sessions import SchedulerSessions
from shunter.gateway.streams.events import EventHistory
from shunter.gateway.streams.follow import Follower
from shunter.gateway.tokens import Tokens
from shunter.model.errors import Conflict, NotFound, Unavailable
from shunter.model.files.mixed_files import join, read_parts, split
from shunter.model.job.manifests import JobReader, check_labels
from shunter.model.objects.object_manifests import read_objects
from shunter.model.rest.admin_views import DeadPage, QueuePage, QueueView, Replayed, TemplatePage, TemplateView
from shunter.model.rest.views import (
    AttemptPage,
    ClusterInfo,
    EventPage,
    EventView,
    FollowLine,
    JobPage,
    JobView,
    NodePage,
    NodeStatsView,
    NodeView,
    PlanView,
    PolicyPage,
    ReasonView,
    SubmittedJob,
    TaskPage,
    TaskStatsView,
    TaskView,
    WhyView,
    describe_end_state,
)
from shunter.model.timestamps import iso
from shunter.planning.filter.cel import parse_constraint, parse_job_match
from shunter.planning.policies import Catalogue
from shunter.planning.view import Policy
from shunter.ports.clock import Clock
from shunter.ports.flight import FlightLog
from shunter.ports.gateway import (
    Caller,
    DeadLetterSelector,
    DispatchRequest,
    EventQuery,
    JobQuery,
    JobReference,
    LogChunk,
    LogQuery,
    QueueChange,
    TaskQuery,
    TaskReference,
)
from shunter.ports.metrics import MetricProvider
from shunter.ports.objects import Applied
from shunter.ports.schedulers import FlightArchive
from shunter.ports.store import Store
from shunter.ports.workers import Workers

STALE_HEARTBEATS = 3


class LocalGateway:
    def __init__(
        self,
        *,
        engine: Engine,
        store: Store,
        workers: Workers,
        clock: Clock,
        tokens: Tokens,
        identity: Mapping[str, str],  # name and version of this cluster
        is_simulated: bool,
        on_down: Callable[[bool], None],
        on_heartbeat: Callable[[float | None], None],
        run_in_thread: RunInThread = run_inline,
        catalogue: Catalogue | None = None,
        on_policy: Callable[[Policy], None] = lambda _: None,
        flight_log: FlightLog | None = None,
        archive: FlightArchive | None = None,
        metrics: MetricProvider | None = None,
    ) -> None:
        self._engine, self._store, self._workers, self._clock, self._tokens = engine, store, workers, clock, tokens
        self._on_down = on_down
        self._manifests = JobReader(parse_constraint, parse_job_match)
        self._runs, self._tasks = Runs(engine, store), Tasks(engine, store)
        self._reruns = Reruns(engine, store, self._runs)
        self._policies = Policies(engine, catalogue or Catalogue(), on_policy)
        self._policies.apply_settings()
        self.schedulers = SchedulerSessions(engine)
        self.flight = Flight(engine, flight_log, archive, run_in_thread)
        self._dry_runs = DryRuns(engine, clock, run_in_thread)
        self._follower = Follower(engine, workers, self._runs, self._tasks)
        self._event_history = EventHistory(engine, store)
        self.services = Services(engine, self._runs, self._manifests)
        self.node_admin = NodeAdmin(engine, self._node_view)
        self.objects = Objects(engine, store)
        self.metrics = Metrics(engine, self._runs, self._tasks, metrics, clock)
        manager_info = ManagerInfo(identity["name"], identity["version"], clock.now(), is_simulated)
        self._cluster = Cluster(engine, workers, manager_info, self._policies, self.flight, on_heartbeat)

    def authenticate(self, token: str) -> Caller | None:
        return self._tokens.authenticate(token)

    # ---- jobs ----

    async def submit(
        self, caller: Caller, documents: Sequence[object], *, namespace: str, key: str | None
    ) -> list[SubmittedJob]:
        specs = self._manifests.read_all(documents, default_namespace=namespace, make_name=str)
        return await self._submitted(await self._engine.submit(specs, caller.user, key))

    async def apply(
        self, caller: Caller, documents: Sequence[object], *, namespace: str, key: str | None
    ) -> list[SubmittedJob | Applied]:
        jobs, objects = split(documents)
        if not jobs.documents:
            return [*await self.objects.apply(caller, documents, namespace=namespace)]
        if not objects.documents:
            return [*await self.submit(caller, documents, namespace=namespace, key=key)]
        read_jobs = partial(self._manifests.read_all, default_namespace=namespace, make_name=str)
        read = read_parts(jobs, read_jobs, objects, partial(read_objects, default_namespace=namespace))
        submitted, taken = await self._engine.apply_file(MixedFile(*read, jobs, objects), caller.user, key)
        applied = [await self.objects.applied(caller, each) for each in taken]
        return join(jobs, await self._submitted(submitted), objects, applied)

    async def _submitted(self, results: Sequence[SubmitResult]) -> list[SubmittedJob]:
        return [
            SubmittedJob(
                name=result.name,
                namespace=result.namespace,
                id=result.job_id,
                run=result.run,
                created=result.created,
                updated=result.updated,
            )
            if result.name
            else await self._finished_duplicate(result.job_id)
            for result in results
        ]

    async def jobs(self, caller: Caller, query: JobQuery) -> JobPage:
        return await self._runs.page(query)

    async def job(self, caller: Caller, job: JobReference) -> JobView:
        return _view(await self._runs.find(job), self._engine.state)

    async def runs(self, caller: Caller, job: JobReference, limit: int, after: str | None) -> JobPage:
        return await self._runs.runs_of(await self._runs.find(job), limit, after)

    async def stop(
        self, caller: Caller, job: JobReference, task: TaskReference | None, now: bool, signal: int = 0
    ) -> None:
        run = await self._runs.find(job)
        if task is not None:
            locate_task(self._engine.state, run, task)
        if isinstance(run, FinishedRun) and not run.view.run:
            raise Conflict(f"{run.view.name} is a template: delete it with `shunter cron delete {run.view.name}`")
        if isinstance(run, Job):
            target = None if task is None else (group_name(run, task.group), task.index)
            await self._engine.stop_tasks(run.id, target, now, f"stopped by {caller.user}", signal)

    async def hold(self, caller: Caller, job: JobReference, is_held: bool) -> JobView:
        run = await self._runs.find(job)
        if not isinstance(run, Job):
            raise Conflict(
                f"{run.view.name} {describe_end_state(run.view.state)}: only unfinished jobs are held and released"
            )
        await self._engine.hold(run.id, is_held)
        return await self.job(caller, JobReference(job.namespace, id=run.id))

    async def retry(self, caller: Caller, job: JobReference, only_failed: bool, key: str | None) -> JobView:
        run = await self._reruns.retry(job, only_failed, caller.user, key)
        return await self.job(caller, JobReference(job.namespace, id=run.job_id))

    async def why(self, caller: Caller, job: JobReference, task: TaskReference | None = None) -> WhyView:
        run = await self._runs.find(job)
        target = None if task is None else await self._tasks.task(run, task)
        if target is not None and target.state not in ("waiting", "queued"):
            return why_task(target)
        if not isinstance(run, Job):
            return why_ended(run.view)
        filters, state, now_ms = self._engine.active_policy.filters, self._engine.state, int(self._clock.now() * 1000)
        leader = self._engine.schedulers.live_leader(now_ms)
        found = why(state, run, now_ms, filters, reservation_reasons(state, self._engine.active_policy, leader, now_ms))
        if found.start is not None:
            planner_reasons, found.suggestions = await self._dry_runs.run(
                partial(job_with_dependencies, run.id), diagnose, run.id, filters
            )
            known_texts = {reason.text for reason in found.reasons}
            new = [ReasonView(text=text, nodes=0) for text in dict.fromkeys(planner_reasons) if text not in known_texts]
            found.reasons = [*new, *found.reasons]
        return found

    async def plan(self, caller: Caller, documents: Sequence[object], *, namespace: str) -> PlanView:
        specs = self._manifests.read_all(documents, default_namespace=namespace, make_name=str)
        past = await self._engine.load_ended_runs(specs)
        return await self._dry_runs.run(partial(jobs_named_in, specs), plan, specs, caller.user, past)

    async def policies(self, caller: Caller) -> PolicyPage:
        await self._engine.wait_committed()
        return self._policies.page()

    async def use_policy(self, caller: Caller, name: str) -> PolicyPage:
        return await self._policies.use(name)

    async def follow(self, caller: Caller, job: JobReference, mode: str) -> AsyncGenerator[FollowLine, None]:
        return self._follower.job(await self._runs.find(job), mode)

    # ---- tasks ----

    async def tasks(self, caller: Caller, job: JobReference, query: TaskQuery) -> TaskPage:
        return await self._tasks.page(await self._runs.find(job), query)

    async def task(self, caller: Caller, job: JobReference, task: TaskReference) -> TaskView:
        return await self._tasks.task(await self._runs.find(job), task)

    async def attempts(self, caller: Caller, job: JobReference, task: TaskReference) -> AttemptPage:
        """Earlier ones first, the present or last one at the end."""
        run = await self._runs.find(job)
        found = await self._tasks.task(run, task)
        names = self._engine.state.nodes.view.names
        views = [past_attempt_view(found, past, names) for past in self._tasks.history(run, task)]
        if found.attempt and not any(view.attempt == found.attempt for view in views):
            views.append(last_attempt_view(found))
        return AttemptPage(views, None, len(views))

    async def read_log(self, caller: Caller, job: JobReference, task: TaskReference, query: LogQuery) -> LogChunk:
        location = await self._tasks.log_location(await self._runs.find(job), task, query.attempt)
        return await self._follower.chunk(location, query.stream, query.offset, query.size_max)

    async def follow_log(
        self, caller: Caller, job: JobReference, task: TaskReference, query: LogQuery
    ) -> AsyncGenerator[LogChunk, None]:
        run = await self._runs.find(job)
        await self._tasks.log_location(run, task, query.attempt)
        return self._follower.log(JobReference(job.namespace, id=run.id), task, query)

    # ---- templates, queues, dead letters ----

    async def templates(self, caller: Caller, namespace: str | None, limit: int, after: str | None) -> TemplatePage:
        await self._engine.wait_committed()
        return template_page(self._engine.state, namespace, limit, after)

    async def template(self, caller: Caller, namespace: str, name: str) -> TemplateView:
        await self._engine.wait_committed()
        return template_view(self._engine.state, find_template(self._engine.state, namespace, name))

    async def pause_template(self, caller: Caller, namespace: str, name: str, is_paused: bool) -> TemplateView:
        await self._engine.pause_template(namespace, name, is_paused)
        return await self.template(caller, namespace, name)

    async def drop_template(self, caller: Caller, namespace: str, name: str) -> None:
        await self._engine.drop_template(namespace, name)

    async def dispatch(self, caller: Caller, request: DispatchRequest) -> JobView:
        dispatch = Dispatch(
            request.namespace, request.name, caller.user, request.parameters, request.payload, request.key
        )
        run = await self._engine.dispatch(dispatch)
        return await self.job(caller, JobReference(request.namespace, id=run.job_id))

    async def queues(self, caller: Caller) -> QueuePage:
        await self._engine.wait_committed()
        return queue_page(self._engine.state)

    async def queue(self, caller: Caller, name: str) -> QueueView:
        await self._engine.wait_committed()
        return find_queue(self._engine.state, name)

    async def change_queue(self, caller: Caller, name: str, change: QueueChange) -> QueueView:
        patch = QueuePatch(change.paused, change.strict, change.running_max, change.queued_max)
        await self._engine.patch_queue(name, patch)
        return queue_view(self._engine.state, name)

    async def drop_queue(self, caller: Caller, name: str) -> None:
        await self._engine.drop_queue(name)

    async def purge_queue(self, caller: Caller, name: str) -> int:
        return await self._engine.purge_queue(name, caller.user)

    async def dead_letters(
        self, caller: Caller, namespace: str | None, job: str | None, limit: int, after: str | None
    ) -> DeadPage:
        return await self._reruns.page(namespace, job, limit, after)

    async def replay(self, caller: Caller, choice: DeadLetterSelector) -> Replayed:
        return await self._reruns.replay(choice, caller.user)

    async def purge_dead(self, caller: Caller, choice: DeadLetterSelector) -> int:
        return await self._reruns.purge(choice, caller.user)

    # ---- nodes ----

    async def nodes(self, caller: Caller, limit: int, after: str | None) -> NodePage:
        await self._engine.wait_committed()
        records = self._engine.state.nodes.by_name
        names = sorted(name for name in records if after is None or name > after)
        items = [self._node_view(name) for name in names[:limit]]
        return NodePage(items, names[limit - 1] if len(names) > limit else None, len(records))

    async def node(self, caller: Caller, name: str) -> NodeView:
        await self._engine.wait_committed()
        return self._node_view(name)

    async def label_node(self, caller: Caller, name: str, labels: Mapping[str, str | None]) -> NodeView:
        check_labels(dict(labels), "labels")
        await self._engine.label_node(name, dict(labels))
        return self._node_view(name)

    async def node_stats(self, caller: Caller, name: str) -> NodeStatsView:
        node = self._node_view(name)
        data = await self._workers.read_stats(node.id)
        tasks = [
            TaskStatsView(
                name=task_set.task_name(task.index),
                namespace=task_set.job.namespace,
                index=task_set.visible_index_of(task.index),
                attempt=task.attempt,
                cpu_s=task.cpu_s,
                memory_bytes=task.memory_bytes,
                processes=task.processes,
            )
            for task in data.tasks
            if (task_set := self._engine.state.task_set(task.job, task.group)) is not None
        ]
        machine = {field: getattr(data.machine, field) for field in data.machine.__struct_fields__}
        return NodeStatsView(name=name, at=iso(data.machine.at_ms / 1000) or "", machine=machine, tasks=tasks)

    # ---- the cluster ----

    async def events(self, caller: Caller, query: EventQuery) -> EventPage:
        return await self._event_history.page(query)

    async def subscribe(self, caller: Caller, query: EventQuery) -> AsyncGenerator[EventView, None]:
        return await self._event_history.subscribe(query)

    async def cluster(self, caller: Caller) -> ClusterInfo:
        return await self._cluster.info()

    async def update_cluster(self, caller: Caller, settings: Mapping[str, Any]) -> ClusterInfo:
        return await self._cluster.update(settings)

    async def down(self, caller: Caller, leave_running: bool) -> None:
        self._on_down(leave_running)

    async def _finished_duplicate(self, job_id: int) -> SubmittedJob:
        """The job of a repeated key, when it has ended since."""
        finished = await self._store.finished_job(job_id)
        if finished is None:
            raise Unavailable(f"job {job_id} of this key has ended, and history does not keep it any more")
        return SubmittedJob(
            name=finished.name, namespace=finished.namespace, id=job_id, run=finished.run, created=False
        )

    def _node_view(self, name: str) -> NodeView:
        record = self._engine.state.nodes.by_name.get(name)
        if record is None:
            raise NotFound(f"there is no node {name}")
        stale_after_ms = int(self._workers.heartbeat_s * STALE_HEARTBEATS * 1000)
        return node_view(self._engine.state, record, int(self._clock.now() * 1000), stale_after_ms)


def _view(run: AnyRun, state: State) -> JobView:
    return job_view(run, state) if isinstance(run, Job) else run.view
