"""What the quotas of tenants leave for further tasks on nodes. Called by placement, which enforces them, and for the
view that policies see."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from shunter.model.identity.quotas import PLACED
from shunter.planning.view import NEVER, TenantQuota

if TYPE_CHECKING:
    from shunter.engine.state.records import ClassRecord
    from shunter.engine.state.registries.tenants import Tenant
    from shunter.engine.state.state import State


def quota_of(state: State, record: ClassRecord) -> TenantQuota | None:
    """None if its tenant may use as much as there is."""
    tenant = state.tenants.limited.get(record.tenant)
    return None if tenant is None else _quota(state, tenant)


def lanes_left(state: State, record: ClassRecord) -> int:
    """How many more lanes the quotas leave to a class; negative if a quota was lowered below what is used."""
    quota = quota_of(state, record)
    if quota is None:
        return NEVER
    amounts = zip(quota.limits, quota.used, record.quota_needs, strict=True)
    return min((limit - used) // need for limit, used, need in amounts if need)


def is_exceeded(state: State, record: ClassRecord) -> bool:
    """Whether the tenant uses more than a quota allows, because it was lowered."""
    quota = quota_of(state, record)
    return quota is not None and any(used > limit for limit, used in zip(quota.limits, quota.used, strict=True))


def pending_quotas(state: State) -> Mapping[str, TenantQuota]:
    """The quotas of tenants that have tasks to place, by namespace. Other tenants cost nothing."""
    found: dict[str, TenantQuota] = {}
    if not state.tenants.limited:
        return found
    for namespace, count in state.pending_tasks.items():
        tenant = state.tenants.limited.get(state.tenants.owner_of(namespace)) if count else None
        if tenant is not None and namespace not in found:
            found.update(dict.fromkeys(tenant.namespaces, _quota(state, tenant)))
    return found


def _quota(state: State, tenant: Tenant) -> TenantQuota:
    limits = tuple(tenant.quotas.get(name, NEVER) for name in PLACED)
    return TenantQuota(tenant.name, limits, tuple(state.placed_use(tenant.name)))
