"""Attempts: what workers report, retries with back-off, stops, and the lanes that orders fill."""

from __future__ import annotations

from shunter.engine.state.task_table import unpack_columns
from shunter.model.job.spec import Restart
from shunter.model.lifecycles import NodeEvent, TaskState
from shunter.model.protocol.worker_messages import Returned
from shunter.simulation.runtime.loop import VirtualClock
from tests.unit.engine.harness import Harness, run_scenario, spec


def test_what_does_not_fit_stays_queued_and_is_placed_when_a_node_joins() -> None:
    async def scenario(harness: Harness) -> None:
        [job] = await harness.submit(spec(count=3))
        assert harness.counts(job.job_id) == {"queued": 3}
        await harness.join("n1", cpu=2)
        assert harness.counts(job.job_id) == {"queued": 1, "assigned": 2}
        await harness.join("n2", cpu=2)
        assert harness.counts(job.job_id) == {"assigned": 3}

    run_scenario(scenario)


def test_a_job_ends_and_gives_its_reservations_back() -> None:
    async def scenario(harness: Harness) -> None:
        node = await harness.join()
        await harness.submit(spec(count=2))
        assert harness.reserved_cpu(node) == 2000
        for _, order in harness.orders():
            await harness.end(node, order)
        assert not harness.engine.state.jobs
        assert harness.reserved_cpu(node) == 0
        finished = await harness.store.finished_run("default", "job", None)
        assert finished is not None
        assert finished.state == "succeeded"

    run_scenario(scenario)


def test_a_report_is_acknowledged_only_after_its_commit() -> None:
    async def scenario(harness: Harness) -> None:
        node = await harness.join()
        await harness.submit(spec())
        [(_, order)] = harness.orders()
        version = await harness.store.last_version()
        await harness.end(node, order)
        assert harness.acks(node)[-1] == 2
        assert await harness.store.last_version() > version

    run_scenario(scenario)


def test_a_failing_task_is_retried_with_back_off_and_then_fails() -> None:
    async def scenario(harness: Harness) -> None:
        node = await harness.join()
        restart = Restart("on-failure", max=2, delay_s=1.0, factor=2.0, jitter=0.0)
        [job] = await harness.submit(spec(restart=restart))
        for attempt, delay_s in ((1, 1.0), (2, 2.0)):
            [(_, order)] = harness.orders()
            assert order.attempt == attempt
            await harness.end(node, order, exit_code=3)
            assert harness.counts(job.job_id) == {"queued": 1}
            await harness.settle(delay_s - 0.01)
            assert not harness.orders()
            await harness.settle(0.02)
        [(_, order)] = harness.orders()
        assert order.attempt == 3
        await harness.end(node, order, exit_code=3)
        finished = await harness.store.finished_run("default", "job", None)
        assert finished is not None
        assert finished.state == "failed"

    run_scenario(scenario)


def test_back_offs_differ_by_chance_within_their_jitter() -> None:
    """D-41: tasks that fail together do not come back together."""

    async def scenario(harness: Harness) -> None:
        node = await harness.join(cpu=64)
        restart = Restart("on-failure", max=1, delay_s=10.0, jitter=0.2)
        [job] = await harness.submit(spec(count=40, restart=restart))
        began_ms = int(VirtualClock().now() * 1000)
        while orders := harness.orders():
            for _, order in orders:
                await harness.end(node, order, exit_code=3)
        group = harness.engine.state.jobs[job.job_id].task_sets[0]
        delays_ms = [at_ms - began_ms for at_ms in (group.delayed or {}).values()]
        assert len(delays_ms) == 40
        assert 8_000 <= min(delays_ms) < 9_500 and 10_500 < max(delays_ms) <= 12_100

    run_scenario(scenario)


def test_never_means_one_attempt() -> None:
    async def scenario(harness: Harness) -> None:
        node = await harness.join()
        await harness.submit(spec())
        [(_, order)] = harness.orders()
        await harness.end(node, order, exit_code=1)
        assert not harness.engine.state.jobs
        assert not harness.orders()

    run_scenario(scenario)


def test_always_restarts_what_succeeded_until_it_is_stopped() -> None:
    async def scenario(harness: Harness) -> None:
        node = await harness.join()
        [job] = await harness.submit(spec(restart=Restart("always", max=None, delay_s=0.5, jitter=0.0, factor=1.0)))
        for attempt in range(1, 6):
            [(_, order)] = harness.orders()
            assert order.attempt == attempt
            await harness.end(node, order)
            await harness.settle(0.6)
        await harness.engine.stop_tasks(job.job_id, None, False)
        await harness.settle()
        [(_, order)] = harness.orders()
        await harness.end(node, order, exit_code=143, how="stopped")
        finished = await harness.store.finished_run("default", "job", None)
        assert finished is not None
        assert finished.state == "cancelled"

    run_scenario(scenario)


