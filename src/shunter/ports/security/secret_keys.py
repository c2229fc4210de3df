"""The keys that encrypt secrets: the port of the engine and the gateway, implemented in `adapters.crypto`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from shunter.model.errors import Unavailable
from shunter.model.secrets import SealedValue


class NoSecretKey(Unavailable):
    """This manager does not have the key that is needed."""

    title = "no secrets key"


class SecretKeys(Protocol):
    """Every manager of a cluster needs the same keys. The first key seals; all of them open."""

    def ids(self) -> Sequence[str]:
        """Ids of the keys that this manager has, that which seals first. Cheap: called in every round."""
        ...

    def ensure(self) -> str:
        """The id of the key that seals. Makes one if there is none and this manager may. Raises NoSecretKey."""
        ...

    def add(self) -> str:
        """Make a new key that seals from now on, and keep the others. Raises Conflict where the keys are not in a file
        that this manager may write."""
        ...

    def seal(self, value: bytes, bound_to: bytes) -> SealedValue:
        """Raises NoSecretKey."""
        ...

    def open(self, sealed: SealedValue, bound_to: bytes) -> bytes:
        """Raises NoSecretKey if its key is missing, or if the value was altered."""
        ...


class NoSecretKeys:
    """The keys of an engine that was given none."""

    def ids(self) -> Sequence[str]:
        return ()

    def ensure(self) -> str:
        raise NoSecretKey("this manager has no key for secrets")

    def add(self) -> str:
        return self.ensure()

    def seal(self, value: bytes, bound_to: bytes) -> SealedValue:  # noqa: ARG002
        raise NoSecretKey("this manager has no key for secrets")

    def open(self, sealed: SealedValue, bound_to: bytes) -> bytes:  # noqa: ARG002
        raise NoSecretKey("this manager has no key for secrets")
