"""The fields of requests about users, API keys, tenants and join tokens. REST reads request bodies with these tables,
and publishes their schemas."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from shunter.model.identity.quotas import CPU, MEMORY, QUOTAS, REQUESTS
from shunter.model.identity.roles import Role
from shunter.model.resources import AMOUNT_MAX
from shunter.model.schema.field_lists import value_list
from shunter.model.schema.fields import Field, Section, amount, boolean, choice, duration, integer, text
from shunter.model.schema.name_fields import NAME, NODE_NAME
from shunter.model.schema.problems import Problems

NOTE_SIZE_MAX = 200
LIFETIME_MIN_S = 1.0
LIFETIME_MAX_S = 10 * 366 * 86_400.0
OVERLAP_MAX_S = 30 * 86_400.0
OVERLAP_DEFAULT_S = 3_600.0
TESTBEDS_MAX = 20  # to which one key is bound
NAMESPACES_MAX = 20  # of one tenant: lists read them one by one
QUEUES_MAX = 20
REQUESTS_PER_S_MAX = 1_000_000
JOIN_TOKEN_LIFETIME_S = 3_600.0
JOIN_TOKEN_LIFETIME_MAX_S = 30 * 86_400.0
REQUEST_SIZE_MAX = 8 * 2**10  # of a certificate request in base64: one with a P-256 key takes 300 bytes


def _roles(*, required: bool = False) -> Field:
    return value_list(choice(*Role), count_min=1, count_max=len(Role), required=required).about("at least one role")


def _lifetime(maximum_s: float, default: str) -> Field:
    return duration(maximum_s, minimum_s=LIFETIME_MIN_S).about(f"how long it is valid; default: {default}")


_BASE64 = r"^([A-Za-z0-9+/]{4})*([A-Za-z0-9+/]{4}|[A-Za-z0-9+/]{3}=|[A-Za-z0-9+/]{2}==)$"
_TESTBED = text(
    r"^([a-z0-9]([a-z0-9._-]*[a-z0-9])?/)?[a-z0-9]([a-z0-9._-]*[a-z0-9])?$", size_max=127, rule="NAME or NAMESPACE/NAME"
)


def _quotas() -> Field:
    """Quotas by name; None removes one."""
    section = Section("the quotas of a tenant; null removes one", {name: _or_null(_quota(name)) for name in QUOTAS})
    return section.as_partial_field()


def _quota(name: str) -> Field:
    if name == REQUESTS:
        return integer(1, REQUESTS_PER_S_MAX)
    return amount(name, 0, AMOUNT_MAX) if name in (CPU, MEMORY) else integer(0, AMOUNT_MAX)


def _or_null(field: Field) -> Field:
    def read(value: Any, path: str, problems: Problems) -> Any:
        return None if value is None else field.read(value, path, problems)

    return Field(read, {"anyOf": [field.schema, {"type": "null"}]})


def _names(about: str, count_max: int, count_min: int = 0) -> Field:
    """None if they are not given: they stay as they are."""
    return replace(value_list(NAME, count_min=count_min, count_max=count_max).about(about), default=None)


TENANT_PATCH = Section(
    "what to change of a tenant",
    {
        "namespaces": _names("all its namespaces; the first is the default of its keys", NAMESPACES_MAX, 1),
        "queues": _names("all its queues", QUEUES_MAX),
        "quotas": _quotas(),
    },
)
TENANT_CREATE = Section("a tenant", {"name": replace(NAME, required=True), **TENANT_PATCH.fields})
USER_PUT = Section(
    "what to change of the user; a new user needs roles",
    {
        "roles": _roles(),
        "disabled": boolean().about("whether all keys of the user are refused"),
        "tenant": NAME.about("the tenant of the user; default: that of the caller"),
    },
)
KEY_CREATE = Section(
    "an API key",
    {
        "user": NAME.about("who uses the key; default: the caller"),
        "roles": _roles(required=True),
        "note": text(size_max=NOTE_SIZE_MAX).about("what the key is for"),
        "expires_in": _lifetime(LIFETIME_MAX_S, "for ever"),
        "tenant": NAME.about("the tenant that the key sees and acts on; default: that of the caller"),
        "testbeds": value_list(_TESTBED, count_min=1, count_max=TESTBEDS_MAX).about(
            "the only testbeds that the key uses, as NAME or NAMESPACE/NAME; default: all"
        ),
        "namespace": NAME.about("the only namespace that the key sees; default: all of the tenant or cluster"),
        "queue": NAME.about("the only queue that the key uses; default: all"),
    },
)
KEY_ROTATE = Section(
    "how to rotate a key",
    {"overlap": duration(OVERLAP_MAX_S).about("how long the old secret is still accepted; default: 1h")},
)
JOIN_TOKEN_CREATE = Section(
    "a join token",
    {
        "node": replace(NODE_NAME, required=True).about("the node as which one worker may join"),
        "expires_in": _lifetime(JOIN_TOKEN_LIFETIME_MAX_S, "1h"),
    },
)
ENROLMENT = Section(
    "how a worker enrols",
    {
        "id": text(size_max=40, required=True).about("the id of the join token"),
        "secret": text(size_max=100, required=True, secret=True).about("the secret in the join token"),
        "request": text(_BASE64, size_max=REQUEST_SIZE_MAX, rule="base64", required=True).about(
            "the certificate request of the worker: DER in base64"
        ),
    },
)
