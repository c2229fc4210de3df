"""Verdicts on nodes reach the engine in order for each node, in bounded batches, the latest first to count."""

from __future__ import annotations

import asyncio

from shunter.model.errors import Unavailable
from shunter.model.lifecycles import NodeEvent
from shunter.simulation.runtime.loop import VirtualClock
from shunter.watcher.events import BATCH_MAX, NodeEventQueue
from shunter.watcher.heartbeat_timing import HeartbeatInterval
from shunter.watcher.liveness import Liveness
from shunter.watcher.roster import WatchedNode
from shunter.watcher.settings import WatcherSettings
from tests.unit.watcher.harness import RecordingEngine, virtual


class SlowEngine(RecordingEngine):
    """Takes verdicts only when its gate is open; notes how many it was told at once."""

    waiting = 0
    waiting_max = 0

    async def node_event(self, node: int, event: NodeEvent, reason: str) -> None:
        self.waiting += 1
        self.waiting_max = max(self.waiting, self.waiting_max)
        await self.gate.wait()
        self.waiting -= 1
        await super().node_event(node, event, reason)


@virtual
async def test_a_verdict_that_came_while_an_older_one_failed_takes_its_place() -> None:
    clock = VirtualClock()
    engine, events = SlowEngine(clock), NodeEventQueue(clock)
    engine.gate.clear()
    telling = asyncio.create_task(events.run(engine))
    events.publish(1, NodeEvent.TIMED_OUT, "")
    await asyncio.sleep(0.1)
    events.publish(1, NodeEvent.HEARD, "")
    engine.event_error = Unavailable("the commit failed")
    engine.gate.set()
    await asyncio.sleep(0.1)
    engine.event_error = None
    await asyncio.sleep(1.0)
    telling.cancel()
    assert engine.events_of(1) == [NodeEvent.HEARD]


@virtual
async def test_many_verdicts_are_told_together_but_not_more_at_once_than_the_limit() -> None:
    clock = VirtualClock()
    engine, events = SlowEngine(clock), NodeEventQueue(clock)
    engine.gate.clear()
    telling = asyncio.create_task(events.run(engine))
    for node in range(BATCH_MAX * 2 + 500):
        events.publish(node, NodeEvent.SILENT, "")
    await asyncio.sleep(0.1)
    assert engine.waiting == BATCH_MAX
    engine.gate.set()
    await asyncio.sleep(0.1)
    telling.cancel()
    assert (len(engine.events), engine.waiting_max) == (BATCH_MAX * 2 + 500, BATCH_MAX)


@virtual
async def test_a_node_that_is_gone_is_not_watched_whatever_is_said_of_its_pace() -> None:
    clock = VirtualClock()
    settings = WatcherSettings()
    liveness = Liveness(clock, HeartbeatInterval(settings), lambda *_: None, lambda *_: None)
    node = WatchedNode(1, clock.now(), heartbeat_s=1.0)
    liveness.live(node)
    liveness.left(node, "bye")
    liveness.set_interval(node, 5.0)
    assert len(liveness) == 0
