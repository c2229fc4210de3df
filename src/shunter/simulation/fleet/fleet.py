"""Many simulated nodes on one clock: one heap of future task ends, and reports of many nodes in one batch.

`simulation.fleet.direct` connects a fleet directly to the engine; `simulation.runtime.network` puts a faulty network in
between."""

from __future__ import annotations

import asyncio
import heapq
import math
import random
from collections.abc import Callable, Iterable

from shunter.model import secrets
from shunter.model.protocol.worker_messages import PROTOCOL_VERSION, SIMULATED_BOOT, Hello
from shunter.model.resources import CPU, DISK, MEMORY
from shunter.ports.clock import Clock
from shunter.simulation.fleet.machine import Machine, RunningRange
from shunter.simulation.fleet.node import SimulatedNode
from shunter.simulation.fleet.outcomes import Outcomes

Flush = Callable[[list[SimulatedNode]], None]
MEMORY_BYTES = 32 * 2**30  # of a node


class Fleet:
    """The machines. `flush` is called with the nodes that have something to report, once for many events."""

    def __init__(self, clock: Clock, rng: random.Random, flush: Flush) -> None:
        self.nodes: list[SimulatedNode] = []
        self._clock = clock
        self._rng = rng
        self._flush = flush
        self.outcomes = Outcomes()
        self._end_heap: list[tuple[float, int, Machine, RunningRange]] = []
        self._sequence = 0
        self._dirty: list[SimulatedNode] = []
        self._flush_is_due = False
        self._earlier_end = asyncio.Event()

    def add(self, hello: Hello) -> SimulatedNode:
        node = SimulatedNode(hello, self, self._rng)
        self.nodes.append(node)
        return node

    async def run(self) -> None:
        """End tasks when their time has come, until cancelled."""
        while True:
            self.advance()
            await self.wait_for_end()

    async def wait_for_end(self, until_s: float = math.inf) -> None:
        """Wait until the next task ends or an earlier end is scheduled, but not beyond `until_s`."""
        self._earlier_end.clear()
        next_s = min(self._end_heap[0][0] if self._end_heap else math.inf, until_s)
        timeout_s = max(next_s - self._clock.now(), 0.0) if next_s < math.inf else None
        await self._clock.wait(self._earlier_end, timeout_s)

    @property
    def is_running(self) -> bool:
        """Whether anything will end."""
        return bool(self._end_heap)

    def advance(self) -> None:
        """Everything that is due. A task that follows another starts when that one ended, however late we look."""
        now = self._clock.now()
        while self._end_heap and self._end_heap[0][0] <= now:
            at_s, _, machine, running_range = heapq.heappop(self._end_heap)
            machine.finish(running_range, at_s)

    # ---- what nodes ask of the fleet ----

    def schedule_end(self, at_s: float, machine: Machine, running_range: RunningRange) -> None:
        if not self._end_heap or at_s < self._end_heap[0][0]:
            self._earlier_end.set()
        self._sequence += 1
        heapq.heappush(self._end_heap, (at_s, self._sequence, machine, running_range))

    def mark_dirty(self, node: SimulatedNode) -> None:
        self._dirty.append(node)
        if not self._flush_is_due:
            self._flush_is_due = True
            asyncio.get_running_loop().call_soon(self._flush_now)

    def take_dirty(self) -> list[SimulatedNode]:
        """The nodes that have something to report."""
        nodes, self._dirty = self._dirty, []
        return [node for node in nodes if node.is_dirty]

    def _flush_now(self) -> None:
        self._flush_is_due = False
        if self._dirty:
            self._flush(self.take_dirty())


def simulated_hellos(count: int, *, cpus: int = 8) -> Iterable[Hello]:
    """Nodes sim-00001 and on, in datacenters and zones, for `shunter up --simulate-nodes`."""
    for number in range(1, count + 1):
        yield Hello(
            protocol=PROTOCOL_VERSION,
            name=f"sim-{number:05d}",
            boot=SIMULATED_BOOT,
            capacity={CPU: cpus * 1000, MEMORY: MEMORY_BYTES, DISK: 8 * MEMORY_BYTES},
            labels={"zone": f"z{number % 3 + 1}", "simulated": "true"},
            datacenter=f"dc{number % 2 + 1}",
            attributes={"os": "linux", "arch": "x86_64", secrets.ATTRIBUTE: "true"},
            address="simulated",
        )
