"""The gateway: everything that a transport (REST, STOMP, gRPC) may ask of the cluster.

A transport authenticates a request, binds the gateway to its caller once, and calls the sub-gateways of the subject:

    gateway.for_caller(caller).nodes.drain("n1", None)

Calls raise only the errors of `model.errors`. They return only committed state.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from shunter.model.rest.views import SubmittedJob
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
from shunter.ports.jobs import ExplainService, JobService, ServiceJobService, StreamService, TaskService
from shunter.ports.metrics import MetricService
from shunter.ports.objects import Applied, ObjectService
from shunter.ports.schedulers import FlightService, SchedulerService


class Gateway(Protocol):
    def authenticate(self, token: str) -> Caller | None:
        """None for an unknown token. Compares in constant time."""
        ...

    def for_caller(self, caller: Caller) -> CallerGateway:
        """The gateway on behalf of this caller. Every request passes here exactly once, before its operation runs."""
        ...


class CallerGateway(Protocol):
    """The gateway on behalf of one caller: a sub-gateway for each subject."""

    @property
    def jobs(self) -> JobService: ...

    @property
    def services(self) -> ServiceJobService: ...

    @property
    def tasks(self) -> TaskService: ...

    @property
    def streams(self) -> StreamService: ...

    @property
    def explain(self) -> ExplainService: ...

    @property
    def templates(self) -> TemplateService: ...

    @property
    def queues(self) -> QueueService: ...

    @property
    def dead_letters(self) -> DeadLetterService: ...

    @property
    def nodes(self) -> NodeService: ...

    @property
    def policies(self) -> PolicyService: ...

    @property
    def events(self) -> EventService: ...

    @property
    def cluster(self) -> ClusterService: ...

    @property
    def objects(self) -> ObjectService: ...

    @property
    def metrics(self) -> MetricService: ...

    @property
    def schedulers(self) -> SchedulerService: ...

    @property
    def flight(self) -> FlightService: ...

    async def apply(
        self, documents: Sequence[object], *, namespace: str, key: str | None
    ) -> list[SubmittedJob | Applied]:
        """Apply the manifests of one file, of any kind: all or none, in one commit. The answers are in the order of the
        file. Jobs are submitted as by `jobs.submit`, objects applied as by `objects.apply`. Raises Invalid, Conflict,
        Busy."""
        ...
