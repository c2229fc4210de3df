"""Metrics through the gateway: heartbeats become series with names, and a run of a BatchJob is a window of them."""

from __future__ import annotations

from typing import Any

import pytest

from shunter.adapters.memory.samples import SampleStore
from shunter.gateway.jobs.runs import Runs
from shunter.gateway.jobs.task_reader import TaskReader
from shunter.gateway.jobs.tasks import Tasks
from shunter.gateway.metrics import Metrics
from shunter.gateway.scope import cluster_scope
from shunter.model.errors import Invalid, NotFound, Unavailable
from shunter.model.objects.object_meta import ObjectName
from shunter.model.protocol.worker_messages import Ended, Heartbeat, MachineSample, MachineStats, Order, TaskStats
from shunter.model.rest.metric_views import MeasuredView
from shunter.ports.metrics import Window
from shunter.ports.principals import JobReference, TaskReference
from shunter.simulation.runtime.loop import VirtualClock
from shunter.watcher.sample_recorder import SampleRecorder
from tests.unit.gateway.harness import GatewayHarness, run_scenario

BATCH = "batchjob.gcr.io/v1alpha1"
SUM = ObjectName("default", "sum")


class MetricsHarness:
    """The service with samples of its own, and workers that send heartbeats as the test tells them."""

    def __init__(self, harness: GatewayHarness, ahead_s: float = 0.0) -> None:
        self._harness, self._clock, self._ahead_s = harness, VirtualClock(), ahead_s
        self.store = SampleStore()
        self._recorder = SampleRecorder(harness.engine, self.store)
        scope = cluster_scope(harness.engine)
        runs = Runs(harness.engine, harness.store, scope)
        tasks = Tasks(harness.engine, runs, TaskReader(harness.engine, harness.store))
        self.service = Metrics(harness.engine, runs, tasks, self.store, self._clock, scope)
        self.beats = 0

    async def send_heartbeats(self, node: int, *tasks: tuple[Order, float, int], seconds: int = 1) -> None:
        """So many seconds in which the machine uses two cores, and each task (cores, bytes) of its own."""
        for _ in range(seconds):
            await self._clock.sleep(1.0)
            self.beats += 1
            now_ms = self._now_ms
            used = [
                TaskStats(
                    o.job, o.group, o.first, o.attempt, cores * self.beats, memory_bytes, 1, now_ms - self.beats * 1000
                )
                for o, cores, memory_bytes in tasks
            ]
            sample = MachineSample(now_ms, 2.0 * self.beats, 10**9, 0, 0, 0, 0, used)
            self._recorder.record_heartbeat(
                node, Heartbeat(MachineStats(now_ms), [sample]), int(self._clock.now() * 1000)
            )

    @property
    def _now_ms(self) -> int:
        return int((self._clock.now() + self._ahead_s) * 1000)


def document(kind: str, name: str, **spec: Any) -> dict[str, Any]:
    return {"apiVersion": BATCH, "kind": kind, "metadata": {"name": name}, "spec": spec}


async def running(harness: GatewayHarness) -> tuple[int, list[Order]]:
    """A BatchJob with two executors in the slots 1 and 2 of one node."""
    node = await harness.join("n1", cpu=4)
    await harness.engine.label_node("n1", {"yard": "0"})
    await harness.gateway.objects.apply(
        [
            document("Testbed", "yard", slotsPerNode=3, nodeLabel="yard", resourcesPerSlot={"cpu": "500m"}),
            document("BatchJob", "sum", commandSpec={"command": ["/bin/true"]}),
            document(
                "Scheduling",
                "first",
                slotBased={"mode": "strict", "jobs": [{"name": {"name": "sum"}, "slotIds": [1, 2]}]},
                testbed={"name": "yard"},
            ),
        ],
        namespace="default",
    )
    await harness.settle()
    orders = [order for _, order in harness.orders()]
    assert len(orders) == 2
    for order in orders:
        await harness.start_task(node, order, 1)
    return node, orders


def means(measured: MeasuredView) -> tuple[float, float]:
    return measured.metrics["cpu_cores"].mean, measured.metrics["memory_bytes"].mean


@pytest.mark.parametrize("ahead_s", [0.0, 3600.0, -3600.0])
def test_a_run_of_a_batch_job_is_a_window_of_its_nodes_and_slots(ahead_s: float) -> None:
    """S0-21: CPU and memory of the nodes and slots of a job, from its start to its stop, whatever the workers' clocks
    say; also after the run, when its job has left memory."""

    async def scenario(harness: GatewayHarness) -> None:
        metrics_harness = MetricsHarness(harness, ahead_s)
        node, [first, second] = await running(harness)
        await metrics_harness.send_heartbeats(node, (first, 0.5, 100), (second, 0.0, 2_000), seconds=5)
        for order in (first, second):
            await harness.end_task(node, order, 1)
        await metrics_harness.send_heartbeats(node, seconds=5)
        found = await metrics_harness.service.batch_job_metrics(SUM, None, None)
        assert (found.name, found.run, found.step_s) == ("sum", 1, 1.0)
        assert [(task.slot, task.node) for task in found.tasks] == [(1, "n1"), (2, "n1")]
        assert [means(task) for task in found.tasks] == [pytest.approx((0.5, 100)), pytest.approx((0.0, 2_000))]
        [machine] = found.nodes
        assert machine.name == "n1" and means(machine) == pytest.approx((2.0, 10**9))
        values = machine.metrics["cpu_cores"].values
        assert 3 <= len([value for value in values if value is not None]) <= len(values) <= 6, (
            "not what came afterwards"
        )

    run_scenario(scenario)


