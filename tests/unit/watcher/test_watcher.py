"""The whole watcher: heartbeat interval, samples and sending."""

from __future__ import annotations

import pytest

from shunter.model.errors import Invalid
from shunter.model.protocol.worker_messages import Ack, Goodbye, Ping, Pong, Report, SetHeartbeat, Shutdown, Welcome
from shunter.watcher.settings import WatcherSettings
from tests.unit.watcher.harness import HEARD, SILENT, TIMED_OUT, Harness, beat, virtual

# ---- heartbeats ----

pytestmark = pytest.mark.usefixtures("short_timeout")


@virtual
async def test_the_interval_changes_live_with_the_size_of_the_cluster() -> None:
    harness = await Harness().open()
    first = await harness.join("n0")
    assert first.link.of(Welcome)[0].heartbeat_s == 1.0
    workers = [await harness.join(f"n{number}") for number in range(1, 201)]
    assert first.link.of(SetHeartbeat) == [SetHeartbeat(2.0)]
    assert (await harness.join("late")).link.of(Welcome)[0].heartbeat_s == 2.0
    for worker in workers[:50]:
        await worker.send(Goodbye("smaller"))
    assert first.link.of(SetHeartbeat) == [SetHeartbeat(2.0), SetHeartbeat(1.0)]


@virtual
async def test_an_interval_set_by_hand_is_told_at_once_and_observed_without_a_restart() -> None:
    harness = await Harness().open()
    worker = await harness.join()
    harness.watcher.set_heartbeat(5.0)
    assert worker.link.of(SetHeartbeat) == [SetHeartbeat(5.0)]
    worker.beat_every(5.0)
    await harness.advance(60.0)
    assert harness.engine.events_of(worker.node) == [HEARD]
    assert harness.engine.call_kinds().count("heartbeat") == 13
    harness.watcher.set_heartbeat(None)
    assert worker.link.of(SetHeartbeat)[-1] == SetHeartbeat(1.0)


@virtual
async def test_a_shorter_interval_counts_only_from_the_next_heartbeat_on() -> None:
    harness = await Harness(WatcherSettings(heartbeat_s=10.0)).open()
    worker = await harness.join()
    await worker.beat()
    harness.watcher.set_heartbeat(0.5)
    await harness.advance(9.0)
    assert harness.engine.events_of(worker.node) == [HEARD]
    await worker.beat()
    heard_at = harness.clock.now()
    await harness.advance(4.0)
    assert harness.engine.events_of(worker.node) == [HEARD, SILENT, TIMED_OUT]
    assert harness.engine.when(worker.node, TIMED_OUT) - heard_at <= 4.0


@virtual
async def test_a_node_that_comes_back_is_judged_by_the_interval_of_its_new_welcome() -> None:
    harness = await Harness().open()
    first = await harness.join()
    first.session.closed("gone for a moment")
    harness.watcher.set_heartbeat(10.0)
    again = await harness.join()
    assert again.link.of(Welcome)[0].heartbeat_s == 10.0
    await harness.advance(9.0)
    assert harness.engine.events_of(again.node)[-1] is HEARD


@virtual
async def test_nodes_that_are_down_do_not_count_for_the_interval() -> None:
    harness = await Harness().open()
    workers = [await harness.join(f"n{number}") for number in range(201)]
    for worker in workers[50:]:
        worker.session.closed("rack without power")
    for worker in workers[:50]:
        worker.beat_every(1.0)
    assert harness.watcher.heartbeat_s == 2.0
    await harness.advance(7.0)
    assert workers[0].link.of(SetHeartbeat) == [SetHeartbeat(2.0), SetHeartbeat(1.0)]


@virtual
async def test_an_interval_out_of_range_is_refused_and_changes_nothing() -> None:
    harness = await Harness().open()
    worker = await harness.join()
    with pytest.raises(Invalid):
        harness.watcher.set_heartbeat(0.0)
    assert (worker.link.of(SetHeartbeat), harness.watcher.heartbeat_s) == ([], 1.0)


# ---- samples ----


@virtual
async def test_the_latest_sample_is_kept_and_flagged_when_it_is_older_than_three_intervals() -> None:
    harness = await Harness().open()
    worker = await harness.join()
    assert harness.watcher.sample(worker.node) is None
    await worker.send(beat(busy=0.25))
    await worker.send(beat(busy=0.75))
    sample = harness.watcher.sample(worker.node)
    assert sample is not None
    assert (sample.stats.cpu_busy, sample.heard_at, sample.stale) == (0.75, harness.clock.now(), False)
    await harness.advance(2.9)
    fresh = harness.watcher.sample(worker.node)
    await harness.advance(0.2)
    stale = harness.watcher.sample(worker.node)
    assert fresh is not None
    assert stale is not None
    assert (fresh.stale, stale.stale) == (False, True)
    assert [call[2].cpu_busy for call in harness.engine.calls if call[0] == "heartbeat"] == [0.25, 0.75]


# ---- sending ----


@virtual
async def test_what_is_sent_to_a_node_that_is_not_connected_is_dropped() -> None:
    harness = await Harness().open()
    worker = await harness.join()
    worker.session.closed("gone")
    harness.watcher.send(worker.node, Shutdown(False))
    harness.watcher.send(99, Shutdown(False))
    assert worker.link.of(Shutdown) == []


@virtual
async def test_an_acknowledgement_carries_the_workers_own_number() -> None:
    harness = await Harness().open()
    one, two = await harness.join("n1"), await harness.join("n2")
    for seq in (2, 3, 4):
        await one.send(Report(seq))
        await two.send(Report(seq))
    numbers = [message.seq for kind, node, message in harness.engine.calls if kind == "report" and node == one.node]
    harness.watcher.send(one.node, Ack(numbers[1]))
    harness.watcher.send(one.node, Ack(numbers[1]))
    harness.watcher.send(one.node, Ack(numbers[2]))
    assert one.link.of(Ack) == [Ack(3), Ack(4)]
    assert two.link.of(Ack) == []


@virtual
async def test_an_acknowledgement_of_an_earlier_life_does_not_reach_the_next_one() -> None:
    """Both lives have a report 2; the new one's is not committed yet."""
    harness = await Harness().open()
    old = await harness.join("n1", "b1")
    await old.send(Report(2))
    number_of_old = harness.engine.calls[-1][2].seq
    old.session.closed("killed")
    new = await harness.join("n1", "b2")
    await new.send(Report(2))
    harness.watcher.send(new.node, Ack(number_of_old))
    assert new.link.of(Ack) == []
    harness.watcher.send(new.node, Ack(harness.engine.calls[-1][2].seq))
    assert new.link.of(Ack) == [Ack(2)]


@virtual
async def test_a_ping_is_answered_by_the_leader_alone() -> None:
    harness = await Harness().open()
    worker = await harness.join("n1")
    await worker.session.received(Ping(7))
    harness.engine.leads = False
    await worker.session.received(Ping(8))
    assert [pong.number for pong in worker.link.of(Pong)] == [7]
