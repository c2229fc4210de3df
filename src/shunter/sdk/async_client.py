"""The async client: `shunter.aio.connect()`. What to say is decided in `calls`, how in `transport.asynchronous`."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Iterable, Mapping, Sequence
from types import TracebackType
from typing import Any, Literal, Unpack, overload

from shunter.model.job.spec import NAMESPACE_DEFAULT
from shunter.model.protocol.flight_records import FlightSegment
from shunter.model.rest.admin_views import DeadView, QueueView, Replayed, TemplateView
from shunter.model.rest.metric_views import MetricsView
from shunter.model.rest.object_views import AppliedView, ObjectView, PastSchedulingView, WatchLine
from shunter.model.rest.views import (
    AttemptView,
    ClusterInfo,
    EventView,
    FollowLine,
    JobView,
    NodeStatsView,
    NodeView,
    PlanView,
    PolicyView,
    SubmittedJob,
    TaskView,
    WhyView,
)
from shunter.sdk.calls import admin as admin_calls
from shunter.sdk.calls import follow as follow_calls
from shunter.sdk.calls import jobs as job_calls
from shunter.sdk.calls import metrics as metric_calls
from shunter.sdk.calls import objects as object_calls
from shunter.sdk.calls.follow import Ended, LogSelector
from shunter.sdk.calls.metrics import Time
from shunter.sdk.calls.requests import TaskKey
from shunter.sdk.core import Core, OnRetry
from shunter.sdk.endpoint import finder
from shunter.sdk.manifests import Manifest, RunOptions, Source, read_manifest
from shunter.sdk.retry import PATIENCE_S
from shunter.sdk.transport.asynchronous import Transport
from shunter.sdk.transport.steps import Conversation


def connect(
    url: str | None = None,
    token: str | None = None,
    namespace: str = NAMESPACE_DEFAULT,
    *,
    patience_s: float = PATIENCE_S,
    on_retry: OnRetry | None = None,
) -> Client:
    """A client of the cluster at `url`, of SHUNTER_URL, or of the local one. Raises NotReachable if there is none.

    `patience_s` is how long an outage is waited out; `on_retry` hears of every failure that is.
    """
    find = finder(url, token)
    find()  # a cluster that is not there is told at once, not by the first call
    return Client(Transport(find), Core(namespace=namespace, patience_s=patience_s, on_retry=on_retry))


class Client:
    """A cluster, from Python. Use it as a context manager, in one event loop."""

    def __init__(self, transport: Transport, core: Core) -> None:
        self._transport = transport
        self._core = core
        self._perform = transport.perform

    async def __aenter__(self) -> Client:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        await self._transport.close()

    async def run(self, command: Sequence[str], **options: Unpack[RunOptions]) -> Job:
        """Run `command`, `count` times; returns when the job is acknowledged. Acknowledged jobs are never lost."""
        return Job(self, *await self._perform(job_calls.run(self._core, command, options)))

    async def run_to_end(self, command: Sequence[str], **options: Unpack[RunOptions]) -> Job:
        """Run `command` and return when it has ended: one request, the shortest way there."""
        return self._ended(await self._perform(job_calls.run_to_end(self._core, command, options)))

    async def submit(self, manifest: Source) -> Job:
        """Submit one manifest: a mapping, a path, or YAML or JSON text."""
        return Job(self, *await self._perform(job_calls.submit(self._core, manifest)))

    async def submit_many(self, manifests: Source | Iterable[Manifest]) -> list[SubmittedJob]:
        """Submit many manifests in as few requests as their limits allow; each request is taken whole or not at all."""
        return await self._perform(job_calls.submit_many(self._core, manifests))

    def submit_and_follow(self, manifest: Source, mode: str = "progress") -> AsyncGenerator[FollowLine, None]:
        """Submit and follow in one request; `mode` is end, progress or logs (of one-task jobs)."""
        return self._transport.stream(follow_calls.follow_submit(self._core, read_manifest(manifest), mode))

    async def jobs(
        self,
        *,
        states: Iterable[str] = (),
        labels: Mapping[str, str] | None = None,
        namespace: str | None = None,
        limit: int | None = None,
    ) -> AsyncIterator[Job]:
        """Jobs, newest first, read page by page as they are asked for. Namespace `*` means all."""
        async for view in self._transport.stream(job_calls.jobs(self._core, namespace, states, labels, limit)):
            yield Job(self, view)

    async def job(self, name: str, namespace: str | None = None) -> Job:
        """A job by NAME (its newest run), NAME@RUN or id:NUMBER."""
        return Job(self, await self._perform(job_calls.job(self._core, name, namespace)))

    async def runs(self, name: str, limit: int | None = None) -> AsyncIterator[Job]:
        """All runs of one name, newest first."""
        async for view in self._transport.stream(job_calls.runs(self._core, name, limit)):
            yield Job(self, view)

    async def why(self, name: str, index: TaskKey | None = None) -> WhyView:
        """Why a job, or one of its tasks, is in the state it is in; what would start it, and when it may start."""
        return await self._perform(job_calls.why(self._core, name, None, index))

    async def plan(self, manifests: Source | Iterable[Manifest]) -> PlanView:
        """What submitting these manifests would do now, without doing it."""
        return await self._perform(job_calls.plan(self._core, manifests))

    async def policies(self) -> list[PolicyView]:
        """All policies and filters, with their source and which of them decide."""
        return await self._perform(job_calls.policies(self._core))

    async def use_policy(self, name: str) -> list[PolicyView]:
        """Let another policy decide, from now on and after a restart too."""
        return await self._perform(job_calls.use_policy(self._core, name))

    async def flight(self) -> list[FlightSegment]:
        """What the flight recorder has kept, oldest first."""
        return await self._perform(job_calls.flight(self._core))

    def flight_records(self) -> AsyncIterator[bytes]:
        """Pieces of a file with all recorded decisions, for `shunter replay`."""
        return self._transport.stream(job_calls.flight_records(self._core))

    async def nodes(self) -> list[NodeView]:
        return [node async for node in self._transport.stream(job_calls.nodes(self._core))]

    async def node(self, name: str) -> NodeView:
        return await self._perform(job_calls.node(self._core, name))

    async def node_stats(self, name: str) -> NodeStatsView:
        """The machine and its running tasks, fresh from the worker."""
        return await self._perform(job_calls.node_stats(self._core, name))

    async def node_metrics(
        self, name: str, start: Time | None = None, stop: Time | None = None, *, step: str | None = None
    ) -> MetricsView:
        """What a node used over a window of time; the last ten minutes, if none is named."""
        return await self._perform(metric_calls.node_metrics(self._core, name, (start, stop, step)))

    async def drain_node(self, name: str, deadline: str | None = None) -> NodeView:
        """Empty a node; past the deadline ("10m"), its batch tasks are stopped and queued again."""
        return await self._perform(job_calls.drain_node(self._core, name, deadline))

    async def undrain_node(self, name: str) -> NodeView:
        return await self._perform(job_calls.undrain_node(self._core, name))

    async def cordon_node(self, name: str, reason: str = "") -> NodeView:
        """Let nothing more start on a node; what runs goes on."""
        return await self._perform(job_calls.cordon_node(self._core, name, reason))

    async def uncordon_node(self, name: str) -> NodeView:
        return await self._perform(job_calls.uncordon_node(self._core, name))

    async def release_node(self, name: str) -> NodeView:
        """Let a node out of quarantine."""
        return await self._perform(job_calls.release_node(self._core, name))

    async def attribute_node(self, name: str, attributes: Mapping[str, str | None]) -> NodeView:
        """Set attributes; None takes one away."""
        return await self._perform(job_calls.attribute_node(self._core, name, attributes))

    async def label_node(self, name: str, labels: Mapping[str, str | None]) -> NodeView:
        """Set labels; None takes one away."""
        return await self._perform(job_calls.label_node(self._core, name, labels))

    def events(
        self,
        *,
        after: str | None = None,
        follow: bool = False,
        namespace: str | None = None,
        job: str | None = None,
        limit: int | None = None,
    ) -> AsyncIterator[EventView]:
        """The events there are, oldest first; with `follow`, those that come, without end. Of all namespaces, unless
        one, or a job, is named."""
        if follow:
            return self._transport.stream(follow_calls.follow_events(self._core, namespace, job, after))
        return self._transport.stream(job_calls.events(self._core, namespace, job, after, limit))

    def templates(self, *, namespace: str | None = None, limit: int | None = None) -> AsyncIterator[TemplateView]:
        """Jobs that a clock or dispatches run, by name. Namespace `*` means all."""
        return self._transport.stream(admin_calls.templates(self._core, namespace, limit))

    async def template(self, name: str) -> TemplateView:
        return await self._perform(admin_calls.template(self._core, name))

    async def pause_template(self, name: str) -> TemplateView:
        """Let the clock start no runs of it."""
        return await self._perform(admin_calls.pause_template(self._core, name, True))

    async def resume_template(self, name: str) -> TemplateView:
        """Let the clock start runs of it again; what was due meanwhile is not made up for."""
        return await self._perform(admin_calls.pause_template(self._core, name, False))

    async def delete_template(self, name: str) -> None:
        """Its runs go on."""
        await self._perform(admin_calls.delete_template(self._core, name))

    async def dispatch(
        self, name: str, parameters: Mapping[str, str] | None = None, payload: bytes | None = None
    ) -> Job:
        """Run a template now. Tasks find parameters as SHUNTER_PARAM_NAME and the payload's file by SHUNTER_PAYLOAD."""
        return Job(self, await self._perform(admin_calls.dispatch(self._core, name, parameters or {}, payload)), True)

    async def queues(self) -> list[QueueView]:
        return await self._perform(admin_calls.queues(self._core))

    async def queue(self, name: str) -> QueueView:
        return await self._perform(admin_calls.queue(self._core, name))

    async def update_queue(self, name: str, rules: Mapping[str, Any]) -> QueueView:
        """Any of paused, strict, running_max and queued_max; a limit of 0 takes it away."""
        return await self._perform(admin_calls.change_queue(self._core, name, rules))

    async def delete_queue(self, name: str) -> None:
        """Take a queue's rules away; what is in it stays."""
        await self._perform(admin_calls.delete_queue(self._core, name))

    async def purge_queue(self, name: str) -> int:
        """Cancel what is queued in it; comes to the number of tasks."""
        return await self._perform(admin_calls.purge_queue(self._core, name))

    def dead_letters(
        self, *, job: str | None = None, namespace: str | None = None, limit: int | None = None
    ) -> AsyncIterator[DeadView]:
        """Tasks that gave up after all their restarts, oldest first."""
        return self._transport.stream(admin_calls.dead_letters(self._core, namespace, job, limit))

    async def replay_dead(self, numbers: Iterable[int] = (), *, job: str | None = None) -> Replayed:
        """Run just these tasks again: by number, of a job, or with neither all of the namespace."""
        return await self._perform(admin_calls.replay(self._core, numbers, job))

    async def purge_dead(self, numbers: Iterable[int] = (), *, job: str | None = None) -> int:
        """Forget dead letters, chosen likewise; comes to their number."""
        return await self._perform(admin_calls.purge_dead(self._core, numbers, job))

    async def apply(self, documents: Source | Iterable[Manifest], namespace: str | None = None) -> list[AppliedView]:
        """Make or change Testbeds, BatchJobs and Schedulings, all or none; a file of Jobs is submitted instead."""
        return await self._perform(object_calls.apply(self._core, documents, namespace))

    async def get(self, kind: str, name: str, namespace: str | None = None) -> ObjectView:
        """One Testbed, BatchJob or Scheduling; the kind is said as in `testbed`, `testbeds` or `tb`."""
        return await self._perform(object_calls.get(self._core, kind, name, namespace))

    async def objects(self, kind: str | None = None, namespace: str | None = None) -> list[ObjectView]:
        """All of a kind, or of every kind, by name. Namespace `*` means all."""
        return await self._perform(object_calls.list_objects(self._core, kind, namespace))

    async def delete(
        self, kind: str, name: str, namespace: str | None = None, *, version: int | None = None
    ) -> ObjectView:
        """Ask an object to go; what it holds is released first. With a `version`, only if that is the present one."""
        return await self._perform(object_calls.delete(self._core, kind, name, namespace, version))

    async def patch(self, kind: str, name: str, changes: Manifest, namespace: str | None = None) -> ObjectView:
        """Change some fields of an object; None takes one away."""
        return await self._perform(object_calls.patch(self._core, kind, name, changes, namespace))

    def watch(
        self,
        kind: str | None = None,
        name: str | None = None,
        namespace: str | None = None,
        *,
        after: int | None = None,
        present: bool = False,
    ) -> AsyncIterator[WatchLine]:
        """Changes of objects as they are committed, without end: behind version `after`, or from now on; with
        `present`, first what is there. It goes on by itself after an outage. Namespace `*` means all."""
        return self._transport.stream(object_calls.watch(self._core, kind, name, namespace, after, present))

    async def write_external(
        self, name: str, data: Mapping[str, Iterable[Mapping[str, str]]], namespace: str | None = None
    ) -> ObjectView:
        """Replace these keys of a BatchJob's externalScheduler, and leave the others."""
        return await self._perform(object_calls.write_external(self._core, name, data, namespace))

    async def reset(self, name: str, namespace: str | None = None) -> ObjectView:
        """Bring a failed BatchJob back to Ready."""
        return await self._perform(object_calls.reset(self._core, name, namespace))

    async def batch_job_metrics(
        self, name: str, run: int | None = None, namespace: str | None = None, *, step: str | None = None
    ) -> MetricsView:
        """What the last run of a BatchJob used, or the N-th: by node and by slot, from its start to its stop."""
        return await self._perform(metric_calls.batch_job_metrics(self._core, name, run, step, namespace))

    def past_schedulings(
        self, name: str | None = None, namespace: str | None = None, limit: int | None = None
    ) -> AsyncIterator[PastSchedulingView]:
        """What deleted Schedulings did, newest first. Namespace `*` means all."""
        return self._transport.stream(object_calls.past_schedulings(self._core, name, namespace, limit))

    async def past_scheduling(self, uid: str) -> PastSchedulingView:
        return await self._perform(object_calls.past_scheduling(self._core, uid))

    async def cluster(self) -> ClusterInfo:
        return await self._perform(job_calls.cluster(self._core))

    async def update_cluster(self, settings: Mapping[str, Any]) -> ClusterInfo:
        """Change settings while it runs: `{"heartbeat": "2s", "preemption": "off", "reserve_after": "5m",
        "licence/matlab": 5}`. They outlive a restart."""
        return await self._perform(job_calls.update_cluster(self._core, settings))

    async def down(self, *, leave_running: bool = False) -> None:
        """Ask the cluster to stop; returns when it has begun to."""
        await self._perform(job_calls.down(self._core, leave_running))

    def _ended(self, ended: Ended) -> Job:
        return Job(self, ended.view, ended.created, ended.exit_code)


