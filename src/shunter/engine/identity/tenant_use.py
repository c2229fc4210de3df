"""What a tenant uses of its quotas. Called by the engine's rounds and the gateway."""

from __future__ import annotations

from shunter.engine.state.registries.tenants import Tenant
from shunter.engine.state.state import State
from shunter.model.identity.quotas import HISTORY, PLACED, QUEUED
from shunter.ports.store import Share


def history_shares(state: State) -> tuple[Share, ...]:
    """The shares of tenants that have a quota of finished jobs."""
    return tuple(
        Share(tenant.namespaces, tenant.quotas[HISTORY])
        for tenant in state.tenants.tenants.values()
        if HISTORY in tenant.quotas
    )


def tenant_use(state: State, tenant: Tenant) -> dict[str, int]:
    """The amounts that a tenant uses, by the names of QUEUED and PLACED."""
    pending = sum(state.pending_tasks[namespace] for namespace in tenant.namespaces)
    return {QUEUED: pending, **dict(zip(PLACED, state.placed_use(tenant.name), strict=True))}
