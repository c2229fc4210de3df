"""The other sub-gateways of the fake gateway: templates, queues, dead letters, nodes, policies, events, the cluster,
recordings, schedulers and metrics."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Collection, Mapping
from typing import TYPE_CHECKING, Any

import msgspec

from shunter.model.errors import Conflict, Invalid, NotFound, NotLeader, Problem, Unauthorized, Unavailable
from shunter.model.identity.roles import Role
from shunter.model.job.manifests import check_labels
from shunter.model.metrics.debug_views import DebugView
from shunter.model.objects.object_meta import ObjectName
from shunter.model.protocol.flight_records import FlightPage, FlightSegment
from shunter.model.protocol.scheduler_messages import DecisionAnswer, DecisionRow
from shunter.model.rest.admin_views import (
    DeadPage,
    DeadView,
    QueuePage,
    QueueView,
    Replayed,
    TemplatePage,
    TemplateView,
)
from shunter.model.rest.cluster_views import ClusterInfo, EventPage, EventView, PolicyPage, PolicyView
from shunter.model.rest.event_stream import encode_event
from shunter.model.rest.external_views import SchedulerSessionView
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
    SessionView,
    SignInOptionsView,
    TenantPage,
    TenantView,
    UserPage,
    UserView,
)
from shunter.model.rest.job_views import JobView
from shunter.model.rest.manager_views import ManagerPage, ManagerView
from shunter.model.rest.metric_views import MeasuredView, MetricsView, MetricView
from shunter.model.rest.node_views import NodePage, NodeStatsView, NodeView
from shunter.model.rest.secret_views import KeyRotation, SecretPage, SecretView
from shunter.planning.policies import check_scheduler_name
from shunter.ports.admin import DeadLetterSelector, DispatchRequest, EventPosition, EventQuery, QueueChange
from shunter.ports.identity import NewKey, OpenedSession, TenantChange
from shunter.ports.metrics import Window
from shunter.ports.principals import JobReference, TaskReference
from shunter.ports.schedulers import SchedulerSession
from tests.unit.api.job_table import AT

if TYPE_CHECKING:
    from tests.unit.api.fake_gateway import FakeGateway

TEMPLATE = TemplateView(
    name="nightly", namespace="default", id=9, state="scheduled", type="batch", count=1, command=["true"], user="me",
    labels={}, set_at=AT, cron="0 1 * * *", timezone="UTC", overlap="skip", catch_up="none", next_at=AT,
)  # fmt: skip
ANNA = UserView(name="anna", roles=["submitter"], disabled=False, created_at=AT)
JOIN_TOKEN = JoinTokenView(id="t1", node="node-7", state="valid", user="ana", created_at=AT, expires_at=AT)
RED = TenantView(name="red", namespaces=["red"], queues=["red"], quotas={"cpu": "4"}, used={"cpu": "1"}, created_at=AT)
KEY = KeyView(id="b7k2mq9xwe", user="anna", roles=["submitter"], note="", created_at=AT)
SECRET = SecretView(
    namespace="default", name="db-password", version=1, key="abcdef012345", set_by="anna", created_at=AT, updated_at=AT
)
QUEUE = QueueView(name="film", queued=3, running=1, paused=False, strict=False, running_max=2)
DEAD = DeadView(
    name="render@1/3", number=7, namespace="default", job="render", run=1, group="main", index=3, exit_code=1,
    reason="exit code 1", at=AT,
)  # fmt: skip


class FakeTemplates:
    def __init__(self, gateway: FakeGateway) -> None:
        self._gateway = gateway

    async def page(self, namespace: str | None, limit: int, after: str | None) -> TemplatePage:
        self._gateway.record_call((namespace, limit, after))
        return TemplatePage([TEMPLATE], None, 1)

    async def get(self, namespace: str, name: str) -> TemplateView:  # noqa: ARG002
        self._gateway.record_call()
        if name != TEMPLATE.name:
            raise NotFound(f"template '{name}' does not exist")
        return TEMPLATE

    async def pause(self, namespace: str, name: str, is_paused: bool) -> TemplateView:
        self._gateway.record_call(is_paused)
        return await self.get(namespace, name)

    async def delete(self, namespace: str, name: str) -> None:
        await self.get(namespace, name)

    async def dispatch(self, request: DispatchRequest) -> JobView:
        self._gateway.record_call(request)
        await self.get(request.namespace, request.name)
        spec = self._gateway.manifests.read(
            {"apiVersion": "shunter.dev/v1", "kind": "Job", "spec": {"command": ["x"]}}, name_default="nightly"
        )
        return self._gateway.job_table.find(
            JobReference("default", id=self._gateway.job_table.submit(spec, self._gateway.caller).id)
        ).view


class FakeTenants:
    def __init__(self, gateway: FakeGateway) -> None:
        self._gateway = gateway

    async def page(self, limit: int, after: str | None) -> TenantPage:
        self._gateway.record_call((limit, after))
        return TenantPage([RED], None, 1)

    async def get(self, name: str) -> TenantView:
        self._gateway.record_call(name)
        return self._find(name)

    async def create(self, name: str, change: TenantChange) -> TenantView:
        self._gateway.record_call((name, change))
        return RED

    async def update(self, name: str, change: TenantChange) -> TenantView:
        self._gateway.record_call((name, change))
        return self._find(name)

    async def delete(self, name: str) -> None:
        self._gateway.record_call(name)
        self._find(name)

    def _find(self, name: str) -> TenantView:
        if name != RED.name:
            raise NotFound(f"tenant '{name}' does not exist")
        return RED


class FakeJoinTokens:
    def __init__(self, gateway: FakeGateway) -> None:
        self._gateway = gateway

    async def page(self, limit: int, after: str | None) -> JoinTokenPage:
        self._gateway.record_call((limit, after))
        return JoinTokenPage([JOIN_TOKEN], None, 1)

    async def create(self, node: str, lifetime_s: float) -> NewJoinTokenView:
        self._gateway.record_call((node, lifetime_s))
        return NewJoinTokenView(token="shj_secret", **msgspec.structs.asdict(JOIN_TOKEN))

    async def revoke(self, id: str) -> None:
        self._gateway.record_call(id)
        if id != JOIN_TOKEN.id:
            raise NotFound(f"join token '{id}' does not exist")

    async def enrol(self, id: str, secret: str, request: bytes) -> EnrolmentView:
        self._gateway.record_call((id, secret, request))
        if id != JOIN_TOKEN.id:
            raise Unauthorized("the join token is wrong")
        return EnrolmentView(node=JOIN_TOKEN.node, certificate="certificate", authorities="authorities")


class FakeIdentity:
    def __init__(self, gateway: FakeGateway) -> None:
        self._gateway = gateway

    async def me(self) -> MeView:
        self._gateway.record_call()
        caller = self._gateway.caller
        return MeView(user=caller.user, roles=[str(role) for role in caller.roles])

    def default_namespace(self) -> str:
        return "default"

    def sees_namespace(self, _namespace: str) -> bool:
        return True

    async def users(self, limit: int, after: str | None) -> UserPage:
        self._gateway.record_call((limit, after))
        return UserPage([ANNA], None, 1)

    async def put_user(
        self, name: str, roles: tuple[Role, ...] | None, is_disabled: bool | None, tenant: str | None = None
    ) -> UserView:
        self._gateway.record_call((name, roles, is_disabled) if tenant is None else (name, roles, is_disabled, tenant))
        return ANNA

    async def keys(self, limit: int, after: str | None) -> KeyPage:
        self._gateway.record_call((limit, after))
        return KeyPage([KEY], None, 1)

    async def create_key(self, new: NewKey) -> NewKeyView:
        self._gateway.record_call(new)
        return NewKeyView(key="shk_b7k2mq9xwe_secret", **msgspec.structs.asdict(KEY))

    async def rotate_key(self, id: str, overlap_s: float) -> NewKeyView:
        self._gateway.record_call((id, overlap_s))
        self._check(id)
        return NewKeyView(key="shk_b7k2mq9xwe_another", **msgspec.structs.asdict(KEY))

    async def revoke_key(self, id: str) -> None:
        self._gateway.record_call(id)
        self._check(id)

    def _check(self, id: str) -> None:
        if id != KEY.id:
            raise NotFound(f"key '{id}' does not exist")


class FakeSignIn:
    """The one code is `once`."""

    def __init__(self, gateway: FakeGateway) -> None:
        self._gateway = gateway
        self._codes = {"once"}

    async def create_code(self) -> SessionCodeView:
        self._gateway.record_call()
        return SessionCodeView(code="once", expires_at=AT)

    async def open(self) -> OpenedSession:
        self._gateway.record_call()
        text = f"shs_{len(self._gateway.sessions)}.x"
        self._gateway.sessions.add(text)
        return OpenedSession(text, "shunter-session-1", 60, SessionView(user="tester", expires_at=AT))

    async def redeem(self, code: str) -> OpenedSession:
        if code not in self._codes:
            raise Unauthorized("no such code")
        self._codes.discard(code)
        return await self.open()

    async def end(self, session: str) -> None:
        self._gateway.record_call()
        self._gateway.sessions.discard(session)

    def options(self) -> SignInOptionsView:
        return SignInOptionsView()

    async def begin_oidc(self, redirect_uri: str) -> tuple[str, str]:
        self._gateway.record_call()
        return f"https://sso.example/authorize?redirect_uri={redirect_uri}", "state-1"

    async def finish_oidc(self, code: str, state: str, kept_state: str, redirect_uri: str) -> OpenedSession:
        if (code, state, kept_state) != ("code-1", "state-1", "state-1"):
            raise Unauthorized(f"not this sign-in: {redirect_uri}")
        return await self.open()


class FakeSecrets:
    def __init__(self, gateway: FakeGateway) -> None:
        self._gateway = gateway

    async def list(self, namespace: str, limit: int, after: str | None) -> SecretPage:
        self._gateway.record_call((namespace, limit, after))
        return SecretPage([SECRET], None, 1)

    async def set(self, namespace: str, name: str, value: bytes) -> SecretView:
        self._gateway.record_call((namespace, name, value))
        return SECRET

    async def delete(self, namespace: str, name: str) -> None:
        self._gateway.record_call((namespace, name))
        if name != SECRET.name:
            raise NotFound(f"secret '{name}' does not exist in namespace '{namespace}'")

    async def rotate_key(self) -> KeyRotation:
        self._gateway.record_call()
        return KeyRotation("abcdef012345", 1, True)


class FakeQueues:
    def __init__(self, gateway: FakeGateway) -> None:
        self._gateway = gateway

    async def page(self) -> QueuePage:
        self._gateway.record_call()
        return QueuePage([QUEUE], None, 1)

    async def get(self, name: str) -> QueueView:
        self._gateway.record_call()
        if name != QUEUE.name:
            raise NotFound(f"queue '{name}' does not exist")
        return QUEUE

    async def patch(self, name: str, change: QueueChange) -> QueueView:
        self._gateway.record_call((name, change))
        return QUEUE

    async def delete(self, name: str) -> None:
        await self.get(name)

    async def purge(self, name: str) -> int:
        self._gateway.record_call(name)
        return 3


class FakeDeadLetters:
    def __init__(self, gateway: FakeGateway) -> None:
        self._gateway = gateway

    async def page(self, namespace: str | None, job: str | None, limit: int, after: str | None) -> DeadPage:
        self._gateway.record_call((namespace, job, limit, after))
        return DeadPage([DEAD], None, 1)

    async def replay(self, selector: DeadLetterSelector) -> Replayed:
        self._gateway.record_call(selector)
        return Replayed([], 1)

    async def purge(self, selector: DeadLetterSelector) -> int:
        self._gateway.record_call(selector)
        return len(selector.numbers)


class FakeNodes:
    """Notes what was asked. There is one node, `here`."""

    def __init__(self, gateway: FakeGateway) -> None:
        self._gateway = gateway

    async def page(self, limit: int, after: str | None) -> NodePage:
        self._gateway.record_call((limit, after))
        return NodePage([self._view("here")], None, 1)

    async def get(self, name: str) -> NodeView:
        self._gateway.record_call()
        return self._view(name)

    async def stats(self, name: str) -> NodeStatsView:
        self._gateway.record_call()
        return NodeStatsView(name=self._view(name).name, at=AT, machine={"cpu_busy": 0.5}, tasks=[])

    async def set_labels(self, name: str, labels: Mapping[str, str | None]) -> NodeView:
        self._gateway.record_call()
        self._view(name)
        check_labels(dict(labels), "labels")
        changed = {**self._gateway.labels, **labels}
        self._gateway.labels = {key: value for key, value in changed.items() if value is not None}
        return self._view(name)

    async def drain(self, name: str, deadline_s: float | None) -> NodeView:
        return self._record("drain", name, deadline_s)

    async def undrain(self, name: str) -> NodeView:
        return self._record("undrain", name)

    async def cordon(self, name: str, reason: str) -> NodeView:
        return self._record("cordon", name, reason)

    async def uncordon(self, name: str) -> NodeView:
        return self._record("uncordon", name)

    async def forget(self, name: str) -> NodeView:
        return self._record("forget", name)

    async def release(self, name: str) -> NodeView:
        return self._record("release", name)

    async def set_attributes(self, name: str, attributes: Mapping[str, str | None]) -> NodeView:
        check_labels(dict(attributes), "attributes")
        return self._record("attribute", name, dict(attributes))

    def _record(self, *received: object) -> NodeView:
        self._gateway.record_call(received)
        return self._view(str(received[1]))

    def _view(self, name: str) -> NodeView:
        if name != "here":
            raise NotFound(f"node '{name}' does not exist")
        return NodeView(
            name=name, id=1, state="ready", eligible=True, reason=None, datacenter="dc1", labels=self._gateway.labels,
            attributes={}, capacity={"cpu": "2"}, reserved={"cpu": "0"}, tasks=0,
        )  # fmt: skip


class FakePolicies:
    def __init__(self, gateway: FakeGateway) -> None:
        self._gateway = gateway

    async def page(self) -> PolicyPage:
        self._gateway.record_call()
        known = ("e-pvm", "bin-pack")
        items = [
            PolicyView(name=name, kind="score", source="built in", active=name == self._gateway.policy)
            for name in known
        ]
        return PolicyPage(items, None, len(items))

    async def use(self, name: str) -> PolicyPage:
        if name not in ("e-pvm", "bin-pack"):
            raise Invalid([Problem("policy", "unknown policy", name)])
        self._gateway.policy = name
        return await self.page()


class FakeEvents:
    def __init__(self, gateway: FakeGateway) -> None:
        self._gateway = gateway

    async def page(self, query: EventQuery) -> EventPage:
        self._gateway.record_call(query)
        found = [
            event for event in self._gateway.past_events if query.after is None or _is_behind(event.id, query.after)
        ]
        return EventPage(found[: query.limit], None, len(found))

    async def subscribe(self, query: EventQuery) -> AsyncGenerator[bytes, None]:
        self._gateway.record_call(query)

        async def events() -> AsyncGenerator[bytes, None]:
            for past in self._gateway.past_events if query.after is not None else ():
                if _is_behind(past.id, query.after or EventPosition(0)):
                    yield encode_event(past)
            while not (self._gateway.is_eager and self._gateway.pending_events.empty()):
                yield encode_event(await self._gateway.pending_events.get())

        return self._gateway.tracked(events)


class FakeCluster:
    def __init__(self, gateway: FakeGateway) -> None:
        self._gateway = gateway

    async def info(self) -> ClusterInfo:
        self._gateway.record_call()
        return ClusterInfo(
            name="test", version="0", state_version=9, epoch=1, policy="greedy", heartbeat_s=self._gateway.heartbeat_s,
            started_at=AT, simulated=False,
            nodes={"ready": 1}, jobs={}, tasks={}, capacity={"cpu": "2"}, reserved={"cpu": "0"},
        )  # fmt: skip

    async def update(self, settings: Mapping[str, Any]) -> ClusterInfo:
        self._gateway.record_call(dict(settings))
        if "heartbeat" in settings:
            self._gateway.heartbeat_s = 1.0 if settings["heartbeat"] is None else settings["heartbeat"]
        return await self.info()

    def check_health(self) -> None:
        if self._gateway.commit_problem:
            raise Unavailable(self._gateway.commit_problem)

    async def stop(self, leave_running: bool, is_whole_cluster: bool = False) -> list[str]:
        self._gateway.record_call()
        self._gateway.shutdowns.append((leave_running, is_whole_cluster))
        return ["worker w1: it is not connected"] if is_whole_cluster else []


class FakeFlight:
    """A recording is any bytes here."""

    def __init__(self, gateway: FakeGateway) -> None:
        self._gateway = gateway
        self.chunks = [b"shunter-flight-1\n", b"records"]

    async def segments(self) -> FlightPage:
        self._gateway.record_call("flight")
        found = FlightSegment("00000001", "2026-10-12T08:00:00Z", "2026-10-12T09:00:00Z", 7, 1234)
        return FlightPage([found], None, 1)

    async def records(self) -> AsyncGenerator[bytes, None]:
        self._gateway.record_call("flight_records")

        async def chunks() -> AsyncGenerator[bytes, None]:
            for piece in self.chunks:
                yield piece

        return chunks()


class FakeSchedulers:
    """Over REST, the token of a session is its name."""

    async def open(self, name: str, wants: Collection[str], mode: str) -> SchedulerSession:
        raise AssertionError((name, wants, mode))

    async def decide(self, token: str, row: DecisionRow) -> DecisionAnswer:
        raise AssertionError((token, row))

    async def renew(self, token: str) -> float:
        raise AssertionError(token)

    async def open_rest(self, name: str, mode: str) -> SchedulerSessionView:
        check_scheduler_name(name, "name")
        if mode not in ("lead", "shadow"):
            raise Invalid([Problem("mode", "is unknown", mode)])
        return SchedulerSessionView(name, mode, name, 5.0)

    async def renew_rest(self, name: str, token: str) -> SchedulerSessionView:
        check_scheduler_name(name, "path.scheduler")
        self.saw(token, is_read=False)
        return SchedulerSessionView(name, "lead", token, 5.0)

    async def close_rest(self, name: str, token: str) -> None:
        check_scheduler_name(name, "path.scheduler")
        self.saw(token, is_read=False)

    def saw(self, token: str, *, is_read: bool) -> None:
        if not token.isalpha():
            raise Conflict(f"this token is no longer valid ({is_read=})")


class FakeMetrics:
    """Notes what is asked, and knows of one node."""

    def __init__(self, gateway: FakeGateway) -> None:
        self._gateway = gateway
        self.received: list[tuple[object, ...]] = []

    async def batch_job_metrics(self, name: ObjectName, run: int | None, step_ms: int | None) -> MetricsView:
        await self._gateway.objects.object("BatchJob", name)
        return self._answer(name.name, run, step_ms)

    async def node_metrics(self, name: str, window: Window) -> MetricsView:
        await self._gateway.nodes.get(name)
        return self._answer(name, window)

    async def task_metrics(self, job: JobReference, task: TaskReference, window: Window) -> MetricsView:
        return self._answer((await self._gateway.tasks.get(job, task)).name, window)

    def _answer(self, name: str, *received: object) -> MetricsView:
        self.received.append((name, *received))
        cpu = {"cpu_cores": MetricView(mean=0.5, max=1.0, values=[0.0, None, 1.0])}
        return MetricsView(
            name=name,
            start="2026-01-01T00:00:00.000Z",
            stop="2026-01-01T00:00:03.000Z",
            step_s=1.0,
            nodes=[MeasuredView(name="node-1", node="node-1", metrics=cpu)],
            tasks=[MeasuredView(name="bj.sum/0", node="node-1", slot=3, metrics=cpu)],
        )


def event(id: str) -> EventView:
    return EventView(id=id, at=AT, type="job.submitted", name=f"event {id}", namespace="default", job="render")


def _is_behind(id: str, position: EventPosition) -> bool:
    version, number = map(int, id.split("-"))
    if position.number is None:
        return version > position.version
    return (version, number) > (position.version, position.number)


class FakeManagers:
    """One manager that leads, unless a test lets it follow."""

    def __init__(self, gateway: FakeGateway) -> None:
        self._gateway = gateway
        self.is_following = False
        self.version = 9
        self.leader = ""  # its URL

    async def page(self) -> ManagerPage:
        return ManagerPage([await self.this_manager()], None, 1)

    async def this_manager(self) -> ManagerView:
        self._gateway.record_call()
        return ManagerView(name="m1", role="leader", url="http://127.0.0.1:1", version="0", state_version=9, lag_s=0.0)

    async def step_down(self) -> None:
        self._gateway.record_call()

    async def wait_for_version(self, version: int) -> None:
        if version > self.version:
            raise NotLeader(f"not yet at version {version}")

    def leader_url(self) -> str:
        if not self.leader:
            raise NotLeader("no manager leads")
        return self.leader

    async def wait_leader_changed(self, url: str) -> None:
        while self.leader == url:
            await asyncio.sleep(0.005)


class FakeTelemetry:
    def __init__(self, gateway: FakeGateway) -> None:
        self._gateway = gateway

    def metrics(self) -> bytes:
        self._gateway.record_call()
        return b"# EOF\n"

    async def debug(self, profile_s: float) -> DebugView:
        self._gateway.record_call(profile_s)
        return DebugView(name="m1", version="0", python="3", metrics="# EOF\n", rounds=[], stalls=[], profile="")
