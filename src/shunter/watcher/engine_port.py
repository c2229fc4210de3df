"""The interface of the engine that the watcher uses."""

from __future__ import annotations

from typing import Protocol

from shunter.model.lifecycles import NodeEvent
from shunter.model.protocol.worker_messages import Hello, Inventory, MachineStats, Refused, Report, Welcome


class WatcherEngine(Protocol):
    """Calls raise only the errors of `model.errors`; an *unavailable* one ends the connection, and the worker
    reconnects and sends everything again."""

    async def hello(self, hello: Hello) -> Welcome | Refused:
        """Register the node, or recognise it by its name. The watcher itself sets the interval of heartbeats."""
        ...

    async def inventory_part(self, node: int, report: Report) -> None:
        """Some of a large inventory, which comes after all its parts."""
        ...

    async def inventory(self, node: int, inventory: Inventory) -> None: ...

    async def report(self, node: int, report: Report) -> None: ...

    def heartbeat(self, node: int, stats: MachineStats) -> None: ...

    def node_name(self, node: int) -> str: ...

    async def is_leading(self) -> bool:
        """Whether no other manager has taken the lead by now."""
        ...

    async def node_event(self, node: int, event: NodeEvent, reason: str) -> None:
        """HEARD is sent after every inventory, and any event may be repeated: one that changes nothing is ignored."""
        ...
