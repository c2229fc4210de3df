"""The service for nodes: drains, cordons, quarantine, attributes. Implements `ports.services.NodeService`."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from shunter.engine.engine import Engine
from shunter.engine.nodes.cordon import CORDON, QUARANTINE
from shunter.model.job.manifests import check_labels
from shunter.model.rest.views import NodeView
from shunter.ports.callers import Caller


class NodeAdmin:
    def __init__(self, engine: Engine, view: Callable[[str], NodeView]) -> None:
        self._engine, self._view = engine, view

    async def drain(self, caller: Caller, name: str, deadline_s: float | None) -> NodeView:
        await self._engine.drain_node(name, deadline_s, caller.user)
        return self._view(name)

    async def undrain(self, caller: Caller, name: str) -> NodeView:  # noqa: ARG002
        await self._engine.undrain_node(name)
        return self._view(name)

    async def cordon(self, caller: Caller, name: str, reason: str) -> NodeView:
        await self._engine.cordon_node(name, reason or f"by {caller.user}")
        return self._view(name)

    async def uncordon(self, caller: Caller, name: str) -> NodeView:  # noqa: ARG002
        await self._engine.release_node(name, CORDON)
        return self._view(name)

    async def release(self, caller: Caller, name: str) -> NodeView:  # noqa: ARG002
        await self._engine.release_node(name, QUARANTINE)
        return self._view(name)

    async def set_attributes(self, caller: Caller, name: str, attributes: Mapping[str, str | None]) -> NodeView:  # noqa: ARG002
        check_labels(dict(attributes), "attributes")
        await self._engine.attribute_node(name, dict(attributes))
        return self._view(name)
