"""Tenants: what each of them owns, and its quotas. Whoever asks to whom a namespace or queue belongs asks here."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from shunter.engine import changes as c
from shunter.model.identity.quotas import PLACED

OTHER_JOB = "a job of another tenant"  # what it is called in texts that its tenant does not own


@dataclass(frozen=True, slots=True)
class Tenant:
    name: str
    namespaces: tuple[str, ...]  # the first is the default of its keys
    queues: tuple[str, ...]
    quotas: Mapping[str, int]  # by the names of `model.identity.quotas`
    created_ms: int


class TenantRegistry:
    def __init__(self) -> None:
        self.tenants: dict[str, Tenant] = {}
        self.namespace_owners: dict[str, str] = {}  # namespace -> tenant
        self.queue_owners: dict[str, str] = {}
        self.limited: dict[str, Tenant] = {}  # those with a quota of what is on nodes

    def owner_of(self, namespace: str) -> str:
        """The tenant of a namespace; empty if it belongs to the cluster."""
        return self.namespace_owners.get(namespace, "")

    def share_owner(self, namespace: str, other: str) -> bool:
        """Whether both belong to the same tenant, or to the cluster: only then may objects in them refer to each
        other, so that no status names what another tenant owns."""
        return self.owner_of(namespace) == self.owner_of(other)

    def appliers(self) -> Mapping[type, Callable[[Any], None]]:
        return {c.TenantSet: self._set, c.TenantDeleted: self._delete}

    def dump(self) -> list[list[Any]]:
        return [
            [each.name, each.namespaces, each.queues, dict(each.quotas), each.created_ms]
            for _, each in sorted(self.tenants.items())
        ]

    def load(self, dump: list[list[Any]]) -> None:
        self.tenants, self.namespace_owners, self.queue_owners, self.limited = {}, {}, {}, {}
        for name, namespaces, queues, quotas, created_ms in dump:
            self._add(Tenant(name, tuple(namespaces), tuple(queues), quotas, created_ms))

    def _set(self, change: c.TenantSet) -> None:
        known = self.tenants.get(change.name)
        created_ms = change.at_ms if known is None else known.created_ms
        self._remove(change.name)
        self._add(Tenant(change.name, tuple(change.namespaces), tuple(change.queues), change.quotas, created_ms))

    def _delete(self, change: c.TenantDeleted) -> None:
        self._remove(change.name)

    def _add(self, tenant: Tenant) -> None:
        self.tenants[tenant.name] = tenant
        if not tenant.quotas.keys().isdisjoint(PLACED):
            self.limited[tenant.name] = tenant
        self.namespace_owners |= dict.fromkeys(tenant.namespaces, tenant.name)
        self.queue_owners |= dict.fromkeys(tenant.queues, tenant.name)

    def _remove(self, name: str) -> None:
        known = self.tenants.pop(name, None)
        self.limited.pop(name, None)
        if known is not None:
            for namespace in known.namespaces:
                del self.namespace_owners[namespace]
            for queue in known.queues:
                del self.queue_owners[queue]
