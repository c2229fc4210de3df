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
from shunter.ports.callers import Caller
from shunter.ports.identity import IdentityService
from shunter.ports.jobs import ExplainService, JobService, ServiceJobService, StreamService, TaskService
from shunter.ports.managers import ManagerService, Replication
from shunter.ports.metrics import MetricService
from shunter.ports.objects import ObjectService
from shunter.ports.schedulers import FlightService, SchedulerService


class Gateway(Protocol):
    @property
    def replication(self) -> Replication: ...

    def authenticate(self, token: str) -> Caller | None:
        """None for an unknown token. Compares in constant time."""
        ...

    def for_caller(self, caller: Caller, operation: str) -> CallerGateway:
        """The gateway on behalf of this caller, for an operation of `model.identity.roles`. Every request passes here
        exactly once, before its operation runs. Raises Forbidden."""
        ...


@dataclass(frozen=True, slots=True)
class CallerGateway:
    """The gateway on behalf of one caller: a sub-gateway for each subject."""

    caller: Caller
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
