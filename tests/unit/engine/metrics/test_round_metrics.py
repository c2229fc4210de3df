"""What the engine counts: each task once, however it was reported, and a range as one."""

from __future__ import annotations

import pytest

from shunter.engine.metrics.gauges import put_cluster, put_counters
from shunter.engine.metrics.measures import FEW, RoundMeasures
from shunter.model.job.spec import JobOptions
from shunter.model.lifecycles import NodeEvent
from shunter.model.metrics import catalogue as m
from shunter.model.metrics.exposition import Exposition
from shunter.model.metrics.metric import LABEL_VALUES_MAX, OTHER, Histogram
from tests.unit.engine.harness import Harness, run_scenario, spec


def scrape(harness: Harness) -> dict[str, float]:
    exposition = Exposition()
    put_cluster(exposition, harness.engine.state)
    put_counters(exposition, harness.engine.metrics, harness.engine.state)
    lines = exposition.render().decode().splitlines()
    return {name: float(value) for name, _, value in (line.rpartition(" ") for line in lines if line[0] != "#")}


def test_a_task_counts_once_whether_or_not_its_start_was_reported() -> None:
    async def scenario(harness: Harness) -> None:
        node = await harness.join(cpu=3)
        await harness.submit(spec(count=3))
        await harness.settle(2.0)
        orders = harness.orders()
        first = orders[0][1]
        await harness.started(node, first)
        for _, order in orders:
            await harness.end(node, order)
        metrics = harness.engine.metrics
        assert metrics.start_latency.count == metrics.run_time.count == metrics.queue_wait.count == 3
        assert 1.9 * 3 <= metrics.start_latency.sum <= 2.1 * 3
        found = scrape(harness)
        assert found['shunter_task_attempts_total{result="succeeded"}'] == 3
        assert found['shunter_queue_tasks_placed_total{queue="default"}'] == 3
        assert found['shunter_jobs_ended_total{state="succeeded"}'] == found["shunter_jobs_submitted_total"] == 1

    run_scenario(scenario)


def test_failed_stopped_and_lost_attempts_are_told_apart() -> None:
    async def scenario(harness: Harness) -> None:
        node = await harness.join(cpu=2)
        await harness.submit(spec("fails"), spec("gets-lost"))
        (_, failing), (_, losing) = harness.orders()
        await harness.end(node, failing, exit_code=3)
        await harness.report_lost(node, losing)
        found = scrape(harness)
        assert found['shunter_task_attempts_total{result="failed"}'] == 1
        assert found['shunter_task_attempts_total{result="lost"}'] == 1
        assert found['shunter_jobs_ended_total{state="failed"}'] == 1

    run_scenario(scenario)


def test_gauges_show_queues_tasks_and_resources() -> None:
    async def scenario(harness: Harness) -> None:
        await harness.join(cpu=2, gpu=4)
        needs = {"cpu": 1000, "gpu": 1}
        await harness.submit(spec(count=3, needs=needs, options=JobOptions(queue="night")))
        found = scrape(harness)
        assert found['shunter_queue_tasks{queue="night",state="queued"}'] == 1
        assert found['shunter_queue_tasks{queue="night",state="running"}'] == 2
        assert found['shunter_tasks{state="assigned"}'] == 2
        assert found["shunter_cpu_capacity_cores"] == found["shunter_cpu_reserved_cores"] == 2
        assert found['shunter_resource_capacity{resource="gpu"}'] == 4
        assert found['shunter_resource_reserved{resource="gpu"}'] == 2
        assert found['shunter_jobs{state="running"}'] + found['shunter_jobs{state="pending"}'] == 1

    run_scenario(scenario)


def test_a_node_that_goes_and_comes_is_counted() -> None:
    async def scenario(harness: Harness) -> None:
        node = await harness.join("n1")
        assert scrape(harness)['shunter_node_state_changes_total{node="n1"}'] == 0
        await harness.engine.node_event(node, NodeEvent.SILENT, "no heartbeat")
        await harness.settle()
        found = scrape(harness)
        assert found['shunter_node_state_changes_total{node="n1"}'] == 1
        assert found['shunter_node_up{node="n1"}'] == 0
        assert found['shunter_nodes{state="suspect"}'] == 1

    run_scenario(scenario)


def test_nodes_beyond_the_limit_are_shown_together() -> None:
    async def scenario(harness: Harness) -> None:
        for number in range(LABEL_VALUES_MAX + 3):
            await harness.join(f"n{number}", cpu=1)
        await harness.submit(spec(count=LABEL_VALUES_MAX + 3))
        found = scrape(harness)
        named = [name for name in found if name.startswith("shunter_node_tasks{")]
        assert len(named) == LABEL_VALUES_MAX + 1
        assert found[f'shunter_node_tasks{{node="{OTHER}"}}'] == 3
        assert found[f'shunter_node_up{{node="{OTHER}"}}'] == 1

    run_scenario(scenario)


def test_each_round_and_commit_is_counted_and_remembered() -> None:
    async def scenario(harness: Harness) -> None:
        await harness.join()
        before = harness.engine.metrics.commits.count
        await harness.submit(spec())
        assert harness.engine.metrics.commits.count == before + 1
        assert harness.engine.metrics.rounds.count >= before + 1
        record = harness.engine.metrics.recent[-1]
        assert (record.commands, record.version) == (1, harness.engine.state.version)
        assert record.size_bytes > 0

    run_scenario(scenario)


@pytest.mark.parametrize("times", [1, 4])
def test_a_batch_is_sorted_into_the_same_buckets_as_its_values_one_by_one(times: int) -> None:
    """Small batches and large ones are sorted in different ways."""
    measures, single = RoundMeasures(), Histogram(m.RUN_TIME.buckets)
    starts, spans = [1_000, 1_000, 2_000, 3_000, 3_000] * times, [0, 10, 11, 90_000_000, 500] * times
    measures.note_ended(starts, [at + span for at, span in zip(starts, spans, strict=True)])
    for span in spans:
        single.observe(span / 1000)
        measures.note_started(2_000, [2_000 + span])
    by_run, by_start = Histogram(m.RUN_TIME.buckets), Histogram(m.RUN_TIME.buckets)
    measures.sort_into(Histogram(m.QUEUE_WAIT.buckets), by_start, by_run)
    assert by_run.counts == by_start.counts == single.counts
    assert by_run.sum == by_start.sum == pytest.approx(single.sum)
    assert by_start.count == 5 * times
    assert 5 <= FEW < 20


def test_a_start_before_the_submit_by_another_clock_counts_as_0() -> None:
    measures, latency = RoundMeasures(), Histogram(m.START_LATENCY.buckets)
    measures.note_started(5_000, [4_900, 5_500])
    measures.sort_into(Histogram(m.QUEUE_WAIT.buckets), latency, Histogram(m.RUN_TIME.buckets))
    assert (latency.count, latency.sum) == (2, 0.5)
