"""Changes of join tokens."""

from __future__ import annotations

from shunter.engine.changes.change_struct import ChangeStruct


class JoinTokenSet(ChangeStruct, tag=80):
    """Creates a join token, with which one worker may enrol as one node."""

    id: str
    node: str
    salt: bytes
    digest: bytes
    expires_ms: int
    by: str  # the user who did it
    at_ms: int


class JoinTokenUsed(ChangeStruct, tag=81):
    """A worker enrolled. `key` is the digest of its public key: only this worker may repeat the request."""

    id: str
    key: bytes
    at_ms: int


class JoinTokenDropped(ChangeStruct, tag=82):
    id: str
    by: str
    at_ms: int


JoinTokenChange = JoinTokenSet | JoinTokenUsed | JoinTokenDropped
