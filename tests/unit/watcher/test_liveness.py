"""Who is silent, down and back, and when. All in virtual time."""

from __future__ import annotations

import asyncio

import pytest

from shunter.model.errors import Unavailable
from shunter.model.protocol.worker_messages import Goodbye, Inventory, Report
from shunter.watcher.settings import WatcherSettings
from tests.unit.watcher.harness import HEARD, LEFT, SILENT, TIMED_OUT, Puppet, Stage, hello, virtual


@virtual
async def test_a_node_that_keeps_its_pace_is_never_suspected() -> None:
    stage = await Stage().open()
    worker = await stage.join()
    worker.beat_every(1.0)
    await stage.pass_time(100.0)
    assert stage.engine.told(worker.node) == [HEARD]


@pytest.mark.parametrize("timeout_s", [3.0, 5.0, 20.0])
@pytest.mark.parametrize("phase_s", [0.0, 0.1, 0.249, 0.6])
def test_a_silent_node_is_suspected_and_then_down_within_the_timeout_and_a_second(
    timeout_s: float, phase_s: float
) -> None:
    @virtual
    async def story() -> None:
        stage = await Stage(WatcherSettings(timeout_s=timeout_s)).open()
        await stage.pass_time(phase_s)
        worker = await stage.join()
        heard_at = stage.clock.now()
        await stage.pass_time(timeout_s + 1.0)
        assert stage.engine.told(worker.node) == [HEARD, SILENT, TIMED_OUT]
        assert 2.0 <= stage.engine.when(worker.node, SILENT) - heard_at <= 3.5
        assert timeout_s <= stage.engine.when(worker.node, TIMED_OUT) - heard_at <= timeout_s + 1.0
        assert worker.link.refused is not None
        assert worker.link.refused.code == "silent"

    story()


@virtual
async def test_a_suspected_node_that_is_heard_again_is_back_at_once() -> None:
    stage = await Stage().open()
    worker = await stage.join()
    await stage.pass_time(2.8)
    await worker.beat()
    await stage.settle()
    assert stage.engine.told(worker.node) == [HEARD, SILENT, HEARD]


@virtual
async def test_any_message_counts_as_a_sign_of_life() -> None:
    stage = await Stage().open()
    worker = await stage.join()
    for seq in range(2, 12):
        await stage.pass_time(1.5)
        await worker.say(Report(seq))
    assert stage.engine.told(worker.node) == [HEARD]


@virtual
async def test_a_closed_connection_makes_the_node_suspect_at_once_and_down_at_the_timeout() -> None:
    stage = await Stage().open()
    worker = await stage.join()
    await stage.pass_time(0.5)
    closed_at = stage.clock.now()
    worker.session.closed("reset by peer")
    await stage.settle()
    assert stage.engine.when(worker.node, SILENT) == closed_at
    await stage.pass_time(3.5)
    assert stage.engine.told(worker.node) == [HEARD, SILENT, TIMED_OUT]
    assert 2.5 <= stage.engine.when(worker.node, TIMED_OUT) - closed_at <= 3.5


@virtual
async def test_a_node_that_was_down_is_back_when_its_inventory_was_taken_and_not_before() -> None:
    stage = await Stage().open()
    first = await stage.join()
    await stage.pass_time(10.0)
    again = Puppet(stage, "n1", "b1")
    await again.say(hello())
    await again.beat()
    await stage.settle()
    assert stage.engine.told(first.node) == [HEARD, SILENT, TIMED_OUT]
    await again.say(Inventory(1, [], []))
    await stage.settle()
    assert again.node == first.node
    assert stage.engine.told(first.node) == [HEARD, SILENT, TIMED_OUT, HEARD]


@virtual
async def test_a_suspect_that_connects_again_is_back_only_after_its_inventory() -> None:
    stage = await Stage().open()
    first = await stage.join()
    first.session.closed("cable pulled")
    await stage.settle()
    again = Puppet(stage, "n1", "b1")
    await again.say(hello())
    await again.beat()
    await stage.settle()
    assert stage.engine.told(first.node) == [HEARD, SILENT]
    await again.say(Inventory(1, [], []))
    await stage.settle()
    assert stage.engine.told(first.node) == [HEARD, SILENT, HEARD]


@virtual
async def test_a_suspect_that_is_busy_with_its_inventory_is_not_timed_out() -> None:
    stage = await Stage().open()
    first = await stage.join()
    first.session.closed("worker restarts")
    again = Puppet(stage, "n1", "b2")
    await again.say(hello("n1", "b2"))
    await stage.pass_time(8.0)
    await again.say(Inventory(1, [], []))
    await stage.settle()
    assert TIMED_OUT not in stage.engine.told(first.node)
    assert again.link.closed_because is None


@virtual
async def test_a_suspect_that_connects_and_breaks_off_again_is_down_at_the_timeout() -> None:
    stage = await Stage().open()
    first = await stage.join()
    first.session.closed("worker crashed")
    again = Puppet(stage, "n1", "b2")
    await again.say(hello("n1", "b2"))
    again.session.closed("worker crashed again")
    closed_at = stage.clock.now()
    await stage.pass_time(5.0)
    assert stage.engine.when(first.node, TIMED_OUT) - closed_at <= 4.0


@virtual
async def test_a_worker_that_says_goodbye_has_left_and_is_not_timed_out_later() -> None:
    stage = await Stage().open()
    worker = await stage.join()
    await worker.say(Goodbye("upgrade"))
    await stage.pass_time(60.0)
    assert [event[2:] for event in stage.engine.events] == [(HEARD, "connected"), (LEFT, "left: upgrade")]
    assert worker.link.closed_because == "goodbye: upgrade"


