"""The output of all tasks of a job as one stream."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from shunter.model.errors import Conflict, Invalid, NotFound
from shunter.model.job.arrays import parse_array
from shunter.model.lifecycles import NodeEvent
from shunter.model.protocol.worker_messages import LOG_GONE, Ended, Order, Started
from shunter.model.rest.log_views import JobLogEnd, JobLogLine
from shunter.ports.jobs import JobLogQuery, LogQuery
from shunter.ports.principals import TaskReference
from shunter.simulation.runtime.loop import VirtualClock
from tests.unit.gateway.harness import GatewayHarness, read_all, reference, run_scenario


async def start(harness: GatewayHarness, node: int, order: Order, index: int, segment: int) -> None:
    now_ms = int(VirtualClock().now() * 1000)
    await harness.report(node, started=[Started(order.job, order.group, order.attempt, index, now_ms, segment, index)])


async def end(harness: GatewayHarness, node: int, order: Order, index: int, segment: int, exit_code: int = 0) -> None:
    now_ms = int(VirtualClock().now() * 1000)
    exits = [exit_code] if exit_code else []
    ended = Ended(order.job, order.group, order.attempt, index, exits, [now_ms], [now_ms], segment, index)
    await harness.report(node, ended=[ended])


async def read(harness: GatewayHarness, job: str, **query: Any) -> tuple[list[tuple[str, str, bytes]], JobLogEnd]:
    lines: list[JobLogLine] = []
    await read_all(await harness.gateway.streams.job_logs(reference(job), JobLogQuery(**query)), lines)
    last = lines.pop().end
    assert last is not None
    return outputs(lines), last


def outputs(lines: list[JobLogLine]) -> list[tuple[str, str, bytes]]:
    return [(line.log.task, line.log.stream, line.log.data) for line in lines if line.log is not None]


async def odd_job(harness: GatewayHarness, failing: tuple[int, ...] = ()) -> int:
    """A job with indexes 1, 3, 5 whose tasks have written three lines each, and ended."""
    node = await harness.join(cpu=8)
    await harness.run("odd", array="1-5:2", count=3, restart={"policy": "never"})
    for _, order in harness.orders():
        for index in range(order.first, order.last + 1):
            harness.log_workers.write(4, b"a%d\nb%d\nc%d\n" % (index, index, index), record=index)
            harness.log_workers.write(4, b"oops\n", "stderr", record=index) if index in failing else None
            await start(harness, node, order, index, 4)
            await end(harness, node, order, index, 4, 3 if index in failing else 0)
    return node


def test_all_tasks_are_read_one_after_another() -> None:
    async def scenario(harness: GatewayHarness) -> None:
        await odd_job(harness, failing=(1,))
        lines, last = await read(harness, "odd")
        assert lines == [
            ("odd/1", "stdout", b"a0\nb0\nc0\n"),
            ("odd/3", "stdout", b"a1\nb1\nc1\n"),
            ("odd/3", "stderr", b"oops\n"),
            ("odd/5", "stdout", b"a2\nb2\nc2\n"),
        ]
        assert (last.tasks, last.left_out, last.missing) == (3, [], [])

    run_scenario(scenario)


def test_tasks_lines_and_streams_are_selected() -> None:
    async def scenario(harness: GatewayHarness) -> None:
        await odd_job(harness, failing=(1,))
        out, err = "stdout", "stderr"
        assert (await read(harness, "odd", states=("failed",), streams=(err,)))[0] == [("odd/3", err, b"oops\n")]
        indexes = parse_array("5").parts
        assert (await read(harness, "odd", indexes=indexes))[0] == [("odd/5", out, b"a2\nb2\nc2\n")]
        assert (await read(harness, "odd", grep="b"))[0] == [(f"odd/{2 * n + 1}", out, b"b%d\n" % n) for n in range(3)]
        lines, last = await read(harness, "odd", tail=1, indexes=indexes)
        assert lines == [("odd/5", out, b"c2\n")]
        assert [(gap.reason, gap.tasks, gap.names) for gap in last.left_out] == [
            ("earlier lines than the last 1", 1, ["odd/5"])
        ]
        assert (await read(harness, "odd", tail=1, grep="a", indexes=indexes))[0] == [("odd/5", out, b"a2\n")]
        with pytest.raises(NotFound, match="job 'odd' has no task 2: its tasks are 1-5:2"):
            await read(harness, "odd", indexes=parse_array("1-2").parts)
        with pytest.raises(NotFound, match="has no group 'x'"):
            await read(harness, "odd", groups=("x",))
        with pytest.raises(Invalid, match="at most 10,000 indexes"):
            await read(harness, "odd", indexes=parse_array("0-10000").parts)

    run_scenario(scenario)


def test_an_error_lists_the_indexes_of_each_group() -> None:
    async def scenario(harness: GatewayHarness) -> None:
        await harness.run("shop", 4, groups=[{"name": "front"}, {"name": "back", "count": 5, "array": "1-9:2"}])
        for groups, known in (((), "front/0 to 3, back/1-9:2"), (("back",), "1-9:2")):
            with pytest.raises(NotFound, match=f"job 'shop' has no task 10: its tasks are {known}$"):
                await read(harness, "shop", indexes=parse_array("10").parts, groups=groups)

    run_scenario(scenario)


@pytest.mark.parametrize("count", [1, 10, 5000, 60_000])
def test_the_last_lines_of_a_long_log_are_found(count: int) -> None:
    """Without a read of all of it; at most a mebibyte."""

    async def scenario(harness: GatewayHarness) -> None:
        node = await harness.join()
        await harness.run("long")
        [(_, order)] = harness.orders()
        await start(harness, node, order, 0, 1)
        body = b"".join(b"line number %08d\n" % number for number in range(200_000))
        harness.log_workers.write(1, body)
        lines, _ = await read(harness, "long", tail=count)
        tail = b"".join(data for _, _, data in lines)
        if count < 50_000:
            assert tail == body[-21 * count :]
        else:
            assert body.endswith(tail) and tail.startswith(b"line number") and 2**19 < len(tail) <= 2**20

    run_scenario(scenario)


def test_what_ended_before_since_and_what_has_not_started_is_left_out() -> None:
    async def scenario(harness: GatewayHarness) -> None:
        await odd_job(harness)
        now_ms = int(VirtualClock().now() * 1000)
        lines, last = await read(harness, "odd", since_ms=now_ms + 1)
        assert lines == []
        assert [(gap.reason, gap.tasks) for gap in last.left_out] == [("ended before --since", 3)]
        assert len((await read(harness, "odd", since_ms=now_ms - 60_000))[0]) == 3
        await harness.run("later", count=2, resources={"cpu": 64})
        _, last = await read(harness, "later")
        [gap] = last.left_out
        assert (gap.reason, gap.tasks, gap.names) == ("not started yet", 2, ["later/0", "later/1"])

    run_scenario(scenario)


def test_tasks_that_were_lost_with_their_node_wait_for_another_attempt() -> None:
    async def scenario(harness: GatewayHarness) -> None:
        node = await harness.join()
        await harness.run("web")
        [(_, order)] = harness.orders()
        await start(harness, node, order, 0, 1)
        await harness.engine.node_event(node, NodeEvent.TIMED_OUT, "no heartbeat for 10 s")
        await harness.settle()
        _, last = await read(harness, "web")
        assert [(gap.reason, gap.tasks, gap.names) for gap in last.left_out] == [
            ("waiting for another attempt", 1, ["web/0"])
        ]

    run_scenario(scenario)


@pytest.mark.parametrize("gone", [False, True])
def test_output_that_is_gone_with_its_node_is_named(gone: bool) -> None:
    async def scenario(harness: GatewayHarness) -> None:
        node = await odd_job(harness)
        if gone:
            harness.log_workers.log_error = LOG_GONE
        else:
            harness.log_workers.is_reachable = False
        for follow in (False, True):
            lines, last = await read(harness, "odd", follow=follow)
            assert lines == []
            reason = LOG_GONE if gone else f"node '{node}' is not connected"
            assert [(gap.reason, gap.tasks) for gap in last.missing] == [(reason, 3)]
            assert last.missing[0].names == ["odd/1", "odd/3", "odd/5"]

    run_scenario(scenario)


def test_a_node_that_is_down_is_named_as_in_the_log_of_one_task() -> None:
    async def scenario(harness: GatewayHarness) -> None:
        node = await odd_job(harness)
        harness.log_workers.is_reachable = False
        await harness.engine.node_event(node, NodeEvent.TIMED_OUT, "no heartbeat for 10 s")
        await harness.settle()
        with pytest.raises(Conflict) as refused:
            await harness.gateway.streams.read_log(reference("odd"), TaskReference(1), LogQuery())
        for follow in (False, True):
            _, last = await read(harness, "odd", follow=follow)
            assert [(gap.reason, gap.tasks) for gap in last.missing] == [(refused.value.detail, 3)]

    run_scenario(scenario)


def test_followed_output_comes_in_whole_lines_as_tasks_write_them() -> None:
    async def scenario(harness: GatewayHarness) -> None:
        node = await harness.join(cpu=8)
        await harness.run("live", count=2)
        [(_, order)] = harness.orders()
        lines: list[JobLogLine] = []
        stream = await harness.gateway.streams.job_logs(reference("live"), JobLogQuery(follow=True))
        reading = asyncio.create_task(read_all(stream, lines))
        await harness.settle(1)
        await start(harness, node, order, 0, 1)
        await start(harness, node, order, 1, 1)
        harness.log_workers.write(1, b"one\ntw", record=0)
        harness.log_workers.write(1, b"uno\n", record=1)
        await harness.settle(1)
        assert outputs(lines) == [("live/0", "stdout", b"one\n"), ("live/1", "stdout", b"uno\n")]
        harness.log_workers.write(1, b"o\nend", record=0)
        await harness.settle(1)
        assert outputs(lines)[2:] == [("live/0", "stdout", b"two\n")]
        await end(harness, node, order, 0, 1)
        await harness.settle(1)
        assert outputs(lines)[3:] == [("live/0", "stdout", b"end")]
        await end(harness, node, order, 1, 1)
        await reading
        assert lines[-1].end is not None and lines[-1].end.tasks == 2

    run_scenario(scenario)


def test_a_follower_sees_the_next_attempt_and_the_tail_of_what_was_before() -> None:
    async def scenario(harness: GatewayHarness) -> None:
        node = await harness.join(cpu=8)
        await harness.run("tries", restart={"policy": "on-failure", "max": 1, "delay": "10ms"})
        [(_, order)] = harness.orders()
        await start(harness, node, order, 0, 1)
        harness.log_workers.write(1, b"old\nfirst\n")
        lines: list[JobLogLine] = []
        stream = await harness.gateway.streams.job_logs(reference("tries"), JobLogQuery(follow=True, tail=1))
        reading = asyncio.create_task(read_all(stream, lines))
        await harness.settle(1)
        await end(harness, node, order, 0, 1, 3)
        await harness.settle(2)
        [(_, order)] = harness.orders()
        await start(harness, node, order, 0, 2)
        harness.log_workers.write(2, b"second\n")
        await end(harness, node, order, 0, 2)
        await reading
        logs = [line.log for line in lines if line.log is not None]
        assert [(log.attempt, log.data) for log in logs] == [(1, b"first\n"), (2, b"second\n")]
        last = lines[-1].end
        assert last is not None and [gap.tasks for gap in last.left_out] == [1]

    run_scenario(scenario)
