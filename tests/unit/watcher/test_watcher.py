"""The watcher as a whole: names, the pace of heartbeats, sending, questions, samples, resets and the end."""

from __future__ import annotations

import asyncio

import pytest

from shunter.model.errors import Busy, Invalid, Unavailable
from shunter.model.lifecycles import NodeEvent
from shunter.model.messages import (
    Ack,
    Goodbye,
    Inventory,
    LogData,
    MachineStats,
    ReadLog,
    ReadStats,
    Refused,
    Report,
    SetHeartbeat,
    Shutdown,
    StatsData,
    Welcome,
)
from shunter.watcher.settings import WatcherSettings
from tests.unit.watcher.stage import Puppet, Stage, beat, hello, virtual

HEARD, SILENT, TIMED_OUT = NodeEvent.HEARD, NodeEvent.SILENT, NodeEvent.TIMED_OUT


# ---- names ----


@virtual
async def test_a_name_whose_worker_is_connected_and_alive_is_taken() -> None:
    stage = await Stage().open()
    first = await stage.join("n1", "b1")
    second = Puppet(stage, "n1", "b2")
    await second.say(hello("n1", "b2"))
    assert second.link.refused == Refused(
        "name_taken", "another worker is connected as n1; give one of them another --name", retry=True
    )
    assert first.link.closed_because is None
    assert stage.engine.kinds().count("hello") == 1


@virtual
async def test_a_name_is_taken_while_its_worker_is_still_joining() -> None:
    stage = await Stage().open()
    stage.engine.gate.clear()
    first, second = Puppet(stage, "n1", "b1"), Puppet(stage, "n1", "b2")
    joining = asyncio.create_task(first.say(hello("n1", "b1")))
    await stage.settle()
    await second.say(hello("n1", "b2"))
    assert second.link.refused is not None
    assert second.link.refused.code == "name_taken"
    stage.engine.gate.set()
    await joining
    assert first.link.of(Welcome)


@virtual
async def test_a_name_is_free_again_when_its_connection_is_gone_and_keeps_its_node() -> None:
    stage = await Stage().open()
    first = await stage.join("n1", "b1")
    first.session.closed("killed")
    second = await stage.join("n1", "b2")
    assert second.node == first.node
    assert stage.watcher.connected == 1


@virtual
async def test_the_same_process_may_come_again_and_its_old_connection_is_replaced() -> None:
    stage = await Stage().open()
    first = await stage.join("n1", "b1")
    second = await stage.join("n1", "b1")
    assert second.node == first.node
    assert first.link.refused is not None
    assert first.link.refused.code == "replaced"
    stage.watcher.send(second.node, Shutdown(False))
    assert second.link.of(Shutdown)
    first.session.closed("the transport noticed late")
    second.beat_every(1.0)
    await stage.pass_time(10.0)
    assert stage.engine.told(second.node)[-1] is HEARD


@virtual
async def test_a_name_whose_worker_has_fallen_silent_may_be_taken_over() -> None:
    """A machine that was switched off and on leaves a connection behind that nobody will ever close."""
    stage = await Stage().open()
    first = await stage.join("n1", "b1")
    await stage.pass_time(2.9)
    second = await stage.join("n1", "b2")
    assert first.link.refused is not None
    assert first.link.refused.code == "replaced"
    assert second.node == first.node
    assert stage.engine.told(second.node) == [HEARD, SILENT, HEARD]


@virtual
async def test_a_hello_that_the_engine_refuses_leaves_the_name_free() -> None:
    stage = await Stage().open()
    stage.engine.refusing = Refused("invalid", "no such datacenter")
    worker = Puppet(stage, "n1", "b1")
    await worker.say(hello("n1", "b1"))
    assert worker.link.refused == stage.engine.refusing
    stage.engine.refusing = None
    assert (await stage.join("n1", "b2")).node == 1


# ---- heartbeats ----


@virtual
async def test_the_interval_changes_live_with_the_size_of_the_cluster() -> None:
    stage = await Stage().open()
    first = await stage.join("n0")
    assert first.link.of(Welcome)[0].heartbeat_s == 1.0
    workers = [await stage.join(f"n{number}") for number in range(1, 201)]
    assert first.link.of(SetHeartbeat) == [SetHeartbeat(2.0)]
    assert (await stage.join("late")).link.of(Welcome)[0].heartbeat_s == 2.0
    for worker in workers[:50]:
        await worker.say(Goodbye("smaller"))
    assert first.link.of(SetHeartbeat) == [SetHeartbeat(2.0), SetHeartbeat(1.0)]


