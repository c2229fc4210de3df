"""The watcher restarts with each leading engine, and ends with the manager."""

from __future__ import annotations

import asyncio

import pytest

from shunter.model.errors import Unavailable
from shunter.model.protocol.worker_messages import Ack, Inventory, LogData, ReadLog, Refused, Report, Welcome
from shunter.watcher.settings import WatcherSettings
from tests.unit.watcher.harness import HEARD, SILENT, TIMED_OUT, Harness, hello, virtual

# ---- reset and the end ----

pytestmark = pytest.mark.usefixtures("short_timeout")


@virtual
async def test_after_a_reset_every_worker_must_bring_its_inventory_again_and_is_not_taken_for_lost() -> None:
    harness = await Harness().open()
    workers = [await harness.join(f"n{number}") for number in range(3)]
    harness.watcher.reset("new epoch")
    assert [worker.link.refused for worker in workers] == [Refused("reset", "new epoch", retry=True)] * 3
    assert harness.watcher.connected == 0
    await harness.advance(1.0)
    for worker in workers:
        (await harness.join(worker.name)).beat_every(1.0)
    await harness.advance(10.0)
    assert [harness.engine.events_of(worker.node) for worker in workers] == [[HEARD, HEARD]] * 3
    assert harness.engine.call_kinds().count("inventory") == 6


@virtual
async def test_after_a_reset_a_worker_that_does_not_come_back_is_down_when_its_time_is_over() -> None:
    harness = await Harness(WatcherSettings(return_s=15.0)).open()
    worker = await harness.join()
    reset_at = harness.clock.now()
    harness.watcher.reset("new epoch")
    await harness.advance(16.0)
    assert harness.engine.events_of(worker.node) == [HEARD, SILENT, TIMED_OUT]
    assert 15.0 <= harness.engine.when(worker.node, TIMED_OUT) - reset_at <= 16.0


@virtual
async def test_after_a_reset_the_engine_hears_again_who_was_down() -> None:
    """What it was told may not have been committed."""
    harness = await Harness().open()
    worker = await harness.join()
    await harness.advance(5.0)
    harness.watcher.reset("new epoch")
    await harness.settle()
    assert harness.engine.events_of(worker.node) == [HEARD, SILENT, TIMED_OUT, TIMED_OUT]


@virtual
async def test_no_node_is_down_because_the_manager_could_not_commit() -> None:
    harness = await Harness(WatcherSettings(return_s=15.0)).open()
    worker = await harness.join()
    harness.watcher.suspend("the disk is full")
    worker.session.closed("nobody answers")
    await harness.advance(600.0)
    assert harness.engine.events_of(worker.node) == [HEARD, SILENT]
    harness.watcher.reset("new epoch")
    await harness.advance(1.0)
    (await harness.join(worker.name)).beat_every(1.0)
    await harness.advance(30.0)
    assert harness.engine.events_of(worker.node) == [HEARD, SILENT, HEARD]


@virtual
async def test_a_worker_stays_connected_while_the_manager_cannot_commit() -> None:
    """So the output of its tasks can be read. Its reports wait for the reset, after which it sends them again."""
    harness = await Harness().open()
    worker = await harness.join()
    harness.engine.message_error = Unavailable("the disk is full")
    harness.watcher.suspend("the disk is full")
    await worker.send(Report(seq=7))
    assert (worker.link.refused, harness.watcher.connected) == (None, 1)
    reading = asyncio.create_task(harness.watcher.read_log(worker.node, 1, 0, "stdout", 0, 100))
    await harness.settle()
    [request] = worker.link.of(ReadLog)
    await worker.send(LogData(request.request, data=b"output", eof=True))
    assert (await reading).data == b"output"
    harness.engine.message_error = None
    harness.watcher.reset("new epoch")
    assert worker.link.refused == Refused("reset", "new epoch", retry=True)
    assert worker.link.of(Ack) == []


@virtual
async def test_a_reset_keeps_the_interval_of_a_large_cluster() -> None:
    harness = await Harness().open()
    for number in range(401):
        await harness.join(f"n{number}")
    harness.watcher.reset("new epoch")
    assert (await harness.join("n7")).link.of(Welcome)[0].heartbeat_s == 3.0


@virtual
async def test_after_a_restart_the_interval_is_that_of_the_expected_cluster_at_once() -> None:
    harness = await Harness().open(expected=tuple(range(1, 402)))
    assert (await harness.join("n7")).link.of(Welcome)[0].heartbeat_s == 3.0


@virtual
async def test_after_a_reset_the_engine_is_not_told_what_was_true_before_it() -> None:
    harness = await Harness().open()
    harness.engine.event_error = Unavailable("the commit failed")
    worker = await harness.join()
    harness.watcher.reset("new epoch")
    harness.engine.event_error = None
    await harness.advance(1.0)
    assert harness.engine.events_of(worker.node) == []


@virtual
async def test_before_an_engine_leads_workers_are_told_to_try_again() -> None:
    harness = Harness()
    link, session = harness.connect()
    await session.received(hello())
    assert link.refused is not None
    assert (link.refused.code, link.refused.retry) == ("not_leader", True)


@virtual
async def test_a_watcher_that_stops_ends_every_connection_and_says_no_more_about_nodes(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level("INFO")
    harness = await Harness().open()
    worker = await harness.join()
    greeting, _ = harness.connect()
    await harness.watcher.stop("upgrade")
    late, session = harness.connect()
    await session.received(hello("n2"))
    expected = Refused("shutting_down", "upgrade", retry=True)
    assert [worker.link.refused, greeting.refused, late.refused] == [expected] * 3
    await asyncio.sleep(60.0)
    assert harness.engine.events_of(worker.node) == [HEARD]
    assert not any("node.silent" in record.getMessage() for record in caplog.records)


@virtual
async def test_a_report_that_arrives_when_the_watcher_has_stopped_is_not_lost_silently() -> None:
    harness = await Harness().open()
    worker = await harness.join()
    await harness.watcher.stop("upgrade")
    calls = list(harness.engine.calls)
    await worker.send(Report(2))
    await worker.send(Inventory(3, [], []))
    assert harness.engine.calls == calls
    assert worker.link.of(Ack) == []
