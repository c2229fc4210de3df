"""Streams of the gateway: a job to its end, logs as they are written, events as they are committed."""

from __future__ import annotations

import asyncio
from contextlib import aclosing

import pytest

from shunter.model.errors import Conflict, Gone, Unavailable
from shunter.model.lifecycles import NodeEvent
from shunter.model.protocol.worker_messages import LOG_GONE
from shunter.model.rest.job_views import FollowLine
from shunter.ports.jobs import LogChunk, LogQuery
from shunter.ports.principals import TaskReference
from tests.unit.gateway.harness import GatewayHarness, read_all, reference, run_scenario


def test_a_follower_hears_the_job_first_and_its_end_last() -> None:
    async def scenario(harness: GatewayHarness) -> None:
        node = await harness.join()
        await harness.run("job")
        lines: list[FollowLine] = []
        reading = asyncio.create_task(
            read_all(await harness.gateway.streams.follow_job(reference("job"), "end"), lines)
        )
        await harness.settle()
        assert [line.job is not None for line in lines] == [True]
        [(_, order)] = harness.orders()
        await harness.end(node, order, exit_code=4)
        await reading
        end = lines[-1].end
        assert end is not None
        assert (len(lines), end.state, lines[-1].exit_code) == (2, "failed", 4)

    run_scenario(scenario)


def test_following_what_has_ended_tells_it_at_once() -> None:
    async def scenario(harness: GatewayHarness) -> None:
        node = await harness.join()
        await harness.run_to_end(node, "job", exit_code=3)
        for mode in ("end", "progress", "logs"):
            lines: list[FollowLine] = []
            await read_all(await harness.gateway.streams.follow_job(reference("job"), mode), lines)
            assert [line.end is not None for line in lines] == [False, True]
            assert lines[-1].exit_code == 3

    run_scenario(scenario)


@pytest.mark.parametrize("mode", ["end", "progress", "logs"])
def test_a_job_that_ends_before_its_first_line_is_read_is_told_with_its_end(mode: str) -> None:
    async def scenario(harness: GatewayHarness) -> None:
        node = await harness.join()
        await harness.run("job")
        followed = await harness.gateway.streams.follow_job(reference("job"), mode)
        [(_, order)] = harness.orders()
        await harness.end(node, order, exit_code=4)
        lines: list[FollowLine] = []
        async with asyncio.timeout(5):
            await read_all(followed, lines)
        assert [line.end is not None for line in lines] == [False, True]
        assert lines[-1].exit_code == 4

    run_scenario(scenario)


def test_progress_shows_every_rest_however_close_the_changes_were() -> None:
    """A change that comes right after another is shown too, even if nothing follows it for a long time."""

    async def scenario(harness: GatewayHarness) -> None:
        node = await harness.join(cpu=2)
        await harness.run("job", count=3)
        lines: list[FollowLine] = []
        reading = asyncio.create_task(
            read_all(await harness.gateway.streams.follow_job(reference("job"), "progress"), lines)
        )
        for _, order in harness.orders():
            await harness.start_task(node, order, 1)
        await harness.settle(10.0)
        assert lines[-1].progress is not None
        assert lines[-1].progress.counts == {"queued": 1, "running": 2}
        reading.cancel()

    run_scenario(scenario)


def test_progress_comes_at_most_ten_times_a_second() -> None:
    async def scenario(harness: GatewayHarness) -> None:
        node = await harness.join(cpu=1)
        await harness.run("job", count=100_000)
        lines: list[FollowLine] = []
        reading = asyncio.create_task(
            read_all(await harness.gateway.streams.follow_job(reference("job"), "progress"), lines)
        )
        for _ in range(50):
            for _, order in harness.orders():
                await harness.end(node, order)
            await harness.settle(0.02)
        shown = [line for line in lines if line.progress is not None]
        assert 5 <= len(shown) <= 11
        reading.cancel()

    run_scenario(scenario)


def test_a_manager_that_stops_ends_the_stream_without_the_end() -> None:
    async def scenario(harness: GatewayHarness) -> None:
        await harness.join()
        await harness.run("job")
        for mode in ("end", "progress", "logs"):
            lines: list[FollowLine] = []
            reading = asyncio.create_task(
                read_all(await harness.gateway.streams.follow_job(reference("job"), mode), lines)
            )
            await harness.settle()
            harness.engine.feed.end()
            await reading
            assert not any(line.end for line in lines)

    run_scenario(scenario)


