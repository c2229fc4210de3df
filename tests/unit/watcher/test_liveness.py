"""Which nodes are silent, down or back, and when. All in virtual time."""

from __future__ import annotations

import asyncio

import pytest

from shunter.model.errors import Unavailable
from shunter.model.protocol.worker_messages import Goodbye, Inventory, Report
from shunter.watcher.settings import WatcherSettings
from tests.unit.watcher.harness import HEARD, LEFT, SILENT, TIMED_OUT, FakeWorker, Harness, hello, virtual

pytestmark = pytest.mark.usefixtures("short_timeout")


@virtual
async def test_a_node_that_keeps_its_pace_is_never_suspected() -> None:
    harness = await Harness().open()
    worker = await harness.join()
    worker.beat_every(1.0)
    await harness.advance(100.0)
    assert harness.engine.events_of(worker.node) == [HEARD]


@pytest.mark.parametrize("timeout_s", [3.0, 5.0, 20.0])
@pytest.mark.parametrize("phase_s", [0.0, 0.1, 0.249, 0.6])
def test_a_silent_node_is_suspected_and_then_down_within_the_timeout_and_a_second(
    timeout_s: float, phase_s: float
) -> None:
    @virtual
    async def scenario() -> None:
        harness = await Harness(WatcherSettings(timeout_s=timeout_s)).open()
        await harness.advance(phase_s)
        worker = await harness.join()
        heard_at = harness.clock.now()
        await harness.advance(timeout_s + 1.0)
        assert harness.engine.events_of(worker.node) == [HEARD, SILENT, TIMED_OUT]
        assert 2.0 <= harness.engine.when(worker.node, SILENT) - heard_at <= 3.5
        assert timeout_s <= harness.engine.when(worker.node, TIMED_OUT) - heard_at <= timeout_s + 1.0
        assert worker.link.refused is not None
        assert worker.link.refused.code == "silent"

    scenario()


@virtual
async def test_a_suspected_node_that_is_heard_again_is_back_at_once() -> None:
    harness = await Harness().open()
    worker = await harness.join()
    await harness.advance(2.8)
    await worker.beat()
    await harness.settle()
    assert harness.engine.events_of(worker.node) == [HEARD, SILENT, HEARD]


@virtual
async def test_any_message_counts_as_a_sign_of_life() -> None:
    harness = await Harness().open()
    worker = await harness.join()
    for seq in range(2, 12):
        await harness.advance(1.5)
        await worker.send(Report(seq))
    assert harness.engine.events_of(worker.node) == [HEARD]


@virtual
async def test_a_closed_connection_makes_the_node_suspect_at_once_and_down_at_the_timeout() -> None:
    harness = await Harness().open()
    worker = await harness.join()
    await harness.advance(0.5)
    closed_at = harness.clock.now()
    worker.session.closed("reset by peer")
    await harness.settle()
    assert harness.engine.when(worker.node, SILENT) == closed_at
    await harness.advance(3.5)
    assert harness.engine.events_of(worker.node) == [HEARD, SILENT, TIMED_OUT]
    assert 2.5 <= harness.engine.when(worker.node, TIMED_OUT) - closed_at <= 3.5


@virtual
async def test_a_node_that_was_down_is_back_when_its_inventory_was_taken_and_not_before() -> None:
    harness = await Harness().open()
    first = await harness.join()
    await harness.advance(10.0)
    again = FakeWorker(harness, "n1", "b1")
    await again.send(hello())
    await again.beat()
    await harness.settle()
    assert harness.engine.events_of(first.node) == [HEARD, SILENT, TIMED_OUT]
    await again.send(Inventory(1, [], []))
    await harness.settle()
    assert again.node == first.node
    assert harness.engine.events_of(first.node) == [HEARD, SILENT, TIMED_OUT, HEARD]


@virtual
async def test_a_suspect_that_connects_again_is_back_only_after_its_inventory() -> None:
    harness = await Harness().open()
    first = await harness.join()
    first.session.closed("cable pulled")
    await harness.settle()
    again = FakeWorker(harness, "n1", "b1")
    await again.send(hello())
    await again.beat()
    await harness.settle()
    assert harness.engine.events_of(first.node) == [HEARD, SILENT]
    await again.send(Inventory(1, [], []))
    await harness.settle()
    assert harness.engine.events_of(first.node) == [HEARD, SILENT, HEARD]


@virtual
async def test_a_suspect_that_is_busy_with_its_inventory_is_not_timed_out() -> None:
    harness = await Harness().open()
    first = await harness.join()
    first.session.closed("worker restarts")
    again = FakeWorker(harness, "n1", "b2")
    await again.send(hello("n1", "b2"))
    await harness.advance(8.0)
    await again.send(Inventory(1, [], []))
    await harness.settle()
    assert TIMED_OUT not in harness.engine.events_of(first.node)
    assert again.link.close_reason is None


@virtual
async def test_a_suspect_that_connects_and_breaks_off_again_is_down_at_the_timeout() -> None:
    harness = await Harness().open()
    first = await harness.join()
    first.session.closed("worker crashed")
    again = FakeWorker(harness, "n1", "b2")
    await again.send(hello("n1", "b2"))
    again.session.closed("worker crashed again")
    closed_at = harness.clock.now()
    await harness.advance(5.0)
    assert harness.engine.when(first.node, TIMED_OUT) - closed_at <= 4.0


@virtual
async def test_a_worker_that_says_goodbye_has_left_and_is_not_timed_out_later() -> None:
    harness = await Harness().open()
    worker = await harness.join()
    await worker.send(Goodbye("upgrade"))
    await harness.advance(60.0)
    assert [event[2:] for event in harness.engine.events] == [(HEARD, "connected"), (LEFT, "left: upgrade")]
    assert worker.link.close_reason == "goodbye: upgrade"


