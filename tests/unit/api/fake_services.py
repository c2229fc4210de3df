"""The desks of the fake gateway: for jobs that last, nodes, schedulers. They note what was asked and change nothing."""

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
    """The desk for jobs that last: notes what was asked, and changes nothing."""

    def __init__(self, gateway: FakeGateway) -> None:
        self._gateway = gateway

    async def update(
        self, caller: Caller, job: JobReference, document: object, *, namespace: str, node: str | None
    ) -> JobView:
        self._gateway.manifests.read_all([document], default_namespace=namespace, make_name=str)
        return self._note("update", job, caller, node)

    async def scale(self, caller: Caller, job: JobReference, counts: Mapping[str, int]) -> JobView:
        return self._note("scale", job, caller, dict(counts))

    async def roll_back(self, caller: Caller, job: JobReference) -> JobView:
        return self._note("rollback", job, caller)

    async def restart(self, caller: Caller, job: JobReference, task: TaskReference | None) -> JobView:
        return self._note("restart", job, caller, task)

    async def move(self, caller: Caller, job: JobReference, task: TaskReference, node: str) -> JobView:
        return self._note("move", job, caller, task, node)

    def _note(self, *asked: object) -> JobView:
        self._gateway.enter(asked)
        job = asked[1]
        assert isinstance(job, JobReference)
        return self._gateway.kept_jobs.find(job).view


class FakeUpkeep:
    """The desk for nodes, alike."""

    def __init__(self, gateway: FakeGateway) -> None:
        self._gateway = gateway

    async def drain(self, caller: Caller, name: str, deadline_s: float | None) -> NodeView:
        return self._note("drain", name, caller, deadline_s)

    async def undrain(self, caller: Caller, name: str) -> NodeView:
        return self._note("undrain", name, caller)

    async def cordon(self, caller: Caller, name: str, reason: str) -> NodeView:
        return self._note("cordon", name, caller, reason)

    async def uncordon(self, caller: Caller, name: str) -> NodeView:
        return self._note("uncordon", name, caller)

    async def release(self, caller: Caller, name: str) -> NodeView:
        return self._note("release", name, caller)

    async def attribute(self, caller: Caller, name: str, attributes: Mapping[str, str | None]) -> NodeView:
        check_labels(dict(attributes), "attributes")
        return self._note("attribute", name, caller, dict(attributes))

    def _note(self, *asked: object) -> NodeView:
        self._gateway.enter(asked)
        return self._gateway.node_view(str(asked[1]))


class FakeFlight:
    """The desk for recorded decisions; a recording is any bytes here."""

    def __init__(self, gateway: FakeGateway) -> None:
        self._gateway = gateway
        self.pieces = [b"shunter-flight-1\n", b"records"]

    async def segments(self, caller: Caller) -> FlightPage:
        self._gateway.enter(("flight", caller))
        found = FlightSegment("00000001", "2026-10-12T08:00:00Z", "2026-10-12T09:00:00Z", 7, 1234)
        return FlightPage([found], None, 1)

    async def records(self, caller: Caller) -> AsyncGenerator[bytes, None]:
        self._gateway.enter(("flight_records", caller))

        async def pieces() -> AsyncGenerator[bytes, None]:
            for piece in self.pieces:
                yield piece

        return pieces()


class FakeSchedulers:
    """The desk for external schedulers: no transport of these tests asks it."""

    async def open(self, caller: Caller, name: str, wants: Collection[str], mode: str) -> SchedulerSession:
        raise AssertionError((caller, name, wants, mode))

    async def decide(self, caller: Caller, token: str, row: DecisionRow) -> DecisionAnswer:
        raise AssertionError((caller, token, row))

    async def renew(self, caller: Caller, token: str) -> float:
        raise AssertionError((caller, token))


class FakeMetrics:
    """The desk for metrics: notes what is asked, and knows of one node."""

    def __init__(self, gateway: FakeGateway) -> None:
        self._gateway = gateway
        self.asked: list[tuple[object, ...]] = []

    async def of_batch_job(self, caller: Caller, name: ObjectName, run: int | None, step_ms: int | None) -> MetricsView:
        await self._gateway.objects.object(caller, "BatchJob", name)
        return self._answer(name.name, run, step_ms)

    async def of_node(self, caller: Caller, name: str, window: Window) -> MetricsView:
        await self._gateway.node(caller, name)
        return self._answer(name, window)

    async def of_task(self, caller: Caller, job: JobReference, task: TaskReference, window: Window) -> MetricsView:
        return self._answer((await self._gateway.task(caller, job, task)).name, window)

    def _answer(self, name: str, *asked: object) -> MetricsView:
        self.asked.append((name, *asked))
        cpu = {"cpu_cores": MetricView(mean=0.5, max=1.0, values=[0.0, None, 1.0])}
        return MetricsView(
            name=name,
            start="2026-01-01T00:00:00.000Z",
            stop="2026-01-01T00:00:03.000Z",
            step_s=1.0,
            nodes=[MeasuredView(name="node-1", node="node-1", metrics=cpu)],
            tasks=[MeasuredView(name="bj.sum/0", node="node-1", slot=3, metrics=cpu)],
        )
