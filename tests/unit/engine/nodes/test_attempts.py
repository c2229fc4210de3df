"""Attempts: what workers report, retries with back-off, stops, and the lanes that orders fill."""

from __future__ import annotations

from shunter.engine.state.task_table import unpack_columns
from shunter.model.job.spec import Restart
from shunter.model.lifecycles import NodeEvent, TaskState
from shunter.model.protocol.worker_messages import Returned
from shunter.simulation.runtime.loop import VirtualClock
from tests.unit.engine.harness import Stage, play, spec


def test_what_does_not_fit_stays_queued_and_is_placed_when_a_node_joins() -> None:
    async def scene(stage: Stage) -> None:
        [job] = await stage.submit(spec(count=3))
        assert stage.counts(job.job_id) == {"queued": 3}
        await stage.join("n1", cpu=2)
        assert stage.counts(job.job_id) == {"queued": 1, "assigned": 2}
        await stage.join("n2", cpu=2)
        assert stage.counts(job.job_id) == {"assigned": 3}

    play(scene)


def test_a_job_ends_and_gives_its_reservations_back() -> None:
    async def scene(stage: Stage) -> None:
        node = await stage.join()
        await stage.submit(spec(count=2))
        assert stage.reserved_cpu(node) == 2000
        for _, order in stage.orders():
            await stage.end(node, order)
        assert not stage.engine.state.jobs
        assert stage.reserved_cpu(node) == 0
        finished = await stage.store.finished_run("default", "job", None)
        assert finished is not None
        assert finished.state == "succeeded"

    play(scene)


def test_a_report_is_acknowledged_only_after_its_commit() -> None:
    async def scene(stage: Stage) -> None:
        node = await stage.join()
        await stage.submit(spec())
        [(_, order)] = stage.orders()
        version = await stage.store.last_version()
        await stage.end(node, order)
        assert stage.acks(node)[-1] == 2
        assert await stage.store.last_version() > version

    play(scene)


def test_a_failing_task_is_retried_with_back_off_and_then_fails() -> None:
    async def scene(stage: Stage) -> None:
        node = await stage.join()
        restart = Restart("on-failure", max=2, delay_s=1.0, factor=2.0, jitter=0.0)
        [job] = await stage.submit(spec(restart=restart))
        for attempt, delay_s in ((1, 1.0), (2, 2.0)):
            [(_, order)] = stage.orders()
            assert order.attempt == attempt
            await stage.end(node, order, exit_code=3)
            assert stage.counts(job.job_id) == {"queued": 1}
            await stage.settle(delay_s - 0.01)
            assert not stage.orders()
            await stage.settle(0.02)
        [(_, order)] = stage.orders()
        assert order.attempt == 3
        await stage.end(node, order, exit_code=3)
        finished = await stage.store.finished_run("default", "job", None)
        assert finished is not None
        assert finished.state == "failed"

    play(scene)


def test_back_offs_differ_by_chance_within_their_jitter() -> None:
    """D-41: tasks that fail together do not come back together."""

    async def scene(stage: Stage) -> None:
        node = await stage.join(cpu=64)
        restart = Restart("on-failure", max=1, delay_s=10.0, jitter=0.2)
        [job] = await stage.submit(spec(count=40, restart=restart))
        began_ms = int(VirtualClock().now() * 1000)
        while orders := stage.orders():
            for _, order in orders:
                await stage.end(node, order, exit_code=3)
        group = stage.engine.state.jobs[job.job_id].groups[0]
        delays_ms = [at_ms - began_ms for at_ms in (group.delayed or {}).values()]
        assert len(delays_ms) == 40
        assert 8_000 <= min(delays_ms) < 9_500 and 10_500 < max(delays_ms) <= 12_100

    play(scene)


def test_never_means_one_attempt() -> None:
    async def scene(stage: Stage) -> None:
        node = await stage.join()
        await stage.submit(spec())
        [(_, order)] = stage.orders()
        await stage.end(node, order, exit_code=1)
        assert not stage.engine.state.jobs
        assert not stage.orders()

    play(scene)


def test_always_restarts_what_succeeded_until_it_is_stopped() -> None:
    async def scene(stage: Stage) -> None:
        node = await stage.join()
        [job] = await stage.submit(spec(restart=Restart("always", max=None, delay_s=0.5, jitter=0.0, factor=1.0)))
        for attempt in range(1, 6):
            [(_, order)] = stage.orders()
            assert order.attempt == attempt
            await stage.end(node, order)
            await stage.settle(0.6)
        await stage.engine.stop_tasks(job.job_id, None, False)
        await stage.settle()
        [(_, order)] = stage.orders()
        await stage.end(node, order, exit_code=143, how="stopped")
        finished = await stage.store.finished_run("default", "job", None)
        assert finished is not None
        assert finished.state == "cancelled"

    play(scene)