def test_output_is_followed_through_every_attempt() -> None:
    async def scenario(harness: GatewayHarness) -> None:
        node = await harness.join()
        await harness.run("job", restart={"policy": "on-failure", "max": 1, "delay": "1s", "jitter": 0})
        lines: list[FollowLine] = []
        reading = asyncio.create_task(
            read_all(await harness.gateway.streams.follow_job(reference("job"), "logs"), lines)
        )
        for segment, text, code in ((1, b"first", 1), (2, b"second", 0)):
            [(_, order)] = harness.orders()
            harness.log_workers.write(segment, text)
            await harness.start_task(node, order, segment)
            await harness.settle(0.5)
            await harness.end_task(node, order, segment, code)
            await harness.settle(2.0)
        await reading
        assert [line.log.data for line in lines if line.log is not None] == [b"first", b"second"]
        assert lines[-1].exit_code == 0

    run_scenario(scenario)


def test_what_a_task_wrote_last_is_told_before_its_end() -> None:
    async def scenario(harness: GatewayHarness) -> None:
        node = await harness.join()
        await harness.run("job")
        lines: list[FollowLine] = []
        reading = asyncio.create_task(
            read_all(await harness.gateway.streams.follow_job(reference("job"), "logs"), lines)
        )
        [(_, order)] = harness.orders()
        harness.log_workers.write(1, b"out")
        harness.log_workers.write(1, b"err", "stderr")
        await harness.end_task(node, order, 1)
        await reading
        told = [(line.log.stream, line.log.data) for line in lines if line.log is not None]
        assert told == [("stdout", b"out"), ("stderr", b"err")]
        assert lines[-1].end is not None

    run_scenario(scenario)


def test_a_node_that_is_away_for_a_while_does_not_end_the_stream() -> None:
    async def scenario(harness: GatewayHarness) -> None:
        node = await harness.join()
        await harness.run("job")
        lines: list[FollowLine] = []
        reading = asyncio.create_task(
            read_all(await harness.gateway.streams.follow_job(reference("job"), "logs"), lines)
        )
        [(_, order)] = harness.orders()
        await harness.start_task(node, order, 1)
        harness.log_workers.is_reachable = False
        await harness.settle(5.0)
        harness.log_workers.write(1, b"back")
        harness.log_workers.is_reachable = True
        await harness.settle(1.0)
        assert [line.log.data for line in lines if line.log is not None] == [b"back"]
        harness.log_workers.is_reachable = False
        await harness.end_task(node, order, 1)
        await reading
        assert lines[-1].end is not None
        assert "not connected" in (lines[-1].output_error or "")

    run_scenario(scenario)


def test_output_that_cannot_be_read_for_a_moment_comes_before_the_end() -> None:
    """Near the limit of open files a worker cannot open the log of a task that has ended."""

    async def scenario(harness: GatewayHarness) -> None:
        node = await harness.join()
        await harness.run("job")
        lines: list[FollowLine] = []
        reading = asyncio.create_task(
            read_all(await harness.gateway.streams.follow_job(reference("job"), "logs"), lines)
        )
        [(_, order)] = harness.orders()
        harness.log_workers.log_error = "the log could not be read: Too many open files"
        harness.log_workers.write(1, b"hello")
        await harness.end_task(node, order, 1)
        await harness.settle(2.0)
        assert all(line.end is None for line in lines)
        harness.log_workers.log_error = ""
        await reading
        assert [line.log.data for line in lines if line.log is not None] == [b"hello"]
        assert lines[-1].end is not None and lines[-1].output_error is None

    run_scenario(scenario)


@pytest.mark.parametrize("error", ["the log could not be read: Too many open files", LOG_GONE])
def test_output_that_is_missing_at_the_end_is_told(error: str) -> None:
    async def scenario(harness: GatewayHarness) -> None:
        node = await harness.join()
        await harness.run_to_end(node, "job")
        harness.log_workers.log_error = error
        lines: list[FollowLine] = []
        await read_all(await harness.gateway.streams.follow_job(reference("job"), "logs"), lines)
        assert lines[-1].end is not None and lines[-1].output_error == error
        for follow in (harness.gateway.streams.read_log, harness.gateway.streams.follow_log):
            with pytest.raises(Gone if error == LOG_GONE else Unavailable, match="log"):
                found = await follow(reference("job"), TaskReference(0), LogQuery())
                await anext(found)  # type: ignore[arg-type]

    run_scenario(scenario)


