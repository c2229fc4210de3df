"""The services of the fake gateway: for long-running jobs, nodes, schedulers. They note what was asked and change
nothing."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Collection, Mapping
from typing import TYPE_CHECKING

from shunter.model.job.manifests import check_labels
from shunter.model.objects.object_meta import ObjectName
from shunter.model.protocol.flight_records import FlightPage, FlightSegment
from shunter.model.protocol.scheduler_messages import DecisionAnswer, DecisionRow
from shunter.model.rest.metric_views import MeasuredView, MetricsView, MetricView
from shunter.model.rest.views import JobView, NodeView
from shunter.ports.gateway import Caller, JobReference, TaskReference
from shunter.ports.metrics import Window
from shunter.ports.schedulers import SchedulerSession

if TYPE_CHECKING:
    from tests.unit.api.fake_gateway import FakeGateway


class FakeServices:
    """The service for long-running jobs: notes what was asked, and changes nothing."""

    def __init__(self, gateway: FakeGateway) -> None:
        self._gateway = gateway

    async def update(
        self, caller: Caller, job: JobReference, document: object, *, namespace: str, node: str | None
    ) -> JobView:
        self._gateway.manifests.read_all([document], default_namespace=namespace, make_name=str)
        return self._record("update", job, caller, node)

    async def scale(self, caller: Caller, job: JobReference, counts: Mapping[str, int]) -> JobView:
        return self._record("scale", job, caller, dict(counts))

    async def roll_back(self, caller: Caller, job: JobReference) -> JobView:
        return self._record("rollback", job, caller)

    async def restart(self, caller: Caller, job: JobReference, task: TaskReference | None) -> JobView:
        return self._record("restart", job, caller, task)

    async def move(self, caller: Caller, job: JobReference, task: TaskReference, node: str) -> JobView:
        return self._record("move", job, caller, task, node)

    def _record(self, *received: object) -> JobView:
        self._gateway.record_call(received)
        job = received[1]
        assert isinstance(job, JobReference)
        return self._gateway.fake_jobs.find(job).view


class FakeNodeAdmin:
    """The service for nodes, alike."""

    def __init__(self, gateway: FakeGateway) -> None:
        self._gateway = gateway

    async def drain(self, caller: Caller, name: str, deadline_s: float | None) -> NodeView:
        return self._record("drain", name, caller, deadline_s)

    async def undrain(self, caller: Caller, name: str) -> NodeView:
        return self._record("undrain", name, caller)

    async def cordon(self, caller: Caller, name: str, reason: str) -> NodeView:
        return self._record("cordon", name, caller, reason)

    async def uncordon(self, caller: Caller, name: str) -> NodeView:
        return self._record("uncordon", name, caller)

    async def release(self, caller: Caller, name: str) -> NodeView:
        return self._record("release", name, caller)

    async def set_attributes(self, caller: Caller, name: str, attributes: Mapping[str, str | None]) -> NodeView:
        check_labels(dict(attributes), "attributes")
        return self._record("attribute", name, caller, dict(attributes))

    def _record(self, *received: object) -> NodeView:
        self._gateway.record_call(received)
        return self._gateway.node_view(str(received[1]))


class FakeFlight:
    """The service for recorded decisions; a recording is any bytes here."""

    def __init__(self, gateway: FakeGateway) -> None:
        self._gateway = gateway
        self.chunks = [b"shunter-flight-1\n", b"records"]

    async def segments(self, caller: Caller) -> FlightPage:
        self._gateway.record_call(("flight", caller))
        found = FlightSegment("00000001", "2026-10-12T08:00:00Z", "2026-10-12T09:00:00Z", 7, 1234)
        return FlightPage([found], None, 1)

    async def records(self, caller: Caller) -> AsyncGenerator[bytes, None]:
        self._gateway.record_call(("flight_records", caller))

        async def chunks() -> AsyncGenerator[bytes, None]:
            for piece in self.chunks:
                yield piece

        return chunks()


class FakeSchedulers:
    """The service for external schedulers: no transport of these tests asks it."""

    async def open(self, caller: Caller, name: str, wants: Collection[str], mode: str) -> SchedulerSession:
        raise AssertionError((caller, name, wants, mode))

    async def decide(self, caller: Caller, token: str, row: DecisionRow) -> DecisionAnswer:
        raise AssertionError((caller, token, row))

    async def renew(self, caller: Caller, token: str) -> float:
        raise AssertionError((caller, token))


class FakeMetrics:
    """The service for metrics: notes what is asked, and knows of one node."""

    def __init__(self, gateway: FakeGateway) -> None:
        self._gateway = gateway
        self.received: list[tuple[object, ...]] = []

    async def batch_job_metrics(
        self, caller: Caller, name: ObjectName, run: int | None, step_ms: int | None
    ) -> MetricsView:
        await self._gateway.objects.object(caller, "BatchJob", name)
        return self._answer(name.name, run, step_ms)

    async def node_metrics(self, caller: Caller, name: str, window: Window) -> MetricsView:
        await self._gateway.node(caller, name)
        return self._answer(name, window)

    async def task_metrics(self, caller: Caller, job: JobReference, task: TaskReference, window: Window) -> MetricsView:
        return self._answer((await self._gateway.task(caller, job, task)).name, window)

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