def test_a_run_is_named_by_its_number_and_others_are_refused() -> None:
    async def scenario(harness: GatewayHarness) -> None:
        metrics_harness = MetricsHarness(harness)
        with pytest.raises(NotFound, match="BatchJob 'default/sum' does not exist"):
            await metrics_harness.service.batch_job_metrics(SUM, None, None)
        await running(harness)
        assert (await metrics_harness.service.batch_job_metrics(SUM, 1, None)).run == 1
        with pytest.raises(NotFound, match="runs 1 to 1"):
            await metrics_harness.service.batch_job_metrics(SUM, 2, None)

    run_scenario(scenario)


def test_a_run_without_samples_still_names_its_nodes_and_slots() -> None:
    async def scenario(harness: GatewayHarness) -> None:
        metrics_harness = MetricsHarness(harness)
        await running(harness)
        found = await metrics_harness.service.batch_job_metrics(SUM, None, None)
        assert [(task.slot, task.node, task.metrics) for task in found.tasks] == [(1, "n1", {}), (2, "n1", {})]
        assert [(node.name, node.metrics) for node in found.nodes] == [("n1", {})]

    run_scenario(scenario)


def test_a_task_has_the_window_from_its_start_to_its_end() -> None:
    async def scenario(harness: GatewayHarness) -> None:
        metrics_harness = MetricsHarness(harness)
        node = await harness.join("n1")
        await harness.run("job")
        [(_, order)] = harness.orders()
        await harness.start_task(node, order, 1)
        await metrics_harness.send_heartbeats(node, (order, 0.25, 4_096), seconds=4)
        job, task = JobReference("default", "job"), TaskReference(0)
        found = await metrics_harness.service.task_metrics(job, task, Window())
        assert means(found.tasks[0]) == pytest.approx((0.25, 4_096))
        assert [machine.name for machine in found.nodes] == ["n1"]
        ended_ms = int(VirtualClock().now() * 1000)
        times = [ended_ms - 4_000], [ended_ms]
        await harness.report(node, ended=[Ended(order.job, order.group, order.attempt, 0, [], *times, 1, 0)])
        await metrics_harness.send_heartbeats(node, seconds=3)
        after = await metrics_harness.service.task_metrics(job, task, Window(step_ms=2_000))
        assert means(after.tasks[0]) == pytest.approx((0.25, 4_096)) and after.step_s == 2.0

    run_scenario(scenario)


def test_a_node_has_its_last_minutes_or_what_is_asked() -> None:
    async def scenario(harness: GatewayHarness) -> None:
        metrics_harness = MetricsHarness(harness)
        node = await harness.join("n1")
        await metrics_harness.send_heartbeats(node, seconds=5)
        found = await metrics_harness.service.node_metrics("n1", Window())
        assert means(found.nodes[0]) == pytest.approx((2.0, 10**9)) and found.step_s == 5.0
        now_ms = int(VirtualClock().now() * 1000)
        [machine] = (await metrics_harness.service.node_metrics("n1", Window(now_ms - 3_000, now_ms, 1_000))).nodes
        assert len(machine.metrics["cpu_cores"].values) == 3
        for wrong in (Window(now_ms, now_ms - 1), Window(0, now_ms, 1_000), Window(step_ms=999)):
            with pytest.raises(Invalid):
                await metrics_harness.service.node_metrics("n1", wrong)
        with pytest.raises(NotFound):
            await metrics_harness.service.node_metrics("nobody", Window())

    run_scenario(scenario)


def test_without_a_provider_metrics_are_unavailable() -> None:
    async def scenario(harness: GatewayHarness) -> None:
        await harness.join("n1")
        with pytest.raises(Unavailable):
            await harness.gateway.metrics.node_metrics("n1", Window())

    run_scenario(scenario)


def test_samples_of_nodes_and_tasks_that_nobody_knows_are_dropped() -> None:
    async def scenario(harness: GatewayHarness) -> None:
        metrics_harness = MetricsHarness(harness)
        node, [first, _] = await running(harness)
        stranger = Order(**{name: getattr(first, name) for name in Order.__struct_fields__} | {"job": 999})
        await metrics_harness.send_heartbeats(node, (stranger, 1.0, 1), seconds=2)
        await metrics_harness.send_heartbeats(4_711, seconds=2)
        assert len(metrics_harness.store) == 1, "only the node that is known"

    run_scenario(scenario)
