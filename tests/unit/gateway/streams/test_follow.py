"""Streams of the gateway: a job to its end, logs as they are written, events as they are committed."""

from __future__ import annotations

import asyncio
from contextlib import aclosing

from shunter.model.errors import Unavailable
from shunter.model.rest.views import EventView, FollowLine
from shunter.ports.gateway import EventPosition, EventQuery, LogPiece, LogQuery, TaskReference
from tests.unit.gateway.harness import ANNA, GatewayStage, play, read_all, reference


def test_a_follower_hears_the_job_first_and_its_end_last() -> None:
    async def scene(stage: GatewayStage) -> None:
        node = await stage.join()
        await stage.run("job")
        lines: list[FollowLine] = []
        reading = asyncio.create_task(read_all(await stage.gateway.follow(ANNA, reference("job"), "end"), lines))
        await stage.settle()
        assert [line.job is not None for line in lines] == [True]
        [(_, order)] = stage.orders()
        await stage.end(node, order, exit_code=4)
        await reading
        end = lines[-1].end
        assert end is not None
        assert (len(lines), end.state, lines[-1].exit_code) == (2, "failed", 4)

    play(scene)


def test_following_what_has_ended_tells_it_at_once() -> None:
    async def scene(stage: GatewayStage) -> None:
        node = await stage.join()
        await stage.run_to_end(node, "job", exit_code=3)
        for mode in ("end", "progress", "logs"):
            lines: list[FollowLine] = []
            await read_all(await stage.gateway.follow(ANNA, reference("job"), mode), lines)
            assert [line.end is not None for line in lines] == [False, True]
            assert lines[-1].exit_code == 3

    play(scene)


def test_progress_shows_every_rest_however_close_the_changes_were() -> None:
    """A change that comes right after another is shown too, even if nothing follows it for a long time."""

    async def scene(stage: GatewayStage) -> None:
        node = await stage.join(cpu=2)
        await stage.run("job", count=3)
        lines: list[FollowLine] = []
        reading = asyncio.create_task(read_all(await stage.gateway.follow(ANNA, reference("job"), "progress"), lines))
        for _, order in stage.orders():
            await stage.start_task(node, order, 1)
        await stage.settle(10.0)
        assert lines[-1].progress is not None
        assert lines[-1].progress.counts == {"queued": 1, "running": 2}
        reading.cancel()

    play(scene)


def test_progress_comes_at_most_ten_times_a_second() -> None:
    async def scene(stage: GatewayStage) -> None:
        node = await stage.join(cpu=1)
        await stage.run("job", count=100_000)
        lines: list[FollowLine] = []
        reading = asyncio.create_task(read_all(await stage.gateway.follow(ANNA, reference("job"), "progress"), lines))
        for _ in range(50):
            for _, order in stage.orders():
                await stage.end(node, order)
            await stage.settle(0.02)
        shown = [line for line in lines if line.progress is not None]
        assert 5 <= len(shown) <= 11
        reading.cancel()

    play(scene)


def test_a_manager_that_stops_ends_the_stream_without_the_end() -> None:
    async def scene(stage: GatewayStage) -> None:
        await stage.join()
        await stage.run("job")
        for mode in ("end", "progress", "logs"):
            lines: list[FollowLine] = []
            reading = asyncio.create_task(read_all(await stage.gateway.follow(ANNA, reference("job"), mode), lines))
            await stage.settle()
            stage.engine.feed.end()
            await reading
            assert not any(line.end for line in lines)

    play(scene)


def test_output_is_followed_through_every_attempt() -> None:
    async def scene(stage: GatewayStage) -> None:
        node = await stage.join()
        await stage.run("job", restart={"policy": "on-failure", "max": 1, "delay": "1s", "jitter": 0})
        lines: list[FollowLine] = []
        reading = asyncio.create_task(read_all(await stage.gateway.follow(ANNA, reference("job"), "logs"), lines))
        for segment, text, code in ((1, b"first", 1), (2, b"second", 0)):
            [(_, order)] = stage.orders()
            stage.writing.write(segment, text)
            await stage.start_task(node, order, segment)
            await stage.settle(0.5)
            await stage.end_task(node, order, segment, code)
            await stage.settle(2.0)
        await reading
        assert [line.log.data for line in lines if line.log is not None] == [b"first", b"second"]
        assert lines[-1].exit_code == 0

    play(scene)


def test_what_a_task_wrote_last_is_told_before_its_end() -> None:
    async def scene(stage: GatewayStage) -> None:
        node = await stage.join()
        await stage.run("job")
        lines: list[FollowLine] = []
        reading = asyncio.create_task(read_all(await stage.gateway.follow(ANNA, reference("job"), "logs"), lines))
        [(_, order)] = stage.orders()
        stage.writing.write(1, b"out")
        stage.writing.write(1, b"err", "stderr")
        await stage.end_task(node, order, 1)
        await reading
        told = [(line.log.stream, line.log.data) for line in lines if line.log is not None]
        assert told == [("stdout", b"out"), ("stderr", b"err")]
        assert lines[-1].end is not None

    play(scene)


