"""Changes of tenants."""

from __future__ import annotations

from shunter.engine.changes.change_struct import ChangeStruct


class TenantSet(ChangeStruct, tag=70):
    """Creates a tenant, or changes what it owns and its quotas."""

    name: str
    namespaces: list[str]  # the first is the default of its keys
    queues: list[str]
    quotas: dict[str, int]  # by the names of `model.identity.quotas`; one that is missing is unlimited
    by: str
    at_ms: int


class TenantDeleted(ChangeStruct, tag=71):
    name: str
    by: str
    at_ms: int


class UserDeleted(ChangeStruct, tag=72):
    """Removes a user together with its tenant."""

    name: str
    tenant: str
    by: str
    at_ms: int


TenantChange = TenantSet | TenantDeleted | UserDeleted
