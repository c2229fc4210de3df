"""The gateway: everything that a transport (REST, STOMP, gRPC) may ask of the cluster.

A transport authenticates a request, binds the gateway to its caller once, and calls the sub-gateways of the subject:

    gateway.for_caller(caller, "drainNode").nodes.drain("n1", None)

Calls raise only the errors of `model.errors`. They return only committed state.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from shunter.ports.admin import (
    ClusterService,
    DeadLetterService,
    EventService,
    NodeService,
    PolicyService,
    QueueService,
    TemplateService,
)
from shunter.ports.identity import (
    AuditService,
    IdentityService,
    JoinTokenService,
    SecretService,
    SignInService,
    TenantService,
)
from shunter.ports.jobs import ExplainService, JobService, ServiceJobService, StreamService, TaskService
from shunter.ports.managers import ManagerService, Replication
from shunter.ports.metrics import MetricService
from shunter.ports.monitor import MonitorService
from shunter.ports.objects import ObjectService
from shunter.ports.principals import Principal
from shunter.ports.schedulers import FlightService, SchedulerService
from shunter.ports.telemetry import TelemetryService


class Gateway(Protocol):
    @property
    def replication(self) -> Replication: ...

    def authenticate(self, token: str) -> Principal | None:
        """None for an unknown token, key or session. Compares in constant time."""
        ...

    def sign_source(self, address: str) -> str:
        """The proof of one manager to another that a request came from this address."""
        ...

    async def prepare(self, token: str) -> None:
        """Before `authenticate`, where there is time: ask the issuer or plugins about a credential that is none of the
        cluster's own. Raises Unavailable, Busy."""
        ...

    def explain_refusal(self, token: str) -> str:
        """Why an external user's credential is refused; empty where the sender must not learn more."""
        ...

    def request_quota(self, caller: Principal) -> int | None:
        """How many requests per second the caller's tenant may send; None for any number."""
        ...

    def renew_session(self, text: str) -> str | None:
        """The text of a browser's session from now on; None if it may stay as it is."""
        ...

    def for_caller(self, caller: Principal, operation: str) -> CallerGateway:
        """The gateway on behalf of this caller, for an operation of `model.identity.roles`. Every request passes here
        exactly once, before its operation runs. Raises Forbidden."""
        ...


@dataclass(frozen=True, slots=True)
class CallerGateway:
    """The gateway on behalf of one caller: a sub-gateway for each subject."""

    caller: Principal
    jobs: JobService
    services: ServiceJobService
    tasks: TaskService
    streams: StreamService
    explain: ExplainService
    templates: TemplateService
    queues: QueueService
    dead_letters: DeadLetterService
    nodes: NodeService
    policies: PolicyService
    events: EventService
    cluster: ClusterService
    objects: ObjectService
    metrics: MetricService
    schedulers: SchedulerService
    flight: FlightService
    managers: ManagerService
    identity: IdentityService
    sign_in: SignInService
    telemetry: TelemetryService
    secrets: SecretService
    monitor: MonitorService
    tenants: TenantService
    audit: AuditService
    join_tokens: JoinTokenService
