"""The sub-gateway `tenants`: what each tenant owns, its quotas and their use. Implements
`ports.identity.TenantService`."""

from __future__ import annotations

from shunter.engine.engine import Engine
from shunter.engine.identity.tenant_use import tenant_use
from shunter.engine.identity.tenants import TenantUpdate, find_tenant
from shunter.engine.state.registries.tenants import Tenant
from shunter.model.errors import NotFound
from shunter.model.identity.quotas import HISTORY
from shunter.model.resources import format_amount
from shunter.model.rest.identity_views import TenantPage, TenantView
from shunter.model.timestamps import iso
from shunter.ports.identity import TenantChange
from shunter.ports.principals import Principal
from shunter.ports.store import FinishedQuery, Store


class Tenants:
    def __init__(self, caller: Principal, engine: Engine, store: Store) -> None:
        self._caller, self._engine, self._store = caller, engine, store

    async def page(self, limit: int, after: str | None) -> TenantPage:
        await self._engine.wait_committed()
        tenants = self._engine.state.tenants.tenants
        names = sorted(name for name in tenants if after is None or name > after)
        items = [await self._view(tenants[name]) for name in names[:limit]]
        return TenantPage(items, names[limit - 1] if len(names) > limit else None, len(tenants))

    async def get(self, name: str) -> TenantView:
        """A tenant sees itself."""
        await self._engine.wait_committed()
        if self._caller.tenant not in ("", name):
            raise NotFound(f"tenant '{name}' does not exist; `shunter tenant list` shows all")
        return await self._view(find_tenant(self._engine.state, name))

    async def create(self, name: str, change: TenantChange) -> TenantView:
        await self._engine.create_tenant(name, _update(change), self._caller.user)
        return await self._view(find_tenant(self._engine.state, name))

    async def update(self, name: str, change: TenantChange) -> TenantView:
        await self._engine.update_tenant(name, _update(change), self._caller.user)
        return await self._view(find_tenant(self._engine.state, name))

    async def delete(self, name: str) -> None:
        await self._engine.delete_tenant(name, self._caller.user)

    async def _view(self, tenant: Tenant) -> TenantView:
        used = tenant_use(self._engine.state, tenant)
        finished = [await self._store.count_finished(FinishedQuery(namespace=each)) for each in tenant.namespaces]
        used[HISTORY] = sum(finished)
        return TenantView(
            name=tenant.name,
            namespaces=list(tenant.namespaces),
            queues=list(tenant.queues),
            quotas={name: format_amount(name, value) for name, value in tenant.quotas.items()},
            used={name: format_amount(name, value) for name, value in used.items()},
            created_at=iso(tenant.created_ms / 1000) or "",
        )


def _update(change: TenantChange) -> TenantUpdate:
    return TenantUpdate(change.namespaces, change.queues, change.quotas)