@virtual
async def test_an_interval_set_by_hand_is_told_at_once_and_observed_without_a_restart() -> None:
    stage = await Stage().open()
    worker = await stage.join()
    stage.watcher.set_heartbeat(5.0)
    assert worker.link.of(SetHeartbeat) == [SetHeartbeat(5.0)]
    worker.beat_every(5.0)
    await stage.pass_time(60.0)
    assert stage.engine.told(worker.node) == [HEARD]
    assert stage.engine.kinds().count("heartbeat") == 13
    stage.watcher.set_heartbeat(None)
    assert worker.link.of(SetHeartbeat)[-1] == SetHeartbeat(1.0)


@virtual
async def test_a_shorter_interval_counts_only_from_the_next_heartbeat_on() -> None:
    stage = await Stage(WatcherSettings(heartbeat_s=10.0)).open()
    worker = await stage.join()
    await worker.beat()
    stage.watcher.set_heartbeat(0.5)
    await stage.pass_time(9.0)
    assert stage.engine.told(worker.node) == [HEARD]
    await worker.beat()
    heard_at = stage.clock.now()
    await stage.pass_time(4.0)
    assert stage.engine.told(worker.node) == [HEARD, SILENT, TIMED_OUT]
    assert stage.engine.when(worker.node, TIMED_OUT) - heard_at <= 4.0


@virtual
async def test_a_node_that_comes_back_is_judged_by_the_interval_of_its_new_welcome() -> None:
    stage = await Stage().open()
    first = await stage.join()
    first.session.closed("gone for a moment")
    stage.watcher.set_heartbeat(10.0)
    again = await stage.join()
    assert again.link.of(Welcome)[0].heartbeat_s == 10.0
    await stage.pass_time(9.0)
    assert stage.engine.told(again.node)[-1] is HEARD


@virtual
async def test_nodes_that_are_down_do_not_count_for_the_interval() -> None:
    stage = await Stage().open()
    workers = [await stage.join(f"n{number}") for number in range(201)]
    for worker in workers[50:]:
        worker.session.closed("rack without power")
    for worker in workers[:50]:
        worker.beat_every(1.0)
    assert stage.watcher.heartbeat_s == 2.0
    await stage.pass_time(7.0)
    assert workers[0].link.of(SetHeartbeat) == [SetHeartbeat(2.0), SetHeartbeat(1.0)]


@virtual
async def test_an_interval_out_of_range_is_refused_and_changes_nothing() -> None:
    stage = await Stage().open()
    worker = await stage.join()
    with pytest.raises(Invalid):
        stage.watcher.set_heartbeat(0.0)
    assert (worker.link.of(SetHeartbeat), stage.watcher.heartbeat_s) == ([], 1.0)


# ---- samples ----


@virtual
async def test_the_latest_sample_is_kept_and_flagged_when_it_is_older_than_three_intervals() -> None:
    stage = await Stage().open()
    worker = await stage.join()
    assert stage.watcher.sample(worker.node) is None
    await worker.say(beat(busy=0.25))
    await worker.say(beat(busy=0.75))
    sample = stage.watcher.sample(worker.node)
    assert sample is not None
    assert (sample.stats.cpu_busy, sample.heard_at, sample.stale) == (0.75, stage.clock.now(), False)
    await stage.pass_time(2.9)
    fresh = stage.watcher.sample(worker.node)
    await stage.pass_time(0.2)
    stale = stage.watcher.sample(worker.node)
    assert fresh is not None
    assert stale is not None
    assert (fresh.stale, stale.stale) == (False, True)
    assert [call[2].cpu_busy for call in stage.engine.calls if call[0] == "heartbeat"] == [0.25, 0.75]


# ---- sending ----


@virtual
async def test_what_is_sent_to_a_node_that_is_not_connected_is_dropped() -> None:
    stage = await Stage().open()
    worker = await stage.join()
    worker.session.closed("gone")
    stage.watcher.send(worker.node, Shutdown(False))
    stage.watcher.send(99, Shutdown(False))
    assert worker.link.of(Shutdown) == []


@virtual
async def test_an_acknowledgement_carries_the_workers_own_number() -> None:
    stage = await Stage().open()
    one, two = await stage.join("n1"), await stage.join("n2")
    for seq in (2, 3, 4):
        await one.say(Report(seq))
        await two.say(Report(seq))
    numbers = [message.seq for kind, node, message in stage.engine.calls if kind == "report" and node == one.node]
    stage.watcher.send(one.node, Ack(numbers[1]))
    stage.watcher.send(one.node, Ack(numbers[1]))
    stage.watcher.send(one.node, Ack(numbers[2]))
    assert one.link.of(Ack) == [Ack(3), Ack(4)]
    assert two.link.of(Ack) == []