@virtual
async def test_a_manager_that_stood_still_does_not_take_its_nodes_for_dead() -> None:
    stage = await Stage().open()
    worker = await stage.join()
    await stage.pass_time(1.0)
    asyncio.get_running_loop().jump(30.0)  # type: ignore[attr-defined]  # as after SIGSTOP and SIGCONT
    await stage.pass_time(1.0)
    await worker.beat()
    await stage.pass_time(1.0)
    assert stage.engine.told(worker.node) == [HEARD]
    await stage.pass_time(3.5)
    assert stage.engine.told(worker.node) == [HEARD, SILENT, TIMED_OUT]


@virtual
async def test_while_the_engine_takes_its_time_over_a_message_the_silence_is_not_the_workers() -> None:
    stage = await Stage().open()
    worker = await stage.join()
    stage.engine.gate.clear()
    saying = asyncio.create_task(worker.say(Report(2)))
    await stage.pass_time(20.0)
    assert stage.engine.told(worker.node) == [HEARD]
    stage.engine.gate.set()
    await saying
    await stage.pass_time(4.5)
    assert stage.engine.told(worker.node) == [HEARD, SILENT, TIMED_OUT]


@virtual
async def test_nodes_that_the_engine_expects_may_take_longer_to_come_back_than_a_heartbeat_timeout() -> None:
    stage = await Stage(WatcherSettings(return_s=15.0)).open(expected=(1, 2))
    await stage.pass_time(10.0)
    back = await stage.join("n1")
    back.beat_every(1.0)
    await stage.pass_time(10.0)
    assert (stage.engine.told(1), stage.engine.told(2)) == ([SILENT, HEARD], [SILENT, TIMED_OUT])


@virtual
async def test_a_connection_that_does_not_bring_its_inventory_in_time_is_refused() -> None:
    stage = await Stage(WatcherSettings(handshake_timeout_s=10.0)).open()
    mute, _ = stage.dial()
    greeted = Puppet(stage, "n1", "b1")
    await greeted.say(hello())
    await stage.pass_time(9.0)
    assert (mute.closed_because, greeted.link.closed_because) == (None, None)
    await stage.pass_time(2.0)
    assert [link.refused.code for link in (mute, greeted.link) if link.refused] == ["silent", "silent"]


@virtual
async def test_while_the_engine_takes_its_time_over_a_hello_the_handshake_does_not_run_out() -> None:
    stage = await Stage(WatcherSettings(handshake_timeout_s=10.0)).open()
    stage.engine.gate.clear()
    worker = Puppet(stage, "n1", "b1")
    saying = asyncio.create_task(worker.say(hello()))
    await stage.pass_time(60.0)
    stage.engine.gate.set()
    await saying
    assert worker.link.refused is None


@virtual
async def test_a_manager_that_stood_still_does_not_break_off_handshakes() -> None:
    stage = await Stage(WatcherSettings(handshake_timeout_s=10.0)).open()
    await stage.pass_time(1.0)
    link, _ = stage.dial()
    asyncio.get_running_loop().jump(30.0)  # type: ignore[attr-defined]  # as after SIGSTOP and SIGCONT
    await stage.pass_time(9.0)
    assert link.refused is None
    await stage.pass_time(2.0)
    assert link.refused is not None


@virtual
async def test_a_verdict_that_the_engine_cannot_take_now_is_told_again_until_it_can() -> None:
    stage = await Stage().open()
    worker = await stage.join()
    stage.engine.deaf = Unavailable("reloading")
    await stage.pass_time(5.0)
    assert stage.engine.told(worker.node) == [HEARD]
    stage.engine.deaf = None
    await stage.pass_time(1.0)
    assert stage.engine.told(worker.node) == [HEARD, TIMED_OUT]  # only the latest: suspicion is out of date


@virtual
async def test_a_verdict_on_a_node_that_connects_meanwhile_is_withdrawn() -> None:
    stage = await Stage().open()
    worker = await stage.join()
    stage.engine.deaf = Unavailable("reloading")
    await stage.pass_time(4.0)
    again = Puppet(stage, "n1", "b1")
    await again.say(hello())
    stage.engine.deaf = None
    await stage.pass_time(1.0)
    await again.say(Inventory(1, [], []))
    await stage.settle()
    assert again.node == worker.node
    assert stage.engine.told(worker.node) == [HEARD, HEARD]  # and not down after it has brought its inventory


@virtual
async def test_a_verdict_that_makes_the_engine_fail_does_not_end_the_watch() -> None:
    stage = await Stage().open()
    first, second = await stage.join("n1"), await stage.join("n2")
    second.beat_every(1.0)
    stage.engine.deaf = RuntimeError("a bug")
    await stage.pass_time(5.0)
    stage.engine.deaf = None
    second.hush()
    await stage.pass_time(5.0)
    assert stage.engine.told(first.node) == [HEARD]
    assert stage.engine.told(second.node) == [HEARD, SILENT, TIMED_OUT]


@virtual
async def test_five_thousand_nodes_need_no_task_each_and_are_all_judged_in_time() -> None:
    stage = await Stage(WatcherSettings(heartbeat_s=1.0)).open()
    tasks_before = len(asyncio.all_tasks())
    workers = [await stage.join(f"n{number}") for number in range(5000)]
    assert len(asyncio.all_tasks()) == tasks_before
    await stage.pass_time(4.0)
    assert {event for worker in workers[::500] for event in stage.engine.told(worker.node)} == {
        HEARD,
        SILENT,
        TIMED_OUT,
    }
    assert len(stage.engine.events) == 3 * 5000
    assert stage.watcher.connected == 0
