"""Queries to workers through their connections: answers, timeouts, and limits."""

from __future__ import annotations

import asyncio

import pytest

from shunter.model.errors import Busy, Unavailable
from shunter.model.protocol.worker_messages import LogData, MachineStats, ReadLog, ReadStats, Refused, StatsData
from shunter.watcher.settings import WatcherSettings
from tests.unit.watcher.harness import Harness, virtual

# ---- questions ----


@virtual
async def test_a_log_is_read_through_the_connection() -> None:
    harness = await Harness().open()
    worker = await harness.join()
    reading = asyncio.create_task(harness.watcher.read_log(worker.node, 5, 6, "stderr", 7, 8))
    await harness.settle()
    question = worker.link.of(ReadLog)[0]
    assert question == ReadLog(question.request, 5, 6, "stderr", 7, 8)
    await worker.send(LogData(question.request, b"text", True))
    assert await reading == LogData(question.request, b"text", True)


@virtual
async def test_a_worker_that_sends_more_than_was_asked_for_is_thrown_out() -> None:
    harness = await Harness().open()
    worker = await harness.join()
    reading = asyncio.create_task(harness.watcher.read_log(worker.node, 5, 6, "stdout", 0, 8))
    await harness.settle()
    await worker.send(LogData(worker.link.of(ReadLog)[0].request, b"123456789", True))
    with pytest.raises(Unavailable, match="'n1' answered with more than was asked for"):
        await reading
    assert worker.link.of(Refused)[0].code == "invalid"


@virtual
async def test_answers_find_their_questions_whatever_their_order() -> None:
    harness = await Harness().open()
    worker = await harness.join()
    readings = [asyncio.create_task(harness.watcher.read_log(worker.node, 1, n, "stdout", 0, 10)) for n in range(3)]
    await harness.settle()
    for question in reversed(worker.link.of(ReadLog)):
        await worker.send(LogData(question.request, str(question.record).encode(), True))
    assert [(await reading).data for reading in readings] == [b"0", b"1", b"2"]


@virtual
async def test_statistics_are_read_fresh_from_the_worker() -> None:
    harness = await Harness().open()
    worker = await harness.join()
    reading = asyncio.create_task(harness.watcher.read_stats(worker.node))
    await harness.settle()
    answer = StatsData(worker.link.of(ReadStats)[0].request, MachineStats(1, cpu_busy=0.5), [])
    await worker.send(answer)
    assert await reading == answer


@virtual
async def test_a_question_without_an_answer_fails_at_the_timeout_and_a_late_answer_is_ignored() -> None:
    harness = await Harness(WatcherSettings(request_timeout_s=4.0, requests_max=1)).open()
    worker = await harness.join()
    worker.beat_every(1.0)
    asked_at = harness.clock.now()
    with pytest.raises(Unavailable, match="'n1' did not answer within 4 s"):
        await harness.watcher.read_stats(worker.node)
    assert harness.clock.now() - asked_at == pytest.approx(4.0)
    await worker.send(StatsData(worker.link.of(ReadStats)[0].request, MachineStats(1), []))
    assert worker.link.close_reason is None
    with pytest.raises(Unavailable, match="did not answer"):  # and not Busy: the first question is over
        await harness.watcher.read_stats(worker.node)


@virtual
async def test_a_question_fails_at_once_when_the_connection_closes_or_is_not_there() -> None:
    harness = await Harness().open()
    worker = await harness.join()
    asked_at = harness.clock.now()
    reading = asyncio.create_task(harness.watcher.read_stats(worker.node))
    await harness.settle()
    worker.session.closed("reset by peer")
    with pytest.raises(Unavailable, match="reset by peer"):
        await reading
    with pytest.raises(Unavailable, match=f"node '{worker.name}' is not connected"):
        await harness.watcher.read_stats(worker.node)
    assert harness.clock.now() == asked_at


@virtual
async def test_an_answer_of_the_wrong_kind_is_no_answer() -> None:
    harness = await Harness().open()
    worker = await harness.join()
    reading = asyncio.create_task(harness.watcher.read_stats(worker.node))
    await harness.settle()
    await worker.send(LogData(worker.link.of(ReadStats)[0].request, b"", True))
    with pytest.raises(Unavailable, match="answered with LogData"):
        await reading


@virtual
async def test_a_worker_with_too_many_unanswered_questions_is_busy() -> None:
    harness = await Harness(WatcherSettings(requests_max=2)).open()
    worker = await harness.join()
    readings = [asyncio.create_task(harness.watcher.read_stats(worker.node)) for _ in range(2)]
    await harness.settle()
    with pytest.raises(Busy, match="2 unanswered requests"):
        await harness.watcher.read_stats(worker.node)
    for question in worker.link.of(ReadStats):
        await worker.send(StatsData(question.request, MachineStats(1), []))
    await asyncio.gather(*readings)