@virtual
async def test_an_acknowledgement_of_an_earlier_life_does_not_reach_the_next_one() -> None:
    """Both lives have a report 2; the new one's is not committed yet."""
    stage = await Stage().open()
    old = await stage.join("n1", "b1")
    await old.say(Report(2))
    number_of_old = stage.engine.calls[-1][2].seq
    old.session.closed("killed")
    new = await stage.join("n1", "b2")
    await new.say(Report(2))
    stage.watcher.send(new.node, Ack(number_of_old))
    assert new.link.of(Ack) == []
    stage.watcher.send(new.node, Ack(stage.engine.calls[-1][2].seq))
    assert new.link.of(Ack) == [Ack(2)]


# ---- questions ----


@virtual
async def test_a_log_is_read_through_the_connection() -> None:
    stage = await Stage().open()
    worker = await stage.join()
    reading = asyncio.create_task(stage.watcher.read_log(worker.node, 5, 6, "stderr", 7, 8))
    await stage.settle()
    question = worker.link.of(ReadLog)[0]
    assert question == ReadLog(question.request, 5, 6, "stderr", 7, 8)
    await worker.say(LogData(question.request, b"text", True))
    assert await reading == LogData(question.request, b"text", True)


@virtual
async def test_answers_find_their_questions_whatever_their_order() -> None:
    stage = await Stage().open()
    worker = await stage.join()
    readings = [asyncio.create_task(stage.watcher.read_log(worker.node, 1, n, "stdout", 0, 10)) for n in range(3)]
    await stage.settle()
    for question in reversed(worker.link.of(ReadLog)):
        await worker.say(LogData(question.request, str(question.record).encode(), True))
    assert [(await reading).data for reading in readings] == [b"0", b"1", b"2"]


@virtual
async def test_statistics_are_read_fresh_from_the_worker() -> None:
    stage = await Stage().open()
    worker = await stage.join()
    reading = asyncio.create_task(stage.watcher.read_stats(worker.node))
    await stage.settle()
    answer = StatsData(worker.link.of(ReadStats)[0].request, MachineStats(1, cpu_busy=0.5), [])
    await worker.say(answer)
    assert await reading == answer


@virtual
async def test_a_question_without_an_answer_fails_at_the_timeout_and_a_late_answer_is_ignored() -> None:
    stage = await Stage(WatcherSettings(request_timeout_s=4.0, requests_max=1)).open()
    worker = await stage.join()
    worker.beat_every(1.0)
    asked_at = stage.clock.now()
    with pytest.raises(Unavailable, match="n1 did not answer within 4 s"):
        await stage.watcher.read_stats(worker.node)
    assert stage.clock.now() - asked_at == pytest.approx(4.0)
    await worker.say(StatsData(worker.link.of(ReadStats)[0].request, MachineStats(1), []))
    assert worker.link.closed_because is None
    with pytest.raises(Unavailable, match="did not answer"):  # and not Busy: the first question is over
        await stage.watcher.read_stats(worker.node)


@virtual
async def test_a_question_fails_at_once_when_the_connection_closes_or_is_not_there() -> None:
    stage = await Stage().open()
    worker = await stage.join()
    asked_at = stage.clock.now()
    reading = asyncio.create_task(stage.watcher.read_stats(worker.node))
    await stage.settle()
    worker.session.closed("reset by peer")
    with pytest.raises(Unavailable, match="reset by peer"):
        await reading
    with pytest.raises(Unavailable, match="is not connected"):
        await stage.watcher.read_stats(worker.node)
    assert stage.clock.now() == asked_at


@virtual
async def test_an_answer_of_the_wrong_kind_is_no_answer() -> None:
    stage = await Stage().open()
    worker = await stage.join()
    reading = asyncio.create_task(stage.watcher.read_stats(worker.node))
    await stage.settle()
    await worker.say(LogData(worker.link.of(ReadStats)[0].request, b"", True))
    with pytest.raises(Unavailable, match="answered with LogData"):
        await reading


