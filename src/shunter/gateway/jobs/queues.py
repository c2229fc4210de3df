"""The sub-gateway `queues`: named queues, their rules and load. Implements `ports.admin.QueueService`."""

from __future__ import annotations

from shunter.engine.engine import Engine
from shunter.engine.jobs.queue_admin import queue_load, queue_names, queue_rules
from shunter.gateway.scope import Scope
from shunter.model.errors import NotFound
from shunter.model.job.spec import QUEUE_DEFAULT
from shunter.model.rest.admin_views import QueuePage, QueueView
from shunter.ports.admin import QueueChange
from shunter.ports.principals import Principal


class Queues:
    def __init__(self, caller: Principal, engine: Engine, scope: Scope) -> None:
        self._caller, self._engine, self._scope = caller, engine, scope

    async def page(self) -> QueuePage:
        await self._engine.wait_committed()
        names = self._names()
        return QueuePage([self._view(name) for name in names], None, len(names))

    async def get(self, name: str) -> QueueView:
        await self._engine.wait_committed()
        if name not in self._names():
            raise NotFound(f"queue '{name}' does not exist: it has no rules, and no job uses it")
        return self._view(name)

    async def patch(self, name: str, change: QueueChange) -> QueueView:
        await self._engine.patch_queue(name, change)
        return self._view(name)

    async def delete(self, name: str) -> None:
        await self._engine.drop_queue(name)

    async def purge(self, name: str) -> int:
        return await self._engine.purge_queue(name, self._caller.user)

    def _names(self) -> list[str]:
        """A restricted caller sees the default queue, those of its tenant, and those that its jobs use."""
        state, scope = self._engine.state, self._scope
        if scope.sees_all:
            return [name for name in queue_names(state) if scope.sees_queue(name)]
        used = {record.key.queue for record in state.classes.values() if scope.sees(record.key.namespace)}
        own = scope.tenant.queues if scope.tenant is not None else ()
        return sorted(name for name in {QUEUE_DEFAULT, *own, *used} if scope.sees_queue(name) or name in used)

    def _view(self, name: str) -> QueueView:
        """The load counts the tasks that the caller sees."""
        rules, load = queue_rules(self._engine.state, name), queue_load(self._engine.state, name, self._scope.sees)
        return QueueView(
            name=name,
            queued=load.queued,
            running=load.running,
            paused=rules.is_paused,
            strict=rules.is_strict,
            running_max=rules.running_max or None,
            queued_max=rules.queued_max or None,
        )
