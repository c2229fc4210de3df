"""Changes of users and API keys."""

from __future__ import annotations

from shunter.engine.changes.change_struct import ChangeStruct


class UserSet(ChangeStruct, tag=52):
    """Creates a user, or changes its roles or whether it is disabled."""

    name: str
    roles: list[str]
    is_disabled: bool
    by: str  # the user who did it
    at_ms: int
    tenant: str = ""  # of the user; empty for users of the cluster


class KeySet(ChangeStruct, tag=53):
    """Creates an API key, or rotates its secret. Until `old_until_ms` the old secret is accepted as well."""

    id: str
    user: str
    roles: list[str]
    note: str
    expires_ms: int  # 0: never
    salt: bytes
    digest: bytes
    old_salt: bytes
    old_digest: bytes
    old_until_ms: int
    by: str
    at_ms: int
    tenant: str = ""  # of the key; empty for keys of the whole cluster
    testbeds: list[str] = []  # NAMESPACE/NAME, to which the key is bound
    namespace: str = ""  # to which the key is bound
    queue: str = ""


class KeyRevoked(ChangeStruct, tag=54):
    id: str
    by: str
    at_ms: int


class KeyUsed(ChangeStruct, tag=55):
    """A key was used, for the first time in a while."""

    id: str
    at_ms: int


class SessionEnded(ChangeStruct, tag=84):
    """A browser was signed out: its session is refused, also where a copy of it was made."""

    id: str
    expires_ms: int  # it need not be remembered for longer
    at_ms: int


IdentityChange = UserSet | KeySet | KeyRevoked | KeyUsed | SessionEnded