@virtual
async def test_a_manager_that_stood_still_does_not_take_its_nodes_for_dead() -> None:
    harness = await Harness().open()
    worker = await harness.join()
    await harness.advance(1.0)
    asyncio.get_running_loop().jump(30.0)  # type: ignore[attr-defined]  # as after SIGSTOP and SIGCONT
    await harness.advance(1.0)
    await worker.beat()
    await harness.advance(1.0)
    assert harness.engine.events_of(worker.node) == [HEARD]
    await harness.advance(3.5)
    assert harness.engine.events_of(worker.node) == [HEARD, SILENT, TIMED_OUT]


@virtual
async def test_while_the_engine_takes_its_time_over_a_message_the_silence_is_not_the_workers() -> None:
    harness = await Harness().open()
    worker = await harness.join()
    harness.engine.gate.clear()
    saying = asyncio.create_task(worker.send(Report(2)))
    await harness.advance(20.0)
    assert harness.engine.events_of(worker.node) == [HEARD]
    harness.engine.gate.set()
    await saying
    await harness.advance(4.5)
    assert harness.engine.events_of(worker.node) == [HEARD, SILENT, TIMED_OUT]


@virtual
async def test_nodes_that_the_engine_expects_may_take_longer_to_come_back_than_a_heartbeat_timeout() -> None:
    harness = await Harness(WatcherSettings(return_s=15.0)).open(expected=(1, 2))
    await harness.advance(10.0)
    back = await harness.join("n1")
    back.beat_every(1.0)
    await harness.advance(10.0)
    assert (harness.engine.events_of(1), harness.engine.events_of(2)) == ([SILENT, HEARD], [SILENT, TIMED_OUT])


@virtual
async def test_a_connection_that_does_not_bring_its_inventory_in_time_is_refused() -> None:
    harness = await Harness(WatcherSettings(handshake_timeout_s=10.0)).open()
    mute, _ = harness.connect()
    greeted = FakeWorker(harness, "n1", "b1")
    await greeted.send(hello())
    await harness.advance(9.0)
    assert (mute.close_reason, greeted.link.close_reason) == (None, None)
    await harness.advance(2.0)
    assert [link.refused.code for link in (mute, greeted.link) if link.refused] == ["silent", "silent"]


@virtual
async def test_while_the_engine_takes_its_time_over_a_hello_the_handshake_does_not_run_out() -> None:
    harness = await Harness(WatcherSettings(handshake_timeout_s=10.0)).open()
    harness.engine.gate.clear()
    worker = FakeWorker(harness, "n1", "b1")
    saying = asyncio.create_task(worker.send(hello()))
    await harness.advance(60.0)
    harness.engine.gate.set()
    await saying
    assert worker.link.refused is None


@virtual
async def test_a_manager_that_stood_still_does_not_break_off_handshakes() -> None:
    harness = await Harness(WatcherSettings(handshake_timeout_s=10.0)).open()
    await harness.advance(1.0)
    link, _ = harness.connect()
    asyncio.get_running_loop().jump(30.0)  # type: ignore[attr-defined]  # as after SIGSTOP and SIGCONT
    await harness.advance(9.0)
    assert link.refused is None
    await harness.advance(2.0)
    assert link.refused is not None


@virtual
async def test_a_verdict_that_the_engine_cannot_take_now_is_told_again_until_it_can() -> None:
    harness = await Harness().open()
    worker = await harness.join()
    harness.engine.event_error = Unavailable("reloading")
    await harness.advance(5.0)
    assert harness.engine.events_of(worker.node) == [HEARD]
    harness.engine.event_error = None
    await harness.advance(1.0)
    assert harness.engine.events_of(worker.node) == [HEARD, TIMED_OUT]  # only the latest: suspicion is out of date


@virtual
async def test_a_verdict_on_a_node_that_connects_meanwhile_is_withdrawn() -> None:
    harness = await Harness().open()
    worker = await harness.join()
    harness.engine.event_error = Unavailable("reloading")
    await harness.advance(4.0)
    again = FakeWorker(harness, "n1", "b1")
    await again.send(hello())
    harness.engine.event_error = None
    await harness.advance(1.0)
    await again.send(Inventory(1, [], []))
    await harness.settle()
    assert again.node == worker.node
    assert harness.engine.events_of(worker.node) == [HEARD, HEARD]  # and not down after it has brought its inventory


@virtual
async def test_a_verdict_that_makes_the_engine_fail_does_not_end_the_watch() -> None:
    harness = await Harness().open()
    first, second = await harness.join("n1"), await harness.join("n2")
    second.beat_every(1.0)
    harness.engine.event_error = RuntimeError("a bug")
    await harness.advance(5.0)
    harness.engine.event_error = None
    second.stop_beating()
    await harness.advance(5.0)
    assert harness.engine.events_of(first.node) == [HEARD]
    assert harness.engine.events_of(second.node) == [HEARD, SILENT, TIMED_OUT]


@virtual
async def test_five_thousand_nodes_need_no_task_each_and_are_all_judged_in_time() -> None:
    harness = await Harness(WatcherSettings(heartbeat_s=1.0)).open()
    tasks_before = len(asyncio.all_tasks())
    workers = [await harness.join(f"n{number}") for number in range(5000)]
    assert len(asyncio.all_tasks()) == tasks_before
    await harness.advance(4.0)
    assert {event for worker in workers[::500] for event in harness.engine.events_of(worker.node)} == {
        HEARD,
        SILENT,
        TIMED_OUT,
    }
    assert len(harness.engine.events) == 3 * 5000
    assert harness.watcher.connected == 0
