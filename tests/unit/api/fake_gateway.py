"""A gateway without an engine, for tests of the API alone: jobs are entries in a dict, and end when a test says so.

The sub-gateways are in `fake_jobs` and `fake_admin`. Their common state is here, where tests inspect and change it."""

from __future__ import annotations

import asyncio
import hmac
from collections.abc import AsyncGenerator, Callable
from dataclasses import fields
from typing import TypeVar

from shunter.model.errors import ShunterError
from shunter.model.identity.roles import Role, check_permission
from shunter.model.identity.scopes import check_scope
from shunter.model.job.manifests import JobReader
from shunter.model.rest.cluster_views import EventView
from shunter.ports.gateway import CallerGateway
from shunter.ports.jobs import LogChunk
from shunter.ports.principals import JobReference, Principal
from tests.contracts.memory_objects import MemoryObjectService
from tests.unit.api.fake_admin import (
    FakeCluster,
    FakeDeadLetters,
    FakeEvents,
    FakeFlight,
    FakeIdentity,
    FakeJoinTokens,
    FakeManagers,
    FakeMetrics,
    FakeNodes,
    FakePolicies,
    FakeQueues,
    FakeSchedulers,
    FakeSecrets,
    FakeSignIn,
    FakeTelemetry,
    FakeTemplates,
    FakeTenants,
    event,
)
from tests.unit.api.fake_audit import FakeAudit
from tests.unit.api.fake_jobs import FakeExplain, FakeJobs, FakeServices, FakeStreams, FakeTasks
from tests.unit.api.fake_monitor import FakeMonitor
from tests.unit.api.job_table import JobTable

TOKEN = "correct-horse"
USER = "tester"
Item = TypeVar("Item")


class FakeGateway:
    """Serves one caller at a time, and remembers the last one."""

    def __init__(self) -> None:
        self.caller = Principal("nobody", frozenset())
        self.roles: frozenset[Role] = frozenset((Role.ADMIN,))  # of the token
        self.key = ""  # whose token it is
        self.sessions: set[str] = set()  # that are open
        self.renewed: dict[str, str] = {}
        self.preparations: dict[str, ShunterError] = {}  # what fails while the issuer or a plugin is asked
        self.refusals: dict[str, str] = {}
        self.manifests = JobReader(_check_constraint)
        self.job_table = JobTable()
        self.received: list[object] = []  # the queries, as they arrived
        self.labels: dict[str, str] = {"disk": "ssd"}
        self.log = b"hello\n"
        self.log_is_truncated = False
        self.chunks: asyncio.Queue[LogChunk | None] = asyncio.Queue()
        self.pending_events: asyncio.Queue[EventView] = asyncio.Queue()
        self.past_events = [event("7-0"), event("7-1"), event("9-0")]
        self.stopped: list[tuple[JobReference, int | None, bool]] = []
        self.signals: list[int] = []
        self.shutdowns: list[tuple[bool, bool]] = []
        self.commit_problem = ""
        self.heartbeat_s = 1.0
        self.policy = "e-pvm"
        self.failure: ShunterError | Exception | None = None  # raised by every call
        self.is_eager = False  # jobs end as soon as they are followed, streams when there is nothing more
        self.streams_open = 0
        self.stream_closed = asyncio.Event()
        self.jobs = FakeJobs(self)
        self.services = FakeServices(self)
        self.tasks = FakeTasks(self)
        self.streams = FakeStreams(self)
        self.explain = FakeExplain(self)
        self.templates = FakeTemplates(self)
        self.queues = FakeQueues(self)
        self.dead_letters = FakeDeadLetters(self)
        self.nodes = FakeNodes(self)
        self.policies = FakePolicies(self)
        self.events = FakeEvents(self)
        self.cluster = FakeCluster(self)
        self.objects = MemoryObjectService(USER)
        self.schedulers = FakeSchedulers()
        self.flight = FakeFlight(self)
        self.metrics = FakeMetrics(self)
        self.managers = FakeManagers(self)
        self.identity = FakeIdentity(self)
        self.sign_in = FakeSignIn(self)
        self.telemetry = FakeTelemetry(self)
        self.secrets = FakeSecrets(self)
        self.monitor = FakeMonitor(self)
        self.tenants = FakeTenants(self)
        self.audit = FakeAudit(self)
        self.join_tokens = FakeJoinTokens(self)
        self.replication = self.managers
        self.has_revoked = False  # every token
        self.tenant = ""  # of whoever has the token

    def authenticate(self, token: str) -> Principal | None:
        if self.has_revoked:
            return None
        if token in self.sessions:
            return Principal(USER, self.roles, self.key, self.tenant)
        return (
            Principal(USER, self.roles, self.key, self.tenant)
            if hmac.compare_digest(token.encode(), TOKEN.encode())
            else None
        )

    def sign_source(self, address: str) -> str:
        return f"signed-{address}"

    async def prepare(self, token: str) -> None:
        if token in self.preparations:
            raise self.preparations[token]

    def explain_refusal(self, token: str) -> str:
        return self.refusals.get(token, "")

    def request_quota(self, _caller: Principal) -> int | None:
        return None

    def renew_session(self, text: str) -> str | None:
        return self.renewed.get(text)

    def for_caller(self, caller: Principal, operation: str) -> CallerGateway:
        check_permission(caller.roles, operation)
        check_scope(caller.is_cluster_wide, operation)
        self.caller = caller
        return CallerGateway(**{field.name: getattr(self, field.name) for field in fields(CallerGateway)})

    def record_call(self, received: object = None) -> None:
        if received is not None:
            self.received.append(received)
        if self.failure is not None:
            raise self.failure

    async def tracked(self, make: Callable[[], AsyncGenerator[Item, None]]) -> AsyncGenerator[Item, None]:
        """A stream whose end a test can wait for."""
        self.streams_open += 1
        try:
            async for item in make():
                yield item
        finally:
            self.streams_open -= 1
            self.stream_closed.set()


def _check_constraint(text: str) -> None:
    if "==" not in text:
        raise ValueError("must compare something")
