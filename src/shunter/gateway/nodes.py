"""The sub-gateway `nodes`: list, label, drain and cordon nodes. Implements `ports.admin.NodeService`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from msgspec.structs import replace

from shunter.engine.engine import Engine
from shunter.engine.nodes.cordon import CORDON, QUARANTINE
from shunter.engine.read.views import node_view
from shunter.gateway.scope import Scope
from shunter.model.errors import NotFound
from shunter.model.job.manifests import check_labels
from shunter.model.resources import format_amount
from shunter.model.rest.node_views import NodePage, NodeStatsView, NodeView, TaskStatsView
from shunter.model.timestamps import iso
from shunter.ports.clock import Clock
from shunter.ports.principals import Principal
from shunter.ports.workers import STALE_HEARTBEATS, Workers


class Nodes:
    def __init__(self, caller: Principal, engine: Engine, workers: Workers, clock: Clock, scope: Scope) -> None:
        self._caller, self._engine, self._workers, self._clock = caller, engine, workers, clock
        self._scope = scope

    async def page(self, limit: int, after: str | None) -> NodePage:
        await self._engine.wait_committed()
        records = self._engine.state.nodes.by_name
        names = sorted(name for name in records if after is None or name > after)
        items = [self._view(name) for name in names[:limit]]
        return NodePage(items, names[limit - 1] if len(names) > limit else None, len(records))

    async def get(self, name: str) -> NodeView:
        await self._engine.wait_committed()
        return self._view(name)

    async def stats(self, name: str) -> NodeStatsView:
        node = self._view(name)
        data = await self._workers.read_stats(node.id)
        tasks = [
            TaskStatsView(
                name=task_set.task_name(task.index),
                namespace=task_set.job.namespace,
                index=task_set.visible_index_of(task.index),
                attempt=task.attempt,
                cpu_s=task.cpu_s,
                memory_bytes=task.memory_bytes,
                processes=task.processes,
            )
            for task in data.tasks
            if (task_set := self._engine.state.task_set(task.job, task.group)) is not None
        ]
        machine = {field: getattr(data.machine, field) for field in data.machine.__struct_fields__}
        return NodeStatsView(name=name, at=iso(data.machine.at_ms / 1000) or "", machine=machine, tasks=tasks)

    async def set_labels(self, name: str, labels: Mapping[str, str | None]) -> NodeView:
        check_labels(dict(labels), "labels")
        await self._engine.label_node(name, dict(labels))
        return self._view(name)

    async def set_attributes(self, name: str, attributes: Mapping[str, str | None]) -> NodeView:
        check_labels(dict(attributes), "attributes")
        await self._engine.attribute_node(name, dict(attributes))
        return self._view(name)

    async def drain(self, name: str, deadline_s: float | None) -> NodeView:
        await self._engine.drain_node(name, deadline_s, self._caller.user)
        return self._view(name)

    async def undrain(self, name: str) -> NodeView:
        await self._engine.undrain_node(name)
        return self._view(name)

    async def cordon(self, name: str, reason: str) -> NodeView:
        await self._engine.cordon_node(name, reason or f"by {self._caller.user}")
        return self._view(name)

    async def uncordon(self, name: str) -> NodeView:
        await self._engine.release_node(name, CORDON)
        return self._view(name)

    async def release(self, name: str) -> NodeView:
        await self._engine.release_node(name, QUARANTINE)
        return self._view(name)

    async def forget(self, name: str) -> NodeView:
        await self._engine.forget_node(name, self._caller.user)
        return self._view(name)

    def _view(self, name: str) -> NodeView:
        record = self._engine.state.nodes.by_name.get(name)
        if record is None:
            raise NotFound(f"node '{name}' does not exist")
        stale_after_ms = int(self._workers.heartbeat_s * STALE_HEARTBEATS * 1000)
        view = node_view(self._engine.state, record, int(self._clock.now() * 1000), stale_after_ms)
        return view if self._scope.sees_all else self._with_own_use(view)

    def _with_own_use(self, view: NodeView) -> NodeView:
        """Its tasks and reservations are those that the caller sees; what the whole machine uses is left out."""
        reserved, tasks = Counter[str](), 0
        for record in self._engine.state.classes.values():
            lanes = record.lanes.get(view.id)
            if lanes is not None and self._scope.sees(record.key.namespace):
                tasks += lanes.outstanding
                reserved.update({name: need * lanes.width for name, need in record.task_class.needs.items()})
        listed = dict.fromkeys([*view.capacity, *reserved])
        own = {name: format_amount(name, reserved[name]) for name in listed}
        return replace(view, reserved=own, tasks=tasks, stats=None, stats_stale=False)
