"""The nodes that the watcher knows, and the current connection of each. Decides nothing."""

from __future__ import annotations

from dataclasses import dataclass

from shunter.model.lifecycles import NodeEvent
from shunter.model.protocol.worker_messages import MachineStats
from shunter.watcher.session import WorkerSession


@dataclass(slots=True, eq=False)
class WatchedNode:
    """One node. `last_event` is the last one reported to the engine."""

    node: int
    heard_at: float
    heartbeat_s: float  # the interval that its deadlines count on
    last_event: NodeEvent = NodeEvent.HEARD
    down_not_before: float = 0.0
    session: WorkerSession | None = None
    stats: MachineStats | None = None
    stats_at: float = 0.0


class Roster:
    def __init__(self) -> None:
        self._nodes: dict[int, WatchedNode] = {}
        self._names: dict[str, WorkerSession] = {}
        self._sessions: dict[WorkerSession, None] = {}
        self.connected = 0  # nodes that have a session

    def add(self, session: WorkerSession) -> None:
        self._sessions[session] = None

    def remove(self, session: WorkerSession) -> None:
        self._sessions.pop(session, None)
        self._names.pop(session.name, None)  # a connection has a name only while it holds it

    def assign_name(self, session: WorkerSession, name: str, boot: str) -> None:
        """Make this connection the one of that name."""
        session.name, session.boot = name, boot
        self._names[name] = session

    def session_named(self, name: str) -> WorkerSession | None:
        return self._names.get(name)

    def add_node(self, watched: WatchedNode) -> None:
        self._nodes[watched.node] = watched

    def attach_session(self, watched: WatchedNode, session: WorkerSession) -> None:
        """This connection speaks for that node."""
        if watched.session is None:
            self.connected += 1
        watched.session = session
        session.node = watched.node

    def detach_session(self, watched: WatchedNode) -> None:
        if watched.session is not None:
            self.connected -= 1
        watched.session = None

    def node(self, node: int) -> WatchedNode | None:
        return self._nodes.get(node)

    def node_of(self, session: WorkerSession) -> WatchedNode | None:
        """The node of this connection; None if it has none, or if another connection replaced it."""
        watched = self._nodes.get(session.node)
        return watched if watched is not None and watched.session is session else None

    def forget_nodes(self) -> None:
        """Connections that have no node stay."""
        for watched in self._nodes.values():
            self.detach_session(watched)
        self._nodes.clear()

    def nodes(self) -> list[WatchedNode]:
        return list(self._nodes.values())

    def sessions(self) -> list[WorkerSession]:
        return list(self._sessions)
