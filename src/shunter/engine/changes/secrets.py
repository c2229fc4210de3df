"""Changes of secrets. They carry encrypted values only."""

from __future__ import annotations

from shunter.engine.changes.change_struct import ChangeStruct
from shunter.model.secrets import SealedValue


class SecretSet(ChangeStruct, tag=56):
    """Creates a secret, or gives it another value."""

    namespace: str
    name: str
    version: int
    sealed: SealedValue
    by: str  # the user who did it
    at_ms: int
    is_text: bool = True  # whether it can be a variable


class SecretDeleted(ChangeStruct, tag=57):
    namespace: str
    name: str
    by: str
    at_ms: int


class SecretResealed(ChangeStruct, tag=58):
    """The same value, encrypted with another key."""

    namespace: str
    name: str
    version: int
    sealed: SealedValue


SecretChange = SecretSet | SecretDeleted | SecretResealed
