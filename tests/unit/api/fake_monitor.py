"""The sub-gateway `monitor` of the fake gateway: it notes what is asked."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shunter.model.rest.monitor.analytics_views import Analytics, Distribution
from shunter.model.rest.monitor.decision_views import (
    DecisionDetail,
    DecisionPage,
    DecisionReplay,
    DecisionView,
    FlightTimeline,
)
from shunter.model.rest.monitor.usage_views import GroupUsageView, JobUsageView, UsageSum, UsageSums
from shunter.model.rest.monitor.views import (
    JobCount,
    JobCounts,
    JobManifest,
    NodeMap,
    NodeTask,
    NodeTaskPage,
    SearchHit,
    SearchPage,
    TaskMap,
    Timeline,
)
from shunter.ports.monitor import TaskMapQuery
from shunter.ports.principals import JobReference

if TYPE_CHECKING:
    from tests.unit.api.fake_gateway import FakeGateway


class FakeMonitor:
    def __init__(self, gateway: FakeGateway) -> None:
        self._gateway = gateway

    async def counts(self, namespace: str | None, group_by: str) -> JobCounts:
        self._gateway.record_call((namespace, group_by))
        return JobCounts(group_by=group_by, items=[JobCount(key="film", jobs=2)], with_finished=False)

    async def search(self, text: str, limit: int) -> SearchPage:
        self._gateway.record_call((text, limit))
        return SearchPage(items=[SearchHit(kind="node", name="here")])

    async def task_map(self, job: JobReference, query: TaskMapQuery) -> TaskMap:
        self._gateway.record_call(query)
        await self._gateway.jobs.get(job)
        return TaskMap(
            name="render@1", group="main", groups=["main"], total=4, first=0, last=3, starts=[0, 2], sizes=[2, 2],
            counts={"running": [2, 2]},
        )  # fmt: skip

    async def timeline(self, job: JobReference, steps: int, limit: int) -> Timeline:
        self._gateway.record_call((steps, limit))
        await self._gateway.jobs.get(job)
        return Timeline(name="render@1", start=None, stop=None, step_s=1.0, running=[], total=0)

    async def manifest(self, job: JobReference, version: int | None) -> JobManifest:
        self._gateway.record_call(version)
        view = await self._gateway.jobs.get(job)
        return JobManifest(name=view.name, namespace="default", version=1, versions=[1], manifest={}, exact=True)

    async def analytics(
        self, namespace: str | None, start_s: float | None, stop_s: float | None, steps: int
    ) -> Analytics:
        self._gateway.record_call((namespace, start_s, stop_s, steps))
        empty = Distribution(p50=None, p95=None, max=None, bounds=[1.0], buckets=[0, 0])
        return Analytics(
            start="", stop="", step_s=1.0, jobs=0, succeeded=[0], failed=[0], cancelled=[0], tasks=[0],
            wait_p50_s=[None], wait_p95_s=[None], run_p50_s=[0.5], run_p95_s=[None], wait=empty, run=empty, users=[],
            namespaces=[], failures=[], deadlines=[0], deadlines_missed=0, partial=False,
        )  # fmt: skip

    async def job_usage(self, job: JobReference) -> JobUsageView:
        view = await self._gateway.jobs.get(job)
        group = GroupUsageView(name="main", tasks=1, attempts=1, requested={"cpu": "1"}, suggested={"cpu": "100m"})
        return JobUsageView(
            name=view.name, namespace=view.namespace, id=view.id, run=view.run, state=view.state, user=view.user,
            groups=[group],
        )  # fmt: skip

    async def usage(self, by: str, since_s: float | None, namespace: str | None) -> UsageSums:
        self._gateway.record_call((by, since_s, namespace))
        return UsageSums(by=by, since="", items=[UsageSum(key="anna", jobs=1)])

    async def decisions(self, limit: int, after: str | None, has_all: bool) -> DecisionPage:
        self._gateway.record_call((limit, after, has_all))
        return DecisionPage([], None, 0)

    async def flight_timeline(self, limit: int, has_all: bool) -> FlightTimeline:
        self._gateway.record_call((limit, has_all))
        return FlightTimeline(
            ids=[], at_ms=[], placed=[], preempted=[], left=[], failed=[], policies=[], policy_names=[]
        )

    async def decision(self, id: str) -> DecisionDetail:
        self._gateway.record_call(id)
        decision = DecisionView(
            id=id, at="", source="rounds", policy="e-pvm", version=1, placed=0, preempted=0, schedulings=0, left=0
        )
        return DecisionDetail(
            decision=decision, nodes=1, eligible=1, resources=[], queued_tasks=0, queued_classes=0, budget=1, classes=[]
        )

    async def replay_decision(self, id: str, policy: str) -> DecisionReplay:
        self._gateway.record_call((id, policy))
        return DecisionReplay(
            id=id, policy=policy, same=True, recorded=[], replayed=[], left=0, missing=0, compared=1, equal=1
        )

    async def node_map(self, group_by: str) -> NodeMap:
        self._gateway.record_call(group_by)
        return NodeMap(
            names=["here"], states=[0], state_names=["ready"], groups=[0], group_names=["dc1"], eligible=[True],
            tasks=[1], cpu=[500], memory=[0], disk=[0], busy=[0],
        )  # fmt: skip

    async def node_tasks(self, node: str, limit: int, after: str | None) -> NodeTaskPage:
        self._gateway.record_call((limit, after))
        await self._gateway.nodes.get(node)
        task = NodeTask(name="a/0", namespace="default", job="a@1", group="main", index=0, attempt=1, state="running")
        return NodeTaskPage(items=[task], next=None, total=1)
