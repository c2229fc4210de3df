"""How the engine sends messages to workers and receives theirs. Implemented by the watcher (in process and gRPC) and by
simulated fleets."""

from __future__ import annotations

from typing import Protocol

from shunter.model.errors import ShunterError
from shunter.model.protocol.worker_messages import LogData, ManagerMessage, StatsData, WorkerMessage

STALE_HEARTBEATS = 3.0  # a sample of a machine that is older than this many intervals is flagged

AttemptKey = tuple[int, int, int, int]  # job, group, index, attempt


class Workers(Protocol):
    """The engine's way out: called only after the commit that holds what is sent."""

    @property
    def heartbeat_s(self) -> float:
        """The current heartbeat interval."""
        ...

    def send(self, node: int, message: ManagerMessage) -> None:
        """Hand over a message; never blocks. To a node that is not connected it is dropped: the inventory that a worker
        sends when it comes back makes the engine send again what is missing."""
        ...

    def reject(self, node: int, error: ShunterError) -> None:
        """A message of the node's worker was refused and changed nothing: end its connection with that reason."""
        ...

    def suspend(self, reason: str) -> None:
        """The engine cannot commit: until `reset`, declare no node down, because workers cannot reconnect."""
        ...

    def reset(self, reason: str) -> None:
        """The engine has loaded its state again: make every worker reconnect with its inventory."""
        ...

    async def read_log(
        self,
        node: int,
        segment: int,
        record: int,
        stream: str,
        offset: int,
        size_max: int,
        unstarted_attempt: AttemptKey | None = None,
    ) -> LogData:
        """Read a part of an attempt's log. A segment of 0 means the log of `unstarted_attempt`, which was ordered and
        has not reported its start. Raises Unavailable if the node is not connected or does not answer in time."""
        ...

    async def read_stats(self, node: int) -> StatsData: ...


class WorkerLink(Protocol):
    """The manager's end of one worker's connection."""

    def send(self, message: ManagerMessage) -> None: ...

    def close(self, reason: str) -> None: ...


class Session(Protocol):
    """The watcher's side of one connection, for a transport."""

    async def received(self, message: WorkerMessage) -> None:
        """Messages of one connection, in order; waiting for the return is the back-pressure."""
        ...

    def closed(self, reason: str) -> None: ...


class WorkerAcceptor(Protocol):
    """Accepts the connections of workers, from every transport. Implemented by the watcher."""

    def connect(self, link: WorkerLink) -> Session: ...

    @property
    def leading_term(self) -> int | None:
        """The term under which it takes workers; None while it refuses them."""
        ...

    async def wait_lead_changed(self) -> None:
        """Return when `leading_term` gives another answer than at the call."""
        ...


class LeaderRoutes(Protocol):
    """Which manager leads, as one of several knows it, and how workers reach it. It may be old news. Implemented by the
    app."""

    def term(self) -> int:
        """The term of the election that the leader won. Asked before `address`, so that an old address never gets a new
        term."""
        ...

    def address(self) -> str:
        """HOST:PORT at which the leader takes workers, or a watcher if the leader takes none; empty if nobody is known
        to lead."""
        ...

    def relay_to(self) -> str | None:
        """HOST:PORT of the leader to which this manager relays the streams of its workers; empty if nobody is known to
        lead. None: it relays none."""
        ...

    def refer_to(self) -> str | None:
        """HOST:PORT of a manager that takes workers, because this one takes only relayed streams; empty if none is
        known. None: workers may connect here."""
        ...

    async def wait_changed(self) -> None:
        """Return when the answers may differ from those at the last return."""
        ...


class Uplink(Protocol):
    """The worker's end of its connection."""

    def send(self, message: WorkerMessage) -> None:
        """Never blocks. After the connection is gone it does nothing: keepers hold the results until the next one."""
        ...

    def close_after_flush(self) -> None:
        """End the connection when what was sent has been written. The transport opens the next one by itself."""
        ...


class WorkerHandler(Protocol):
    """The calls of a transport on the worker's side. The worker says Hello in `connected`."""

    def connected(self, uplink: Uplink) -> None: ...

    def received(self, message: ManagerMessage) -> None: ...

    def disconnected(self, reason: str) -> None: ...
