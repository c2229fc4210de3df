"""Converts the tenants of a view, and their quotas, to rows of a situation, and back. Used by the writer and the reader
of views."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from shunter.model.identity.quotas import PLACED
from shunter.model.protocol.scheduler_messages import QuotaRow, TenantRow
from shunter.planning.view import NEVER, TenantQuota


def tenant_rows(owners: Mapping[str, str]) -> list[TenantRow]:
    """`owners`: the tenant of each namespace that has one."""
    namespaces: dict[str, list[str]] = {}
    for namespace, tenant in owners.items():
        namespaces.setdefault(tenant, []).append(namespace)
    return [TenantRow(tenant, found) for tenant, found in namespaces.items()]


def read_tenants(rows: Iterable[TenantRow]) -> dict[str, str]:
    return {namespace: row.name for row in rows for namespace in row.namespaces}


def quota_rows(quotas: Mapping[str, TenantQuota]) -> list[QuotaRow]:
    """One for each tenant."""
    namespaces: dict[str, list[str]] = {}
    for namespace, quota in quotas.items():
        namespaces.setdefault(quota.tenant, []).append(namespace)
    return [_row(quotas[found[0]], found) for found in namespaces.values()]


def read_quotas(rows: Iterable[QuotaRow]) -> dict[str, TenantQuota]:
    """By namespace. What the other end does not know of is not limited."""
    found: dict[str, TenantQuota] = {}
    for row in rows:
        limits = tuple(row.limits.get(name, NEVER) for name in PLACED)
        used = tuple(row.used.get(name, 0) for name in PLACED)
        found.update(dict.fromkeys(row.namespaces, TenantQuota(row.tenant, limits, used)))
    return found


def _row(quota: TenantQuota, namespaces: list[str]) -> QuotaRow:
    limits = {name: limit for name, limit in zip(PLACED, quota.limits, strict=True) if limit != NEVER}
    return QuotaRow(quota.tenant, namespaces, limits, dict(zip(PLACED, quota.used, strict=True)))