def test_a_node_that_is_away_for_a_while_does_not_end_the_stream() -> None:
    async def scene(stage: GatewayStage) -> None:
        node = await stage.join()
        await stage.run("job")
        lines: list[FollowLine] = []
        reading = asyncio.create_task(read_all(await stage.gateway.follow(ANNA, reference("job"), "logs"), lines))
        [(_, order)] = stage.orders()
        await stage.start_task(node, order, 1)
        stage.writing.is_reachable = False
        await stage.settle(5.0)
        stage.writing.write(1, b"back")
        stage.writing.is_reachable = True
        await stage.settle(1.0)
        assert [line.log.data for line in lines if line.log is not None] == [b"back"]
        stage.writing.is_reachable = False
        await stage.end_task(node, order, 1)
        await reading
        assert lines[-1].end is not None

    play(scene)


def test_reading_on_skips_what_the_log_limit_cut() -> None:
    async def scene(stage: GatewayStage) -> None:
        node = await stage.join()
        await stage.run("job")
        [(_, order)] = stage.orders()
        stage.writing.write(1, b"begin" + b"x" * 90 + b"final")
        stage.writing.cut = (5, 95)
        await stage.end_task(node, order, 1)
        pieces = [
            piece
            async for piece in await stage.gateway.follow_log(ANNA, reference("job"), TaskReference(0), LogQuery())
        ]
        assert b"".join(piece.data for piece in pieces) == b"beginfinal"
        assert pieces[0].truncated
        first = await stage.gateway.read_log(ANNA, reference("job"), TaskReference(0), LogQuery())
        assert first == LogPiece(b"begin", 95, eof=False, truncated=True)

    play(scene)


def test_a_followed_log_waits_for_its_task_and_ends_with_it() -> None:
    async def scene(stage: GatewayStage) -> None:
        await stage.run("job")  # there is no node yet
        pieces: list[LogPiece] = []
        reading = asyncio.create_task(
            read_all(await stage.gateway.follow_log(ANNA, reference("job"), TaskReference(0), LogQuery()), pieces)
        )
        await stage.settle(1.0)
        assert pieces[0].data == b""  # the first piece comes at once
        node = await stage.join()
        [(_, order)] = stage.orders()
        await stage.start_task(node, order, 7)
        stage.writing.write(7, b"hello")
        await stage.settle(1.0)
        assert not reading.done()
        await stage.end_task(node, order, 7)
        await reading
        assert b"".join(piece.data for piece in pieces) == b"hello"

    play(scene)


def test_what_is_written_before_a_container_starts_is_read_at_once_and_told_once() -> None:
    """How far its image is: the place of its log is reported only when it has started."""

    async def scene(stage: GatewayStage) -> None:
        node = await stage.join()
        await stage.engine.attribute_node("n1", {"runtime.docker": "1"})
        await stage.run("job", image="busybox")
        [(_, order)] = stage.orders()
        stage.writing.opened[order.job, order.group, 0, order.attempt] = 7
        stage.writing.write(7, b"pulling\n")
        read = stage.gateway.read_log
        assert (await read(ANNA, reference("job"), TaskReference(0), LogQuery())).data == b"pulling\n"
        lines: list[FollowLine] = []
        following = asyncio.create_task(read_all(await stage.gateway.follow(ANNA, reference("job"), "logs"), lines))
        pieces: list[LogPiece] = []
        reading = asyncio.create_task(
            read_all(await stage.gateway.follow_log(ANNA, reference("job"), TaskReference(0), LogQuery()), pieces)
        )
        await stage.settle(1.0)
        assert b"".join(piece.data for piece in pieces) == b"pulling\n"
        await stage.start_task(node, order, 7)
        stage.writing.write(7, b"hello")
        await stage.end_task(node, order, 7)
        await reading
        await following
        assert b"".join(piece.data for piece in pieces) == b"pulling\nhello"
        assert b"".join(line.log.data for line in lines if line.log is not None) == b"pulling\nhello"

    play(scene)


def test_the_log_of_a_node_that_is_gone_is_unavailable() -> None:
    async def scene(stage: GatewayStage) -> None:
        node = await stage.join()
        await stage.run_to_end(node, "job")
        stage.writing.is_reachable = False
        for read in (stage.gateway.read_log(ANNA, reference("job"), TaskReference(0), LogQuery()), first_piece(stage)):
            try:
                await read
            except Unavailable as error:
                assert "not connected" in error.detail
            else:
                raise AssertionError("it must be told")

    play(scene)


def test_events_are_told_once_each_from_any_position_on() -> None:
    """R-19: whatever event a client saw last, it gets the ones behind it, from the store and live, without a gap."""

    async def scene(stage: GatewayStage) -> None:
        node = await stage.join()
        await stage.run_to_end(node, "early")
        every = (await stage.gateway.events(ANNA, EventQuery(limit=1000))).items
        for number, event in enumerate(every):
            version, _, place = event.id.partition("-")
            behind = EventQuery(after=EventPosition(int(version), int(place)))
            seen: list[EventView] = []
            reading = asyncio.create_task(read_all(await stage.gateway.subscribe(ANNA, behind), seen))
            await stage.settle()
            assert [each.id for each in seen] == [each.id for each in every[number + 1 :]]
            reading.cancel()
        live: list[EventView] = []
        reading = asyncio.create_task(read_all(await stage.gateway.subscribe(ANNA, EventQuery()), live))
        await stage.settle()
        await stage.run_to_end(node, "late")
        assert {event.job for event in live} == {"late"}
        assert len({event.id for event in live}) == len(live)
        reading.cancel()

    play(scene)


async def first_piece(stage: GatewayStage) -> LogPiece:
    async with aclosing(await stage.gateway.follow_log(ANNA, reference("job"), TaskReference(0), LogQuery())) as pieces:
        return await anext(pieces)