class Job:
    """One run of a job, as last seen; `refresh` and `wait` see anew. `view` has everything that is known of it."""

    def __init__(self, client: Client, view: JobView, created: bool = False, exit_code: int | None = None) -> None:
        self._client = client
        self.view = view
        self.created = created
        self.exit_code = exit_code

    def __repr__(self) -> str:
        return f"<Job {self.name}@{self.view.run} {self.state}>"

    @property
    def name(self) -> str:
        return self.view.name

    @property
    def state(self) -> str:
        return self.view.state

    @property
    def counts(self) -> dict[str, int]:
        return self.view.counts

    @property
    def ended(self) -> bool:
        return self.state in job_calls.JOB_ENDS

    async def refresh(self) -> Job:
        self.view = await self._client._perform(job_calls.job(self._client._core, self._reference, self.view.namespace))
        return self

    async def wait(self, timeout: float | None = None) -> Job:
        """Return when the job has ended; after `timeout` seconds TimeoutError is raised, and the job goes on."""
        ended = await self._client._perform(self._follow("end", timeout))
        self.view, self.exit_code = ended.view, ended.exit_code
        return self

    def follow(self, mode: str = "progress") -> AsyncGenerator[FollowLine, None]:
        """Lines about the job until it has ended; `mode` is end, progress or logs (of one-task jobs)."""
        return self._client._transport.stream(self._follow(mode, None))

    async def stop(self, *, index: TaskKey | None = None, now: bool = False, signal: str | None = None) -> None:
        """End the job, or one of its tasks (an index, or "GROUP/INDEX"): gracefully, with a signal like "INT" instead
        of TERM, or with `now` at once. Returns when that is under way."""
        call = job_calls.stop(self._client._core, self._reference, self.view.namespace, index, now, signal)
        await self._client._perform(call)

    async def hold(self) -> Job:
        """Let nothing more of it start until it is released; what runs goes on."""
        self.view = await self._client._perform(
            admin_calls.hold(self._client._core, self._reference, self.view.namespace, True)
        )
        return self

    async def release(self) -> Job:
        """Let a held job go on."""
        self.view = await self._client._perform(
            admin_calls.hold(self._client._core, self._reference, self.view.namespace, False)
        )
        return self

    async def retry(self, *, failed: bool = False) -> Job:
        """A new run of this finished one: all of it, or only the tasks that did not succeed."""
        call = admin_calls.retry(self._client._core, self._reference, self.view.namespace, failed)
        return Job(self._client, await self._client._perform(call), True)

    async def update(self, manifest: Source, node: str | None = None) -> Job:
        """Another spec of a service or system job; with `node`, only what runs there is replaced."""
        call = job_calls.update(self._client._core, self._reference, self.view.namespace, manifest, node)
        self.view = await self._client._perform(call)
        return self

    async def scale(self, counts: int | Mapping[str, int]) -> Job:
        """Another count of a service; by group where it has several."""
        call = job_calls.scale(self._client._core, self._reference, self.view.namespace, counts)
        self.view = await self._client._perform(call)
        return self

    async def roll_back(self) -> Job:
        """To the last good version, or from a good one to the one before."""
        call = job_calls.roll_back(self._client._core, self._reference, self.view.namespace)
        self.view = await self._client._perform(call)
        return self

    async def restart(self, index: TaskKey | None = None) -> Job:
        """Replace all instances of a service or system job, or one, by fresh ones."""
        call = job_calls.restart(self._client._core, self._reference, self.view.namespace, index)
        self.view = await self._client._perform(call)
        return self

    async def move(self, index: TaskKey, node: str) -> Job:
        """Let a task run on this node."""
        call = job_calls.move(self._client._core, self._reference, self.view.namespace, index, node)
        self.view = await self._client._perform(call)
        return self

    def tasks(
        self, *, states: Iterable[str] = (), limit: int | None = None, all: bool = False
    ) -> AsyncIterator[TaskView]:
        """Tasks by index, read page by page as they are asked for. `all`: before them, those of a service that were
        replaced; their names end in ~PIECE."""
        call = job_calls.tasks(self._client._core, self._reference, self.view.namespace, states, all, limit)
        return self._client._transport.stream(call)

    async def task(self, index: TaskKey) -> TaskView:
        return await self._client._perform(
            job_calls.task(self._client._core, self._reference, self.view.namespace, index)
        )

    async def attempts(self, index: TaskKey = 0) -> list[AttemptView]:
        return await self._client._perform(
            job_calls.attempts(self._client._core, self._reference, self.view.namespace, index)
        )

    async def metrics(
        self, index: TaskKey = 0, start: Time | None = None, stop: Time | None = None, *, step: str | None = None
    ) -> MetricsView:
        """What a task used, and its node meanwhile; from its start to its end, if no other window is named."""
        window = start, stop, step
        call = metric_calls.task_metrics(self._client._core, self._reference, self.view.namespace, index, window)
        return await self._client._perform(call)

    async def why(self, index: TaskKey | None = None) -> WhyView:
        """Why the job, or one of its tasks, is in the state it is in."""
        return await self._client._perform(
            job_calls.why(self._client._core, self._reference, self.view.namespace, index)
        )

    @overload
    def logs(
        self, index: TaskKey = 0, stream: str = "stdout", follow: Literal[False] = False, attempt: int | None = None
    ) -> Awaitable[bytes]: ...

    @overload
    def logs(
        self, index: TaskKey = 0, stream: str = "stdout", *, follow: Literal[True], attempt: int | None = None
    ) -> AsyncIterator[bytes]: ...

    def logs(
        self, index: TaskKey = 0, stream: str = "stdout", follow: bool = False, attempt: int | None = None
    ) -> Awaitable[bytes] | AsyncIterator[bytes]:
        """What a task wrote to `stream` (stdout or stderr); with `follow` in pieces, as it is written, to its end."""
        selector = LogSelector(self._reference, self.view.namespace, index, stream, attempt)
        if follow:
            return self._client._transport.stream(follow_calls.follow_log(self._client._core, selector))
        return self._whole_log(selector)

    async def _whole_log(self, selector: LogSelector) -> bytes:
        call = follow_calls.read_log(self._client._core, selector)
        chunks = [chunk async for chunk in self._client._transport.stream(call)]
        return b"".join(chunks)

    @property
    def _reference(self) -> str:
        return f"id:{self.view.id}"

    def _follow(self, mode: str, timeout_s: float | None) -> Conversation[Ended]:
        return follow_calls.follow_job(self._client._core, self._reference, self.view.namespace, mode, timeout_s)
