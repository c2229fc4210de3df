# Generated from async_client.py: change that file, then run `make client`.
"""The blocking client: `shunter.connect()`. Every verb is a method here or, for a single job, in `job`.

A method defines what to send and what it returns. The core decides when to retry, and the transport does the I/O."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from os import PathLike
from types import TracebackType
from typing import Any, TypeVar, Unpack

import msgspec

from shunter.model.audit.views import AuditLines, AuditPage, AuditRecordView
from shunter.model.job.spec import NAMESPACE_DEFAULT
from shunter.model.metrics.debug_views import DebugView
from shunter.model.objects.objects import BATCH_JOB
from shunter.model.protocol.flight_records import FlightPage, FlightSegment
from shunter.model.rest.admin_views import (
    DeadPage,
    DeadView,
    Purged,
    QueuePage,
    QueueView,
    Replayed,
    TemplatePage,
    TemplateView,
)
from shunter.model.rest.cluster_views import ClusterInfo, EventPage, EventView, PolicyPage, PolicyView, StoppingView
from shunter.model.rest.identity_views import (
    EnrolmentView,
    JoinTokenPage,
    JoinTokenView,
    KeyPage,
    KeyView,
    MeView,
    NewJoinTokenView,
    NewKeyView,
    SessionCodeView,
    SignInOptionsView,
    TenantPage,
    TenantView,
    UserPage,
    UserView,
)
from shunter.model.rest.job_views import FollowLine, JobPage, JobView
from shunter.model.rest.log_views import JobLogLine
from shunter.model.rest.manager_views import ManagerPage, ManagerView, SteppingDown
from shunter.model.rest.metric_views import MetricsView
from shunter.model.rest.monitor.analytics_views import Analytics
from shunter.model.rest.monitor.decision_views import (
    DecisionDetail,
    DecisionPage,
    DecisionReplay,
    DecisionView,
    FlightTimeline,
)
from shunter.model.rest.monitor.usage_views import UsageSums
from shunter.model.rest.monitor.views import JobCounts, NodeMap, NodeTask, NodeTaskPage, SearchPage
from shunter.model.rest.node_views import NodePage, NodeStatsView, NodeView
from shunter.model.rest.object_views import (
    AppliedPage,
    AppliedView,
    ObjectList,
    ObjectView,
    PastPage,
    PastSchedulingView,
    WatchLine,
)
from shunter.model.rest.plan_views import PlanView, WhyView
from shunter.model.rest.secret_views import KeyRotation, SecretPage, SecretView
from shunter.sdk.calls import objects as object_calls
from shunter.sdk.calls.follow import Ended, Progress, events_path, follow_events, follow_submit, read_file
from shunter.sdk.calls.job_logs import JobLogSelector, read_job_logs
from shunter.sdk.calls.objects import expand_lists, object_path, objects_path
from shunter.sdk.calls.requests import (
    Query,
    TaskKey,
    Time,
    drop_none,
    format_time,
    job_path,
    json_request,
    path_with,
    quoted,
    window_query,
)
from shunter.sdk.calls.wait import job_list, list_jobs, submitted_view, wait_for_ends
from shunter.sdk.core import PAGE_MAX, Core, OnRetry, Page
from shunter.sdk.endpoint import finder
from shunter.sdk.job import Following, Job
from shunter.sdk.manifests import Manifest, RunOptions, Source, each_manifest, job_manifest, read_manifest
from shunter.sdk.retry import PATIENCE_S, Deadline
from shunter.sdk.transport.blocking import Transport
from shunter.sdk.transport.steps import Request

__all__ = ["Client", "Job", "connect"]

T = TypeVar("T")

MERGE_PATCH = ("Content-Type", "application/merge-patch+json")


def connect(
    url: str | Sequence[str] | None = None,
    token: str | None = None,
    namespace: str = NAMESPACE_DEFAULT,
    *,
    ca_file: str | PathLike[str] | None = None,
    patience_s: float = PATIENCE_S,
    on_retry: OnRetry | None = None,
) -> Client:
    """A client of the cluster at `url`, at SHUNTER_URL, or of the local one. Raises NotReachable if there is none.

    `url` may name several managers of one cluster: a list, or text with commas. The client asks one of them, and the
    next one when it fails. `ca_file` names the authorities to trust for HTTPS; by default SHUNTER_CA_FILE, those of the
    local cluster, or those of the system. `patience_s` is how long the client waits for an outage to end; it calls
    `on_retry` before each retry.
    """
    find = finder(url, token, ca_file=ca_file)
    find()  # a missing cluster is an error here, not at the first call
    core = Core(namespace=namespace, managers=find.managers, patience_s=patience_s, on_retry=on_retry)
    return Client(Transport(find), core)


class Client:
    """A cluster, from Python. Use it as a context manager; threads may share it."""

    def __init__(self, transport: Transport, core: Core) -> None:
        self._transport = transport
        self._core = core
        self._perform = transport.perform
        self._last_run: Job | None = None

    def __enter__(self) -> Client:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        if self._last_run is not None:
            self._last_run._stop_following()
        self._transport.close()

    # ---- jobs ----

    def run(self, command: Sequence[str], **options: Unpack[RunOptions]) -> Job:
        """Run `command`, `count` times; returns when the job is acknowledged. Acknowledged jobs are never lost."""
        manifest, last = job_manifest(command, options), self._last_run
        if last is not None:
            last._stop_following()
        if last is not None and last.ended:
            job = self._run_and_follow(manifest)
        else:
            job = Job(self, *self._perform(self._core.submit(manifest)))
        self._last_run = job
        return job

    def _run_and_follow(self, manifest: Manifest) -> Job:
        """Submit for a caller who waited for the job before, and will wait for this one: the answer goes on until the
        job ends, so that `wait` needs no request. Only the last run is followed in advance."""
        progress = Progress(Deadline(self._core.clock))
        stream = self._transport.stream(follow_submit(self._core, manifest, "end", progress))
        for line in stream:
            if line.job is not None:
                return Job(self, line.job, progress.created, following=Following(stream, progress))
        raise AssertionError("a followed job begins with itself")

    def run_to_end(self, command: Sequence[str], **options: Unpack[RunOptions]) -> Job:
        """Run `command` and return when it has ended, in one request: the fastest way."""
        ended: Ended = self._perform(follow_submit(self._core, job_manifest(command, options), "end"))
        return Job(self, ended.view, ended.created, ended.exit_code)

    def submit(self, manifest: Source) -> Job:
        """Submit one manifest: a mapping, a path, or YAML or JSON text."""
        return Job(self, *self._perform(self._core.submit(read_manifest(manifest))))

    def submit_many(self, manifests: Source | Iterable[Manifest], *, key: str | None = None) -> list[Job]:
        """Submit many manifests in as few requests as the limits allow; the cluster accepts each request whole or not
        at all. If it fails, call it again with the same manifests: no job is created twice. For a repetition by another
        client, pass the same `key`. Of these jobs, only names, state and count are known until you refresh or wait."""
        submitted = self._perform(self._core.submit_many(each_manifest(manifests), key))
        return [Job(self, submitted_view(each), each.created, updated=each.updated) for each in submitted]

    def as_completed(self, jobs: Iterable[Job], timeout: float | None = None) -> Iterator[Job]:
        """These jobs in the order in which they end, over one stream of events. After `timeout` seconds, raises
        TimeoutError; the jobs continue."""
        by_id: dict[int, list[Job]] = {}
        for job in job_list(jobs):
            by_id.setdefault(job.id, []).append(job)
        views = [same[0].view for same in by_id.values()]
        for ended in self._transport.stream(wait_for_ends(self._core, views, timeout)):
            uncounted = [view for view in ended if not view.counts]  # arrays that did not succeed
            listed = self._perform(list_jobs(self._core, uncounted)) if uncounted else {}
            for event_view in ended:
                view = listed.get(event_view.id, event_view)
                for job in by_id[view.id]:
                    job.view, job.exit_code = view, view.exit_code
                    yield job

    def wait(self, jobs: Iterable[Job], timeout: float | None = None, *, check: bool = False) -> list[Job]:
        """Return these jobs when all have ended. With `check`, raise JobFailed if one did not succeed. After `timeout`
        seconds, raise TimeoutError; the jobs continue."""
        waited = job_list(jobs)
        for _ in self.as_completed(waited, timeout):
            pass
        for job in waited if check else ():
            job._check()
        return waited

    def gather(self, jobs: Iterable[Job], timeout: float | None = None) -> list[Job]:
        """Return these jobs when all have succeeded; raise JobFailed for the first that did not."""
        return self.wait(jobs, timeout, check=True)

    def submit_and_follow(self, manifest: Source, mode: str = "progress") -> Generator[FollowLine, None, Ended]:
        """Submit and follow in one request; `mode` is end, progress or logs (of one-task jobs)."""
        return self._transport.stream(follow_submit(self._core, read_manifest(manifest), mode))

    def jobs(
        self,
        *,
        states: Iterable[str] = (),
        labels: Mapping[str, str] | None = None,
        namespace: str | None = None,
        limit: int | None = None,
        text: str | None = None,
        queue: str | None = None,
        user: str | None = None,
        type: str | None = None,
        since: Time | None = None,
        sort: str | None = None,
    ) -> Iterator[Job]:
        """Jobs, newest first, read page by page as you iterate. Namespace `*` means all. `text` is a part of the name.
        `sort` (oldest, name, priority) is for unfinished states."""
        query: list[tuple[str, object]] = [("state", state) for state in states]
        query += [("q", text), ("queue", queue), ("user", user), ("type", type)]
        query += [("since", format_time(since)), ("sort", sort)]
        query += [("label", f"{name}={value}") for name, value in (labels or {}).items()]
        for view in self._pages(self._path("/jobs", namespace, query), JobPage, limit):
            yield Job(self, view)

    def job(self, name: str, namespace: str | None = None) -> Job:
        """A job by NAME (its newest run), NAME@RUN or id:NUMBER."""
        request = Request("GET", job_path(name, namespace or self._core.namespace))
        return Job(self, self._fetch(request, JobView))

    def job_logs(
        self,
        name: str,
        namespace: str | None = None,
        *,
        follow: bool = False,
        tail: int | None = None,
        since: Time | None = None,
        grep: str | None = None,
        groups: Iterable[str] = (),
        index: int | str | None = None,
        states: Iterable[str] = (),
        streams: Iterable[str] = (),
    ) -> Iterator[JobLogLine]:
        """The output of all tasks of a job, or of those with an `index` (3 or "1-9:2"), group or state: task by task,
        or with `follow` as it is written, until the job ends. The last line says what was left out or is missing."""
        lists = [("group", groups), ("state", states), ("stream", streams)]
        other = (("since", format_time(since)), ("index", index), *((key, one) for key, all in lists for one in all))
        selector = JobLogSelector(name, namespace or self._core.namespace, follow, tail, grep, other)
        return self._transport.stream(read_job_logs(self._core, selector))

    def runs(self, name: str, limit: int | None = None) -> Iterator[Job]:
        """All runs of one name, newest first."""
        for view in self._pages(job_path(name, self._core.namespace, "/runs"), JobPage, limit):
            yield Job(self, view)

    def why(self, name: str, index: TaskKey | None = None) -> WhyView:
        """Why a job, or one of its tasks, is in the state it is in; what would start it, and when it may start."""
        return self._fetch(Request("GET", job_path(name, self._core.namespace, "/why", task=index)), WhyView)

    def why_object(self, kind: str, name: str, namespace: str | None = None) -> WhyView:
        """Why a Testbed, BatchJob or Scheduling is in the state it is in."""
        return self._fetch(Request("GET", self._object_path(kind, name, namespace) + "/why"), WhyView)

    def plan(self, manifests: Source | Iterable[Manifest]) -> PlanView:
        """What submitting or applying these manifests would do now, without doing it."""
        items = list(each_manifest(manifests))
        return self._fetch(json_request("POST", self._path("/plan"), {"items": items}), PlanView)

    # ---- policies and their decisions ----

    def policies(self) -> list[PolicyView]:
        """All policies and filters, with their source and which of them decide."""
        page = self._fetch(Request("GET", "/policies"), PolicyPage)
        return page.items

    def use_policy(self, name: str) -> list[PolicyView]:
        """Let another policy decide, from now on and after a restart."""
        page = self._fetch(json_request("PUT", "/policies/active", {"name": name}), PolicyPage)
        return page.items

    def flight(self) -> list[FlightSegment]:
        """What the flight recorder has stored, oldest first."""
        page = self._fetch(Request("GET", "/flight"), FlightPage)
        return page.items

    def flight_records(self) -> Iterator[bytes]:
        """Chunks of a file with all recorded decisions, for `shunter replay`."""
        return self._transport.stream(read_file(self._core, "/flight/records"))

    # ---- managers ----

    def managers(self) -> list[ManagerView]:
        """All managers of the cluster, by name, and which of them leads."""
        return (self._fetch(Request("GET", "/managers"), ManagerPage)).items

    def step_down(self) -> None:
        """Let another manager lead. Raises Conflict if there is none."""
        self._fetch(json_request("POST", "/managers/step-down", repeatable=False), SteppingDown)

    def debug(self, profile_s: int = 0) -> DebugView:
        """What helps to find a fault of the manager that answers: rounds, stalls, metrics, and a profile."""
        return self._fetch(Request("GET", f"/managers/self/debug?profile={profile_s}"), DebugView)

    # ---- nodes ----

    def job_counts(self, group_by: str = "state", namespace: str | None = None) -> JobCounts:
        """How many jobs there are by state, queue, user, type or namespace. Namespace `*` means all."""
        path = path_with("/job-counts", [("namespace", namespace or self._core.namespace), ("group_by", group_by)])
        return self._fetch(Request("GET", path), JobCounts)

    def search(self, text: str, limit: int | None = None) -> SearchPage:
        """Jobs, nodes, templates, queues and objects by a part of their names."""
        return self._fetch(Request("GET", path_with("/search", [("q", text), ("limit", limit)])), SearchPage)

    def analytics(
        self, start: Time | None = None, stop: Time | None = None, *, steps: int | None = None, namespace: str = "*"
    ) -> Analytics:
        """Throughput, waiting times, run times and failures of jobs that ended in a window of time; without one, in the
        last 24 hours."""
        query = [("namespace", namespace), ("start", format_time(start)), ("stop", format_time(stop)), ("steps", steps)]
        return self._fetch(Request("GET", path_with("/analytics", query)), Analytics)

    def usage(self, by: str = "user", since: Time | None = None, *, namespace: str = "*") -> UsageSums:
        """What finished jobs used, by user, queue, namespace or tenant; without a time, those of the last 7 days."""
        query = [("namespace", namespace), ("by", by), ("since", format_time(since))]
        return self._fetch(Request("GET", path_with("/usage", query)), UsageSums)

    def decisions(self, *, all: bool = False, limit: int | None = None) -> Iterator[DecisionView]:
        """Recorded decisions, newest first; `all`: also those that changed nothing."""
        return self._pages(path_with("/flight/decisions", [("all", all or None)]), DecisionPage, limit)

    def flight_timeline(self, *, all: bool = False, limit: int | None = None) -> FlightTimeline:
        """The newest recorded decisions as columns, by time, with the periods of policies and agreement of shadows."""
        path = path_with("/flight/timeline", [("all", all or None), ("limit", limit)])
        return self._fetch(Request("GET", path), FlightTimeline)

    def decision(self, id: str) -> DecisionDetail:
        """One recorded decision, with what the policy saw."""
        return self._fetch(Request("GET", f"/flight/decisions/{quoted(id)}"), DecisionDetail)

    def replay_decision(self, id: str, policy: str) -> DecisionReplay:
        """What another policy decides on the same input."""
        path = f"/flight/decisions/{quoted(id)}/replay"
        return self._fetch(json_request("POST", path, {"policy": policy}), DecisionReplay)

    def node_map(self, group_by: str | None = None) -> NodeMap:
        """All nodes as columns, grouped by datacenter or by a label."""
        return self._fetch(Request("GET", path_with("/node-map", [("group_by", group_by)])), NodeMap)

    def node_tasks(self, name: str, limit: int | None = None) -> Iterator[NodeTask]:
        """The tasks that are assigned to a node, run there or stop."""
        return self._pages(f"/nodes/{quoted(name)}/tasks", NodeTaskPage, limit)

    def nodes(self) -> list[NodeView]:
        return list(self._pages("/nodes", NodePage, None))

    def node(self, name: str) -> NodeView:
        return self._fetch(Request("GET", f"/nodes/{quoted(name)}"), NodeView)

    def node_stats(self, name: str) -> NodeStatsView:
        """The machine and its running tasks, fresh from the worker."""
        return self._fetch(Request("GET", f"/nodes/{quoted(name)}/stats"), NodeStatsView)

    def node_metrics(
        self, name: str, start: Time | None = None, stop: Time | None = None, *, step: str | None = None
    ) -> MetricsView:
        """What a node used in a time window; without one, in the last ten minutes."""
        path = path_with(f"/nodes/{quoted(name)}/metrics", window_query(start, stop, step))
        return self._fetch(Request("GET", path), MetricsView)

    def drain_node(self, name: str, deadline: str | None = None) -> NodeView:
        """Empty a node; at the deadline ("10m"), its batch tasks are stopped and queued again."""
        return self._fetch(json_request("POST", f"/nodes/{quoted(name)}/drain", drop_none(deadline=deadline)), NodeView)

    def undrain_node(self, name: str) -> NodeView:
        return self._fetch(Request("DELETE", f"/nodes/{quoted(name)}/drain"), NodeView)

    def cordon_node(self, name: str, reason: str = "") -> NodeView:
        """Stop new tasks from starting on a node; running tasks continue."""
        return self._fetch(json_request("POST", f"/nodes/{quoted(name)}/cordon", {"reason": reason}), NodeView)

    def uncordon_node(self, name: str) -> NodeView:
        return self._fetch(Request("DELETE", f"/nodes/{quoted(name)}/cordon"), NodeView)

    def release_node(self, name: str) -> NodeView:
        """Release a node from quarantine."""
        return self._fetch(Request("DELETE", f"/nodes/{quoted(name)}/quarantine"), NodeView)

    def forget_node(self, name: str) -> NodeView:
        """Declare that nothing runs on a down node any more: tasks that wait for it run elsewhere."""
        return self._fetch(Request("POST", f"/nodes/{quoted(name)}/forget"), NodeView)

    def attribute_node(self, name: str, attributes: Mapping[str, str | None]) -> NodeView:
        """Set attributes; None removes one."""
        fields = {"attributes": dict(attributes)}
        return self._fetch(json_request("PATCH", f"/nodes/{quoted(name)}", fields), NodeView)

    def label_node(self, name: str, labels: Mapping[str, str | None]) -> NodeView:
        """Set labels; None removes one."""
        fields = {"labels": dict(labels)}
        return self._fetch(json_request("PATCH", f"/nodes/{quoted(name)}", fields), NodeView)

    # ---- templates, queues and dead letters ----

    def templates(self, *, namespace: str | None = None, limit: int | None = None) -> Iterator[TemplateView]:
        """Jobs that a schedule or dispatches start, by name. Namespace `*` means all."""
        return self._pages(self._path("/templates", namespace), TemplatePage, limit)

    def template(self, name: str) -> TemplateView:
        return self._fetch(Request("GET", self._path(f"/templates/{quoted(name)}")), TemplateView)

    def pause_template(self, name: str) -> TemplateView:
        """Stop its schedule from starting runs."""
        path = self._path(f"/templates/{quoted(name)}")
        return self._fetch(json_request("PATCH", path, {"paused": True}), TemplateView)

    def resume_template(self, name: str) -> TemplateView:
        """Let its schedule start runs again; runs that were due meanwhile are skipped."""
        path = self._path(f"/templates/{quoted(name)}")
        return self._fetch(json_request("PATCH", path, {"paused": False}), TemplateView)

    def delete_template(self, name: str) -> None:
        """Delete a template; its runs continue."""
        self._perform(self._core.send(Request("DELETE", self._path(f"/templates/{quoted(name)}"))))

    def dispatch(self, name: str, parameters: Mapping[str, str] | None = None, payload: bytes | None = None) -> Job:
        """Run a template now. Tasks find parameters as SHUNTER_PARAM_NAME and the payload's file by SHUNTER_PAYLOAD."""
        encoded = None if payload is None else b64encode(payload).decode()
        fields = drop_none(parameters=dict(parameters or {}), payload=encoded)
        path = self._path(f"/templates/{quoted(name)}/runs")
        return Job(self, self._fetch(json_request("POST", path, fields, key=self._core.new_key()), JobView), True)

    def whoami(self) -> MeView:
        """The user and the roles of this client's token."""
        return self._fetch(Request("GET", "/me"), MeView)

    def users(self) -> list[UserView]:
        return list(self._pages("/users", UserPage, None))

    def put_user(
        self,
        name: str,
        *,
        roles: Sequence[str] | None = None,
        disabled: bool | None = None,
        tenant: str | None = None,
    ) -> UserView:
        """Create a user, or change its roles or whether it is disabled."""
        body = drop_none(roles=None if roles is None else list(roles), disabled=disabled, tenant=tenant)
        return self._fetch(json_request("PUT", f"/users/{quoted(name)}", body), UserView)

    def keys(self) -> list[KeyView]:
        return list(self._pages("/keys", KeyPage, None))

    def create_key(
        self,
        roles: Sequence[str],
        *,
        user: str | None = None,
        note: str | None = None,
        expires_in: str | None = None,
        tenant: str | None = None,
        testbeds: Sequence[str] = (),
        namespace: str | None = None,
        queue: str | None = None,
    ) -> NewKeyView:
        """Create an API key. The answer is the only one that contains it. It sees a `tenant` only, and may be bound to
        testbeds, to a namespace and to a queue."""
        body = drop_none(
            roles=list(roles), user=user, note=note, expires_in=expires_in, tenant=tenant,
            testbeds=list(testbeds) or None, namespace=namespace, queue=queue,
        )  # fmt: skip
        return self._fetch(json_request("POST", "/keys", body), NewKeyView)

    def rotate_key(self, id: str, overlap: str | None = None) -> NewKeyView:
        """Give a key another secret. The old one is accepted for `overlap` ("1h") more."""
        request = json_request("POST", f"/keys/{quoted(id)}/rotate", drop_none(overlap=overlap))
        return self._fetch(request, NewKeyView)

    def session_code(self) -> SessionCodeView:
        """A one-time code that signs a browser in as this client's user, for a minute: `URL/ui/#code=CODE`."""
        return self._fetch(json_request("POST", "/sessions/codes", {}), SessionCodeView)

    def sign_in_options(self) -> SignInOptionsView:
        """How users sign in, besides with tokens and keys. Needs no token."""
        return self._fetch(Request("GET", "/sessions/options"), SignInOptionsView)

    def revoke_key(self, id: str) -> None:
        self._perform(self._core.send(Request("DELETE", f"/keys/{quoted(id)}")))

    def join_tokens(self) -> list[JoinTokenView]:
        return list(self._pages("/join-tokens", JoinTokenPage, None))

    def create_join_token(self, node: str, expires_in: str | None = None) -> NewJoinTokenView:
        """A token with which one worker can enrol as this node, within an hour unless `expires_in` says otherwise."""
        body = drop_none(node=node, expires_in=expires_in)
        return self._fetch(json_request("POST", "/join-tokens", body), NewJoinTokenView)

    def revoke_join_token(self, id: str) -> None:
        self._perform(self._core.send(Request("DELETE", f"/join-tokens/{quoted(id)}")))

    def enrol_worker(self, id: str, secret: str, request: bytes) -> EnrolmentView:
        """Have the certificate request (DER) of a worker signed, with a join token. Needs no other credential."""
        body = {"id": id, "secret": secret, "request": b64encode(request).decode()}
        return self._fetch(json_request("POST", "/enrolments", body), EnrolmentView)

    def secrets(self, *, namespace: str | None = None) -> list[SecretView]:
        """The secrets of a namespace by name, without their values."""
        return list(self._pages(self._path("/secrets", namespace), SecretPage, None))

    def set_secret(self, name: str, value: str | bytes, *, namespace: str | None = None) -> SecretView:
        """Create a secret, or give it another value. Tasks get it where their manifest names it in `secrets`."""
        body = {"value": b64encode(value.encode() if isinstance(value, str) else value).decode()}
        path = self._path(f"/secrets/{quoted(name)}", namespace)
        return self._fetch(json_request("PUT", path, body), SecretView)

    def delete_secret(self, name: str, *, namespace: str | None = None) -> None:
        path = self._path(f"/secrets/{quoted(name)}", namespace)
        self._perform(self._core.send(Request("DELETE", path)))

    def rotate_secrets_key(self) -> KeyRotation:
        """Encrypt all secrets with another key."""
        return self._fetch(json_request("POST", "/secrets-key/rotate"), KeyRotation)

    def tenants(self) -> list[TenantView]:
        return list(self._pages("/tenants", TenantPage, None))

    def tenant(self, name: str) -> TenantView:
        """What a tenant owns, its quotas and their use."""
        return self._fetch(Request("GET", f"/tenants/{quoted(name)}"), TenantView)

    def create_tenant(
        self,
        name: str,
        *,
        namespaces: Sequence[str] | None = None,
        queues: Sequence[str] | None = None,
        quotas: Mapping[str, object] | None = None,
    ) -> TenantView:
        """Create a tenant. It owns a namespace and a queue of its own name, and those that you name."""
        body = drop_none(name=name, namespaces=_listed(namespaces), queues=_listed(queues), quotas=quotas)
        return self._fetch(json_request("POST", "/tenants", body), TenantView)

    def update_tenant(
        self,
        name: str,
        *,
        namespaces: Sequence[str] | None = None,
        queues: Sequence[str] | None = None,
        quotas: Mapping[str, object] | None = None,
    ) -> TenantView:
        """Change what a tenant owns, or these of its quotas; None removes a quota."""
        body = drop_none(namespaces=_listed(namespaces), queues=_listed(queues), quotas=quotas)
        return self._fetch(json_request("PATCH", f"/tenants/{quoted(name)}", body), TenantView)

    def delete_tenant(self, name: str) -> None:
        self._perform(self._core.send(Request("DELETE", f"/tenants/{quoted(name)}")))

    def audit(
        self,
        *,
        limit: int | None = None,
        user: str | None = None,
        tenant: str | None = None,
        key: str | None = None,
        operation: str | None = None,
        source: str | None = None,
    ) -> Iterator[AuditRecordView]:
        """Records of who changed what, the newest first."""
        query = [("user", user), ("tenant", tenant), ("key", key), ("operation", operation), ("source", source)]
        return self._pages(path_with("/audit", query), AuditPage, limit)

    def audit_lines(self, after: int = 0, limit: int = PAGE_MAX) -> AuditLines:
        """Records after this number in order, as lines whose hashes can be checked."""
        return self._fetch(Request("GET", path_with("/audit/lines", [("after", after), ("limit", limit)])), AuditLines)

    def queues(self) -> list[QueueView]:
        page = self._fetch(Request("GET", "/queues"), QueuePage)
        return page.items

    def queue(self, name: str) -> QueueView:
        return self._fetch(Request("GET", f"/queues/{quoted(name)}"), QueueView)

    def update_queue(self, name: str, rules: Mapping[str, Any]) -> QueueView:
        """Set any of paused, strict, running_max and queued_max; a limit of 0 removes it."""
        return self._fetch(json_request("PATCH", f"/queues/{quoted(name)}", drop_none(**rules)), QueueView)

    def delete_queue(self, name: str) -> None:
        """Delete the rules of a queue; its jobs stay."""
        self._perform(self._core.send(Request("DELETE", f"/queues/{quoted(name)}")))

    def purge_queue(self, name: str) -> int:
        """Cancel the queued tasks of a queue; returns their number."""
        purged = self._fetch(json_request("POST", f"/queues/{quoted(name)}/purge"), Purged)
        return purged.count

    def dead_letters(
        self, *, job: str | None = None, namespace: str | None = None, limit: int | None = None
    ) -> Iterator[DeadView]:
        """Tasks that failed after their last restart, oldest first."""
        return self._pages(self._path("/dead", namespace, [("job", job)]), DeadPage, limit)

    def replay_dead(self, numbers: Iterable[int] = (), *, job: str | None = None) -> Replayed:
        """Run dead tasks again, selected by number or job; without both, all of the namespace."""
        fields = drop_none(numbers=list(numbers), job=job)
        return self._fetch(json_request("POST", self._path("/dead/replay"), fields, repeatable=False), Replayed)

    def purge_dead(self, numbers: Iterable[int] = (), *, job: str | None = None) -> int:
        """Delete dead letters, selected by number or job, as in `replay_dead`; returns their number."""
        fields = drop_none(numbers=list(numbers), job=job)
        request = json_request("POST", self._path("/dead/purge"), fields, repeatable=False)
        purged = self._fetch(request, Purged)
        return purged.count

    # ---- Testbeds, BatchJobs and Schedulings ----

    def apply(self, documents: Source | Iterable[Manifest], namespace: str | None = None) -> list[AppliedView]:
        """Apply Testbeds, BatchJobs, Schedulings and Jobs in one commit, all or none."""
        items = expand_lists(each_manifest(documents))
        request = json_request("POST", self._path("/apply", namespace), {"items": items}, key=self._core.new_key())
        page = self._fetch(request, AppliedPage)
        return page.items

    def get(self, kind: str, name: str, namespace: str | None = None) -> ObjectView:
        """One Testbed, BatchJob or Scheduling; write the kind as `testbed`, `testbeds` or `tb`."""
        return self._fetch(Request("GET", self._object_path(kind, name, namespace)), ObjectView)

    def objects(self, kind: str | None = None, namespace: str | None = None) -> list[ObjectView]:
        """All objects of a kind, or of every kind, by name. Namespace `*` means all."""
        page = self._fetch(Request("GET", objects_path(kind, namespace or self._core.namespace)), ObjectList)
        return page.items

    def delete(self, kind: str, name: str, namespace: str | None = None, *, version: int | None = None) -> ObjectView:
        """Delete an object once it has released what it holds. With `version`, only if that is the current one."""
        path = path_with(self._object_path(kind, name, namespace), [("resourceVersion", version)])
        return self._fetch(Request("DELETE", path), ObjectView)

    def patch(self, kind: str, name: str, changes: Manifest, namespace: str | None = None) -> ObjectView:
        """Change some fields of an object; None removes one."""
        path, body = self._object_path(kind, name, namespace), msgspec.json.encode(changes)
        return self._fetch(Request("PATCH", path, (MERGE_PATCH,), body), ObjectView)

    def watch(
        self,
        kind: str | None = None,
        name: str | None = None,
        namespace: str | None = None,
        *,
        after: int | None = None,
        present: bool = False,
    ) -> Iterator[WatchLine]:
        """Changes of objects as they are committed, without end: after version `after`, or from now on; with
        `present`, first the objects that exist. It resumes after an outage. Namespace `*` means all."""
        return self._transport.stream(object_calls.watch(self._core, kind, name, namespace, after, present))

    def write_external(
        self, name: str, data: Mapping[str, Iterable[Mapping[str, str]]], namespace: str | None = None
    ) -> ObjectView:
        """Replace these keys of a BatchJob's externalScheduler, and leave the others."""
        path = self._object_path(BATCH_JOB, name, namespace) + "/external"
        fields = {key: list(rows) for key, rows in data.items()}
        return self._fetch(json_request("PATCH", path, fields), ObjectView)

    def reset(self, name: str, namespace: str | None = None) -> ObjectView:
        """Bring a failed BatchJob back to Ready."""
        path = self._object_path(BATCH_JOB, name, namespace) + "/reset"
        return self._fetch(json_request("POST", path), ObjectView)

    def batch_job_metrics(
        self, name: str, run: int | None = None, namespace: str | None = None, *, step: str | None = None
    ) -> MetricsView:
        """What the last run of a BatchJob used, or its N-th: by node and by slot, from its start to its stop."""
        path = self._object_path(BATCH_JOB, name, namespace) + "/metrics"
        return self._fetch(Request("GET", path_with(path, [("run", run), ("step", step)])), MetricsView)

    def past_schedulings(
        self, name: str | None = None, namespace: str | None = None, limit: int | None = None
    ) -> Iterator[PastSchedulingView]:
        """What deleted Schedulings did, newest first. Namespace `*` means all."""
        return self._pages(self._path("/schedulings/past", namespace, [("name", name)]), PastPage, limit)

    def past_scheduling(self, uid: str) -> PastSchedulingView:
        return self._fetch(Request("GET", f"/schedulings/past/{quoted(str(uid))}"), PastSchedulingView)

    # ---- the cluster ----

    def events(
        self,
        *,
        after: str | None = None,
        follow: bool = False,
        namespace: str | None = None,
        job: str | None = None,
        limit: int | None = None,
        newest_first: bool = False,
    ) -> Iterator[EventView]:
        """Past events, oldest first unless you say otherwise; with `follow`, new ones without end. Of all namespaces,
        unless you name one or a job."""
        if follow:
            return self._transport.stream(follow_events(self._core, namespace, job, after))
        return self._pages(events_path(self._core, namespace, job, newest_first), EventPage, limit, after=after)

    def cluster(self) -> ClusterInfo:
        return self._fetch(Request("GET", "/cluster"), ClusterInfo)

    def update_cluster(self, settings: Mapping[str, Any]) -> ClusterInfo:
        """Change settings while the cluster runs: `{"heartbeat": "2s", "preemption": "off", "licences": {"matlab":
        5}}`. They survive a restart."""
        return self._fetch(json_request("PATCH", "/cluster", dict(settings)), ClusterInfo)

    def down(self, *, leave_running: bool = False, cluster: bool = False) -> list[str]:
        """Ask a manager and its own worker to stop; returns when it has begun to. With `cluster`, all other workers and
        managers are stopped first; returns those that could not be stopped."""
        fields = {"leave_running": leave_running} | ({"cluster": True} if cluster else {})
        request = json_request("POST", "/cluster/down", fields, repeatable=False)
        return (self._fetch(request, StoppingView)).not_stopped

    # ---- how verbs are carried out ----

    def _fetch(self, request: Request, shape: type[T]) -> T:
        return self._perform(self._core.fetch(request, shape))

    def _pages(
        self, path: str, shape: type[Page], limit: int | None, *, after: str | None = None, page_max: int = PAGE_MAX
    ) -> Iterator[Any]:
        return self._transport.stream(self._core.pages(path, shape, limit, after=after, page_max=page_max))

    def _path(self, path: str, namespace: str | None = None, query: Query = ()) -> str:
        return path_with(path, [("namespace", namespace or self._core.namespace), *query])

    def _object_path(self, kind: str, name: str, namespace: str | None) -> str:
        return object_path(kind, name, namespace or self._core.namespace)


def _listed(names: Sequence[str] | None) -> list[str] | None:
    return None if names is None else list(names)