@virtual
async def test_a_worker_with_too_many_unanswered_questions_is_busy() -> None:
    stage = await Stage(WatcherSettings(requests_max=2)).open()
    worker = await stage.join()
    readings = [asyncio.create_task(stage.watcher.read_stats(worker.node)) for _ in range(2)]
    await stage.settle()
    with pytest.raises(Busy, match="2 unanswered requests"):
        await stage.watcher.read_stats(worker.node)
    for question in worker.link.of(ReadStats):
        await worker.say(StatsData(question.request, MachineStats(1), []))
    await asyncio.gather(*readings)


# ---- reset and the end ----


@virtual
async def test_after_a_reset_every_worker_must_bring_its_inventory_again_and_is_not_taken_for_lost() -> None:
    stage = await Stage().open()
    workers = [await stage.join(f"n{number}") for number in range(3)]
    stage.watcher.reset("new epoch")
    assert [worker.link.refused for worker in workers] == [Refused("reset", "new epoch", retry=True)] * 3
    assert stage.watcher.connected == 0
    await stage.pass_time(1.0)
    for worker in workers:
        (await stage.join(worker.name)).beat_every(1.0)
    await stage.pass_time(10.0)
    assert [stage.engine.told(worker.node) for worker in workers] == [[HEARD, HEARD]] * 3
    assert stage.engine.kinds().count("inventory") == 6


@virtual
async def test_after_a_reset_a_worker_that_does_not_come_back_is_down_when_its_time_is_over() -> None:
    stage = await Stage(WatcherSettings(return_s=15.0)).open()
    worker = await stage.join()
    reset_at = stage.clock.now()
    stage.watcher.reset("new epoch")
    await stage.pass_time(16.0)
    assert stage.engine.told(worker.node) == [HEARD, SILENT, TIMED_OUT]
    assert 15.0 <= stage.engine.when(worker.node, TIMED_OUT) - reset_at <= 16.0


@virtual
async def test_after_a_reset_the_engine_hears_again_who_was_down() -> None:
    """What it was told may not have been committed."""
    stage = await Stage().open()
    worker = await stage.join()
    await stage.pass_time(5.0)
    stage.watcher.reset("new epoch")
    await stage.settle()
    assert stage.engine.told(worker.node) == [HEARD, SILENT, TIMED_OUT, TIMED_OUT]


@virtual
async def test_a_reset_keeps_the_interval_of_a_large_cluster() -> None:
    stage = await Stage().open()
    for number in range(401):
        await stage.join(f"n{number}")
    stage.watcher.reset("new epoch")
    assert (await stage.join("n7")).link.of(Welcome)[0].heartbeat_s == 3.0


@virtual
async def test_after_a_restart_the_interval_is_that_of_the_expected_cluster_at_once() -> None:
    stage = await Stage().open(expected=tuple(range(1, 402)))
    assert (await stage.join("n7")).link.of(Welcome)[0].heartbeat_s == 3.0


@virtual
async def test_after_a_reset_the_engine_is_not_told_what_was_true_before_it() -> None:
    stage = await Stage().open()
    stage.engine.deaf = Unavailable("the commit failed")
    worker = await stage.join()
    stage.watcher.reset("new epoch")
    stage.engine.deaf = None
    await stage.pass_time(1.0)
    assert stage.engine.told(worker.node) == []


@virtual
async def test_before_an_engine_leads_workers_are_told_to_try_again() -> None:
    stage = Stage()
    link, session = stage.dial()
    await session.received(hello())
    assert link.refused is not None
    assert (link.refused.code, link.refused.retry) == ("not_leader", True)


@virtual
async def test_a_watcher_that_stops_ends_every_connection_and_says_no_more_about_nodes(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level("INFO")
    stage = await Stage().open()
    worker = await stage.join()
    greeting, _ = stage.dial()
    await stage.watcher.stop("upgrade")
    late, session = stage.dial()
    await session.received(hello("n2"))
    expected = Refused("shutting_down", "upgrade", retry=True)
    assert [worker.link.refused, greeting.refused, late.refused] == [expected] * 3
    await asyncio.sleep(60.0)
    assert stage.engine.told(worker.node) == [HEARD]
    assert not any("node.silent" in record.getMessage() for record in caplog.records)


@virtual
async def test_a_report_that_arrives_when_the_watcher_has_stopped_is_not_lost_silently() -> None:
    stage = await Stage().open()
    worker = await stage.join()
    await stage.watcher.stop("upgrade")
    calls = list(stage.engine.calls)
    await worker.say(Report(2))
    await worker.say(Inventory(3, [], []))
    assert stage.engine.calls == calls
    assert worker.link.of(Ack) == []
