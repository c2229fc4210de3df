"""Reports node events to the engine in the background: in order for each node, and repeated until the engine accepts
them.

Only the latest verdict on each node is queued, so the queue is never longer than the number of nodes."""

from __future__ import annotations

import asyncio

from shunter.log import Log
from shunter.model.errors import Unavailable
from shunter.model.lifecycles import NodeEvent
from shunter.ports.clock import Clock
from shunter.watcher.engine_port import WatcherEngine

BATCH_MAX = 1000  # verdicts told at once, so that a rack that goes down is one round of the engine and not hundreds
RETRY_S = 0.2

log = Log(__name__)


class NodeEventQueue:
    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._pending: dict[int, tuple[NodeEvent, str]] = {}
        self._wake = asyncio.Event()

    def publish(self, node: int, event: NodeEvent, reason: str) -> None:
        log.info("node." + event.wire_name, node=node, reason=reason)
        self._pending.pop(node, None)
        self._pending[node] = (event, reason)
        self._wake.set()

    def withdraw(self, node: int) -> None:
        """Queued events about this node are outdated. (It connects, and must not be reported gone after its
        inventory.)"""
        self._pending.pop(node, None)

    async def run(self, engine: WatcherEngine) -> None:
        """Until cancelled."""
        while True:
            await self._wake.wait()
            self._wake.clear()
            while self._pending:
                await self._deliver_batch(engine)

    async def _deliver_batch(self, engine: WatcherEngine) -> None:
        batch = [(node, *self._pending.pop(node)) for node in list(self._pending)[:BATCH_MAX]]
        delivered = await asyncio.gather(*(self._deliver(engine, *verdict) for verdict in batch))
        if not all(delivered):
            await self._clock.sleep(RETRY_S)

    async def _deliver(self, engine: WatcherEngine, node: int, event: NodeEvent, reason: str) -> bool:
        try:
            await engine.node_event(node, event, reason)
        except Unavailable as error:
            log.warning("node.event_delayed", node=node, event=event.wire_name, reason=error.detail)
            self._pending.setdefault(node, (event, reason))
            return False
        except Exception:
            log.exception("node.event_failed", node=node, event=event.wire_name)
        return True