def test_stopping_one_task_leaves_its_siblings_alone() -> None:
    async def scene(stage: Stage) -> None:
        node = await stage.join("n1", cpu=2)
        [job] = await stage.submit(spec(count=3))
        await stage.engine.stop_tasks(job.job_id, ("main", 2), False)  # queued
        await stage.engine.stop_tasks(job.job_id, ("main", 0), False)  # assigned
        await stage.settle()
        assert stage.counts(job.job_id) == {"assigned": 1, "stopping": 1, "cancelled": 1}
        [stop] = stage.stops()
        assert (stop.first, stop.last, stop.grace_s) == (0, 0, 5.0)
        await stage.report(node, returned=[Returned(job.job_id, 0, 1, 0, 0)])
        assert stage.counts(job.job_id) == {"assigned": 1, "cancelled": 2}

    play(scene)


def test_a_task_that_wins_the_race_against_its_stop_keeps_its_result() -> None:
    async def scene(stage: Stage) -> None:
        node = await stage.join()
        [job] = await stage.submit(spec())
        [(_, order)] = stage.orders()
        await stage.engine.stop_tasks(job.job_id, None, False)
        await stage.end(node, order)
        finished = await stage.store.finished_run("default", "job", None)
        assert finished is not None
        assert finished.state == "cancelled"  # the job was stopped, whatever became of its tasks
        [tasks] = await stage.store.finished_tasks(finished.id, 0, 0, 0)
        assert unpack_columns(1, tasks.body)["state"].tolist() == [TaskState.SUCCEEDED]

    play(scene)


def test_a_task_that_queues_too_long_fails_with_that_reason() -> None:
    async def scene(stage: Stage) -> None:
        await stage.submit(spec(queue_timeout_s=10.0))
        await stage.settle(9.9)
        assert stage.engine.state.jobs
        await stage.settle(0.2)
        finished = await stage.store.finished_run("default", "job", None)
        assert finished is not None
        assert finished.state == "failed"
        assert b"timeout.queue" in finished.summary

    play(scene)


def test_orders_grow_while_tasks_are_short_and_stuck_ones_are_recalled() -> None:
    async def scene(stage: Stage) -> None:
        node = await stage.join("n1", cpu=1)
        [job] = await stage.submit(spec(count=1000))
        sizes = []
        for _ in range(6):
            orders = stage.orders()
            sizes.append(sum(order.last - order.first + 1 for _, order in orders))
            for _, order in orders:
                await stage.end(node, order)
        assert sizes[0] == 1
        assert sizes == sorted(sizes)
        assert sizes[-1] > 8
        assert stage.reserved_cpu(node) == 1000
        [(_, order)] = stage.orders()
        await stage.settle(1.0)
        assert stage.recalls()
        returned = Returned(job.job_id, 0, order.attempt, order.first + 1, order.last)
        await stage.report(node, returned=[returned])
        assert stage.counts(job.job_id)["assigned"] == 1

    play(scene)


def test_a_higher_priority_takes_the_next_free_lane() -> None:
    async def scene(stage: Stage) -> None:
        node = await stage.join("n1", cpu=1)
        await stage.submit(spec("low", 5, priority=10))
        [(_, low)] = stage.orders()
        [high] = await stage.submit(spec("high", 1, priority=90))
        assert not stage.orders()
        await stage.end(node, low)
        [(_, order)] = stage.orders()
        assert order.job == high.job_id

    play(scene)


def test_lanes_of_a_node_that_is_not_eligible_are_not_refilled() -> None:
    async def scene(stage: Stage) -> None:
        node = await stage.join("n1", cpu=1)
        await stage.submit(spec(count=5))
        [(_, order)] = stage.orders()
        await stage.engine.node_event(node, NodeEvent.SILENT, "missed two heartbeats")
        await stage.end(node, order)
        assert not stage.orders()
        assert stage.reserved_cpu(node) == 0

    play(scene)


def test_a_relabelled_node_gets_no_more_of_what_its_labels_forbid() -> None:
    async def scene(stage: Stage) -> None:
        node = await stage.join("n1", cpu=1)
        await stage.engine.label_node("n1", {"disk": "ssd"})
        await stage.submit(spec(count=5, constraints=("node.labels.disk == 'ssd'",)))
        [(_, order)] = stage.orders()
        await stage.engine.label_node("n1", {"disk": None})
        await stage.end(node, order)
        assert not stage.orders()
        await stage.engine.label_node("n1", {"disk": "ssd"})
        await stage.settle()
        assert stage.orders()

    play(scene)


def test_an_attempt_that_timed_out_has_failed_even_if_it_exited_with_0() -> None:
    async def scene(stage: Stage) -> None:
        node = await stage.join()
        [job] = await stage.submit(spec(restart=Restart("on-failure", max=1, delay_s=1.0, jitter=0.0)))
        [(_, order)] = stage.orders()
        await stage.end(node, order, exit_code=0, how="timeout")
        assert stage.counts(job.job_id) == {"queued": 1}
        await stage.settle(1.1)
        [(_, order)] = stage.orders()
        await stage.end(node, order, exit_code=0, how="timeout")
        finished = await stage.store.finished_run("default", "job", None)
        assert finished is not None
        assert finished.state == "failed"

    play(scene)