def test_reading_on_skips_what_the_log_limit_cut() -> None:
    async def scenario(harness: GatewayHarness) -> None:
        node = await harness.join()
        await harness.run("job")
        [(_, order)] = harness.orders()
        harness.log_workers.write(1, b"begin" + b"x" * 90 + b"final")
        harness.log_workers.cut = (5, 95)
        await harness.end_task(node, order, 1)
        pieces = [
            piece
            async for piece in await harness.gateway.streams.follow_log(reference("job"), TaskReference(0), LogQuery())
        ]
        assert b"".join(piece.data for piece in pieces) == b"beginfinal"
        assert pieces[0].truncated
        first = await harness.gateway.streams.read_log(reference("job"), TaskReference(0), LogQuery())
        assert first == LogChunk(b"begin", 95, eof=False, truncated=True)

    run_scenario(scenario)


def test_a_followed_log_waits_for_its_task_and_ends_with_it() -> None:
    async def scenario(harness: GatewayHarness) -> None:
        await harness.run("job")  # node 'yet' does not exist
        pieces: list[LogChunk] = []
        reading = asyncio.create_task(
            read_all(await harness.gateway.streams.follow_log(reference("job"), TaskReference(0), LogQuery()), pieces)
        )
        await harness.settle(1.0)
        assert pieces[0].data == b""  # the first piece comes at once
        node = await harness.join()
        [(_, order)] = harness.orders()
        await harness.start_task(node, order, 7)
        harness.log_workers.write(7, b"hello")
        await harness.settle(1.0)
        assert not reading.done()
        await harness.end_task(node, order, 7)
        await reading
        assert b"".join(piece.data for piece in pieces) == b"hello"

    run_scenario(scenario)


def test_what_is_written_before_a_container_starts_is_read_at_once_and_told_once() -> None:
    """How far its image is: the place of its log is reported only when it has started."""

    async def scenario(harness: GatewayHarness) -> None:
        node = await harness.join()
        await harness.engine.attribute_node("n1", {"runtime.docker": "1"})
        await harness.run("job", image="busybox")
        [(_, order)] = harness.orders()
        harness.log_workers.opened[order.job, order.group, 0, order.attempt] = 7
        harness.log_workers.write(7, b"pulling\n")
        read = harness.gateway.streams.read_log
        assert (await read(reference("job"), TaskReference(0), LogQuery())).data == b"pulling\n"
        lines: list[FollowLine] = []
        following = asyncio.create_task(
            read_all(await harness.gateway.streams.follow_job(reference("job"), "logs"), lines)
        )
        pieces: list[LogChunk] = []
        reading = asyncio.create_task(
            read_all(await harness.gateway.streams.follow_log(reference("job"), TaskReference(0), LogQuery()), pieces)
        )
        await harness.settle(1.0)
        assert b"".join(piece.data for piece in pieces) == b"pulling\n"
        await harness.start_task(node, order, 7)
        harness.log_workers.write(7, b"hello")
        await harness.end_task(node, order, 7)
        await reading
        await following
        assert b"".join(piece.data for piece in pieces) == b"pulling\nhello"
        assert b"".join(line.log.data for line in lines if line.log is not None) == b"pulling\nhello"

    run_scenario(scenario)


def test_the_log_of_a_node_that_is_down_is_refused_at_once_and_not_to_be_retried() -> None:
    async def scenario(harness: GatewayHarness) -> None:
        node = await harness.join("n1")
        await harness.run_to_end(node, "job")
        harness.log_workers.is_reachable = False
        await harness.engine.node_event(node, NodeEvent.TIMED_OUT, "no heartbeat for 10 s")
        await harness.settle()
        for read in (
            harness.gateway.streams.read_log(reference("job"), TaskReference(0), LogQuery()),
            first_chunk(harness),
        ):
            with pytest.raises(Conflict) as refused:
                await read
            assert refused.value.detail == (
                "node 'n1' is down (no heartbeat for 10 s): its logs cannot be read now; try again when it is back"
            )

    run_scenario(scenario)


def test_the_log_of_a_node_that_is_gone_is_unavailable() -> None:
    async def scenario(harness: GatewayHarness) -> None:
        node = await harness.join()
        await harness.run_to_end(node, "job")
        harness.log_workers.is_reachable = False
        for read in (
            harness.gateway.streams.read_log(reference("job"), TaskReference(0), LogQuery()),
            first_chunk(harness),
        ):
            try:
                await read
            except Unavailable as error:
                assert "not connected" in error.detail
            else:
                raise AssertionError("it must be told")

    run_scenario(scenario)


async def first_chunk(harness: GatewayHarness) -> LogChunk:
    async with aclosing(
        await harness.gateway.streams.follow_log(reference("job"), TaskReference(0), LogQuery())
    ) as pieces:
        return await anext(pieces)