def test_stopping_one_task_leaves_its_siblings_alone() -> None:
    async def scenario(harness: Harness) -> None:
        node = await harness.join("n1", cpu=2)
        [job] = await harness.submit(spec(count=3))
        await harness.engine.stop_tasks(job.job_id, ("main", 2), False)  # queued
        await harness.engine.stop_tasks(job.job_id, ("main", 0), False)  # assigned
        await harness.settle()
        assert harness.counts(job.job_id) == {"assigned": 1, "stopping": 1, "cancelled": 1}
        [stop] = harness.stops()
        assert (stop.first, stop.last, stop.grace_s) == (0, 0, 5.0)
        await harness.report(node, returned=[Returned(job.job_id, 0, 1, 0, 0)])
        assert harness.counts(job.job_id) == {"assigned": 1, "cancelled": 2}

    run_scenario(scenario)


def test_a_task_that_wins_the_race_against_its_stop_keeps_its_result() -> None:
    async def scenario(harness: Harness) -> None:
        node = await harness.join()
        [job] = await harness.submit(spec())
        [(_, order)] = harness.orders()
        await harness.engine.stop_tasks(job.job_id, None, False)
        await harness.end(node, order)
        finished = await harness.store.finished_run("default", "job", None)
        assert finished is not None
        assert finished.state == "cancelled"  # the job was stopped, whatever became of its tasks
        [tasks] = await harness.store.finished_tasks(finished.id, 0, 0, 0)
        assert unpack_columns(1, tasks.body)["state"].tolist() == [TaskState.SUCCEEDED]

    run_scenario(scenario)


def test_a_task_that_queues_too_long_fails_with_that_reason() -> None:
    async def scenario(harness: Harness) -> None:
        await harness.submit(spec(queue_timeout_s=10.0))
        await harness.settle(9.9)
        assert harness.engine.state.jobs
        await harness.settle(0.2)
        finished = await harness.store.finished_run("default", "job", None)
        assert finished is not None
        assert finished.state == "failed"
        assert b"timeout.queue" in finished.summary

    run_scenario(scenario)


def test_orders_grow_while_tasks_are_short_and_stuck_ones_are_recalled() -> None:
    async def scenario(harness: Harness) -> None:
        node = await harness.join("n1", cpu=1)
        [job] = await harness.submit(spec(count=1000))
        sizes = []
        for _ in range(6):
            orders = harness.orders()
            sizes.append(sum(order.last - order.first + 1 for _, order in orders))
            for _, order in orders:
                await harness.end(node, order)
        assert sizes[0] == 1
        assert sizes == sorted(sizes)
        assert sizes[-1] > 8
        assert harness.reserved_cpu(node) == 1000
        [(_, order)] = harness.orders()
        await harness.settle(1.0)
        assert harness.recalls()
        returned = Returned(job.job_id, 0, order.attempt, order.first + 1, order.last)
        await harness.report(node, returned=[returned])
        assert harness.counts(job.job_id)["assigned"] == 1

    run_scenario(scenario)


def test_a_higher_priority_takes_the_next_free_lane() -> None:
    async def scenario(harness: Harness) -> None:
        node = await harness.join("n1", cpu=1)
        await harness.submit(spec("low", 5, priority=10))
        [(_, low)] = harness.orders()
        [high] = await harness.submit(spec("high", 1, priority=90))
        assert not harness.orders()
        await harness.end(node, low)
        [(_, order)] = harness.orders()
        assert order.job == high.job_id

    run_scenario(scenario)


def test_lanes_of_a_node_that_is_not_eligible_are_not_refilled() -> None:
    async def scenario(harness: Harness) -> None:
        node = await harness.join("n1", cpu=1)
        await harness.submit(spec(count=5))
        [(_, order)] = harness.orders()
        await harness.engine.node_event(node, NodeEvent.SILENT, "missed two heartbeats")
        await harness.end(node, order)
        assert not harness.orders()
        assert harness.reserved_cpu(node) == 0

    run_scenario(scenario)


def test_a_relabelled_node_gets_no_more_of_what_its_labels_forbid() -> None:
    async def scenario(harness: Harness) -> None:
        node = await harness.join("n1", cpu=1)
        await harness.engine.label_node("n1", {"disk": "ssd"})
        await harness.submit(spec(count=5, constraints=("node.labels.disk == 'ssd'",)))
        [(_, order)] = harness.orders()
        await harness.engine.label_node("n1", {"disk": None})
        await harness.end(node, order)
        assert not harness.orders()
        await harness.engine.label_node("n1", {"disk": "ssd"})
        await harness.settle()
        assert harness.orders()

    run_scenario(scenario)


def test_an_attempt_that_timed_out_has_failed_even_if_it_exited_with_0() -> None:
    async def scenario(harness: Harness) -> None:
        node = await harness.join()
        [job] = await harness.submit(spec(restart=Restart("on-failure", max=1, delay_s=1.0, jitter=0.0)))
        [(_, order)] = harness.orders()
        await harness.end(node, order, exit_code=0, how="timeout")
        assert harness.counts(job.job_id) == {"queued": 1}
        await harness.settle(1.1)
        [(_, order)] = harness.orders()
        await harness.end(node, order, exit_code=0, how="timeout")
        finished = await harness.store.finished_run("default", "job", None)
        assert finished is not None
        assert finished.state == "failed"

    run_scenario(scenario)
