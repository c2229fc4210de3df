"""How the engine reaches workers, and how it hears from them. Implemented by the watcher (in process and gRPC) and by
simulated fleets."""

from __future__ import annotations

from typing import Protocol

from shunter.model.messages import LogData, ManagerMessage, StatsData


class Workers(Protocol):
    """The engine's way out: called only after the commit that holds what is sent."""

    def send(self, node: int, message: ManagerMessage) -> None:
        """Hand over a message; never blocks. To a node that is not connected it is dropped: the inventory that a worker
        sends when it comes back makes the engine send again what is missing."""
        ...

    async def read_log(self, node: int, segment: int, record: int, stream: str, offset: int, size_max: int) -> LogData:
        """Raises Unavailable where the node is not connected or does not answer in time."""
        ...

    async def read_stats(self, node: int) -> StatsData: ...


class WorkerLink(Protocol):
    """The manager's end of one worker's connection."""

    def send(self, message: ManagerMessage) -> None: ...

    def close(self, reason: str) -> None: ...
