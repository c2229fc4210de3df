"""The watcher of one of several managers: it leads, steps down and leads again."""

from __future__ import annotations

import asyncio

import pytest

from shunter.model.errors import Unavailable
from shunter.model.protocol.worker_messages import Inventory, Refused, Report, Welcome
from shunter.watcher.settings import WatcherSettings
from tests.unit.watcher.harness import HEARD, SILENT, TIMED_OUT, Harness, RecordingEngine, hello, virtual

pytestmark = pytest.mark.usefixtures("short_timeout")

REASON = "the manager does not lead any more"


@virtual
async def test_a_follower_refuses_workers_and_names_the_leader() -> None:
    harness = Harness()
    harness.leader = "10.0.0.2:7071"
    link, session = harness.connect()
    await session.received(hello())
    assert link.refused is not None
    assert (link.refused.code, link.refused.retry, link.refused.leader) == ("not_leader", True, "10.0.0.2:7071")


@virtual
async def test_a_follower_does_not_wait_for_a_worker_that_says_nothing() -> None:
    harness = Harness()
    harness.leader = "10.0.0.2:7071"
    link, session = harness.connect()
    assert not session.is_ended  # a transport gets its session first
    await harness.settle()
    assert session.is_ended
    assert link.refused is not None
    assert (link.refused.code, link.refused.leader) == ("not_leader", "10.0.0.2:7071")


@virtual
async def test_a_leader_that_steps_down_sends_every_worker_to_its_successor() -> None:
    harness = await Harness().open()
    worker = await harness.join()
    greeting, _ = harness.connect()
    harness.leader = "10.0.0.2:7071"
    await harness.watcher.step_down(REASON)
    expected = Refused("not_leader", REASON, retry=True, leader="10.0.0.2:7071")
    assert [worker.link.refused, greeting.refused] == [expected] * 2
    assert harness.watcher.connected == 0


@virtual
async def test_without_a_known_leader_a_refusal_names_nobody() -> None:
    harness = await Harness().open()
    worker = await harness.join()
    await harness.watcher.step_down(REASON)
    assert worker.link.refused == Refused("not_leader", REASON, retry=True)


@virtual
async def test_a_watcher_that_leads_again_takes_the_same_workers_under_its_new_term() -> None:
    harness = Harness()
    await harness.watcher.start(harness.engine, term=4)
    first = await harness.join()
    await harness.watcher.step_down(REASON)
    await harness.watcher.start(harness.engine, expected=[first.node], term=9)
    again = await harness.join()
    assert [each.link.of(Welcome)[0].term for each in (first, again)] == [4, 9]
    assert harness.watcher.connected == 1
    again.beat_every(1.0)
    await harness.advance(30.0)
    assert harness.engine.events_of(again.node) == [HEARD, HEARD]


@virtual
async def test_a_node_that_is_only_known_from_an_earlier_term_is_not_judged() -> None:
    harness = await Harness().open()
    worker = await harness.join()
    await harness.watcher.step_down(REASON)
    engine = RecordingEngine(harness.clock)
    await harness.watcher.start(engine)
    await harness.advance(60.0)
    assert (harness.engine.events_of(worker.node), engine.events) == ([HEARD], [])
    assert harness.watcher.sample(worker.node) is None


@virtual
async def test_no_verdict_survives_a_step_down() -> None:
    """The engine was told of none of them: another manager has judged the nodes since."""
    harness = await Harness().open()
    lost, connected = await harness.join("n1"), await harness.join("n2")
    harness.engine.event_error = Unavailable("the commit failed")
    lost.session.closed("no route")
    await harness.advance(5.0)
    await harness.watcher.step_down(REASON)
    await harness.advance(60.0)
    harness.engine.event_error = None
    await harness.watcher.start(harness.engine, expected=[lost.node, connected.node])
    await harness.advance(1.0)
    assert [harness.engine.events_of(each.node) for each in (lost, connected)] == [[HEARD]] * 2


@virtual
async def test_a_verdict_that_the_engine_refuses_during_the_step_down_is_dropped() -> None:
    harness = await Harness().open()
    worker = await harness.join()
    harness.engine.event_error = Unavailable("another manager leads")
    worker.session.closed("no route")
    await asyncio.sleep(0)  # the verdict is on its way
    await harness.watcher.step_down(REASON)
    harness.engine.event_error = None
    await harness.watcher.start(harness.engine)
    await harness.advance(1.0)
    assert harness.engine.events_of(worker.node) == [HEARD]


@virtual
async def test_a_node_that_was_down_in_an_earlier_term_has_the_whole_time_to_return() -> None:
    harness = await Harness(WatcherSettings(return_s=15.0)).open()
    worker = await harness.join()
    worker.session.closed("no route")
    await harness.advance(30.0)
    assert harness.engine.events_of(worker.node) == [HEARD, SILENT, TIMED_OUT]
    await harness.watcher.step_down(REASON)
    await harness.watcher.start(harness.engine, expected=[worker.node])
    led_at = harness.clock.now()
    await harness.advance(16.0)
    assert harness.engine.events_of(worker.node)[3:] == [SILENT, TIMED_OUT]
    assert 15.0 <= harness.engine.events[-1][0] - led_at <= 16.0


@virtual
async def test_a_hello_that_the_engine_answers_after_the_step_down_joins_nobody() -> None:
    harness = await Harness().open()
    harness.engine.gate.clear()
    link, session = harness.connect()
    joining = asyncio.create_task(session.received(hello()))
    await harness.settle()
    await harness.watcher.step_down(REASON)
    await harness.watcher.start(harness.engine)
    harness.engine.gate.set()
    await joining
    assert (link.of(Welcome), harness.watcher.connected) == ([], 0)


@virtual
async def test_messages_of_connections_of_an_earlier_term_have_no_effect() -> None:
    harness = await Harness().open()
    worker = await harness.join()
    await harness.watcher.step_down(REASON)
    await harness.watcher.start(harness.engine)
    calls = list(harness.engine.calls)
    await worker.send(Report(2))
    await worker.send(Inventory(3, [], []))
    assert harness.engine.calls == calls


@virtual
async def test_a_suspended_watcher_judges_nodes_again_in_its_next_term() -> None:
    harness = await Harness(WatcherSettings(return_s=1.0)).open()
    worker = await harness.join()
    harness.watcher.suspend("the store is away")
    await harness.watcher.step_down(REASON)
    await harness.watcher.start(harness.engine, expected=[worker.node])
    await harness.advance(30.0)
    assert harness.engine.events_of(worker.node) == [HEARD, SILENT, TIMED_OUT]


@virtual
async def test_an_interval_that_was_set_by_hand_ends_with_the_term() -> None:
    """The setting is a part of the cluster's state: another leader may have changed it."""
    harness = await Harness().open()
    harness.watcher.set_heartbeat(5.0)
    await harness.watcher.step_down(REASON)
    await harness.watcher.start(harness.engine)
    assert harness.watcher.heartbeat_s == 1.0


@virtual
async def test_a_connection_that_waited_while_nobody_led_can_join_when_this_manager_leads() -> None:
    harness = Harness()
    link, session = harness.connect()
    await harness.watcher.start(harness.engine)
    await session.received(hello())
    assert (link.refused, len(link.of(Welcome))) == (None, 1)
