"""The background duty that tells the engine what became of nodes: in order for each node, until it has been taken.

Only the latest verdict on a node waits here, so there are never more of them than nodes.
"""

from __future__ import annotations

import asyncio

from shunter.log import Log
from shunter.model.errors import Unavailable
from shunter.model.lifecycles import NodeEvent
from shunter.ports.clock import Clock
from shunter.watcher.engine_port import WatchedEngine

BATCH_MAX = 1000  # verdicts told at once, so that a rack that goes down is one round of the engine and not hundreds
RETRY_S = 0.2

log = Log(__name__)


class NodeEvents:
    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._waiting: dict[int, tuple[NodeEvent, str]] = {}
        self._wake = asyncio.Event()

    def say(self, node: int, event: NodeEvent, reason: str) -> None:
        log.info("node." + event.word, node=node, reason=reason)
        self._waiting.pop(node, None)
        self._waiting[node] = (event, reason)
        self._wake.set()

    def withdraw(self, node: int) -> None:
        """What waits about this node is out of date. (It connects, and must not be told gone after its inventory.)"""
        self._waiting.pop(node, None)

    async def run(self, engine: WatchedEngine) -> None:
        """Until cancelled."""
        while True:
            await self._wake.wait()
            self._wake.clear()
            while self._waiting:
                await self._tell_batch(engine)

    async def _tell_batch(self, engine: WatchedEngine) -> None:
        batch = [(node, *self._waiting.pop(node)) for node in list(self._waiting)[:BATCH_MAX]]
        taken = await asyncio.gather(*(self._tell(engine, *verdict) for verdict in batch))
        if not all(taken):
            await self._clock.sleep(RETRY_S)

    async def _tell(self, engine: WatchedEngine, node: int, event: NodeEvent, reason: str) -> bool:
        try:
            await engine.node_event(node, event, reason)
        except Unavailable as error:
            log.warning("node.event_delayed", node=node, event=event.word, reason=error.detail)
            self._waiting.setdefault(node, (event, reason))
            return False
        except Exception:
            log.exception("node.event_failed", node=node, event=event.word)
        return True
