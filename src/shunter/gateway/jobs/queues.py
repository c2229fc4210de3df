"""The sub-gateway `queues`: named queues, their rules and load. Implements `ports.admin.QueueService`."""

from __future__ import annotations

from shunter.engine.engine import Engine
from shunter.engine.jobs.queue_admin import queue_load, queue_names, queue_rules
from shunter.model.errors import NotFound
from shunter.model.rest.admin_views import QueuePage, QueueView
from shunter.ports.admin import QueueChange
from shunter.ports.callers import Caller


class Queues:
    def __init__(self, caller: Caller, engine: Engine) -> None:
        self._caller, self._engine = caller, engine

    async def page(self) -> QueuePage:
        await self._engine.wait_committed()
        names = queue_names(self._engine.state)
        return QueuePage([self._view(name) for name in names], None, len(names))

    async def get(self, name: str) -> QueueView:
        await self._engine.wait_committed()
        if name not in queue_names(self._engine.state):
            raise NotFound(f"queue '{name}' does not exist: it has no rules, and no job uses it")
        return self._view(name)

    async def patch(self, name: str, change: QueueChange) -> QueueView:
        await self._engine.patch_queue(name, change)
        return self._view(name)

    async def delete(self, name: str) -> None:
        await self._engine.drop_queue(name)

    async def purge(self, name: str) -> int:
        return await self._engine.purge_queue(name, self._caller.user)

    def _view(self, name: str) -> QueueView:
        rules, load = queue_rules(self._engine.state, name), queue_load(self._engine.state, name)
        return QueueView(
            name=name,
            queued=load.queued,
            running=load.running,
            paused=rules.is_paused,
            strict=rules.is_strict,
            running_max=rules.running_max or None,
            queued_max=rules.queued_max or None,
        )
