"""How workers reach the leader, as one of several managers tells them: directly, or through a watcher. Implements
`ports.workers.LeaderRoutes`; created by `app.manager`.

A manager that could lead itself sends workers to a leader that takes them. All others with the watcher role relay."""

from __future__ import annotations

from shunter.gateway.known_leader import KnownLeader
from shunter.model.rest.manager_views import SCHEDULER, WATCHER
from shunter.ports.coordination import Coordination


class WorkerRoutes:
    """`name` and `roles` are those of this manager."""

    def __init__(self, name: str, roles: tuple[str, ...], coordination: Coordination, watch: KnownLeader) -> None:
        self._name, self._roles = name, roles
        self._coordination, self._watch = coordination, watch

    def term(self) -> int:
        return self._watch.term()

    def address(self) -> str:
        leader = self._watch.leader()
        if leader is None:
            return ""
        return leader.workers if WATCHER in leader.roles else self._find_watcher()

    def relay_to(self) -> str | None:
        if WATCHER not in self._roles:
            return None
        leader = self._watch.leader()
        if leader is None:
            return None if SCHEDULER in self._roles else ""
        is_reached_directly = SCHEDULER in self._roles and WATCHER in leader.roles
        return None if leader.name == self._name or is_reached_directly else leader.workers

    def refer_to(self) -> str | None:
        return None if WATCHER in self._roles else self._find_watcher()

    async def wait_changed(self) -> None:
        await self._watch.wait_changed()

    def _find_watcher(self) -> str:
        watchers = (record for record in self._coordination.managers() if WATCHER in record.roles)
        return next((record.workers for record in watchers if record.workers), "")
