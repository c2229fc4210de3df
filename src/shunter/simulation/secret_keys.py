"""The keys of simulated managers. Implements `ports.security.secret_keys` without randomness, and so without secrecy.
Used by `simulation.runtime.manager`; `simulation.checks.reference_secrets` reads with it what was stored."""

from __future__ import annotations

from collections.abc import Sequence

from shunter.model.secrets import SealedValue
from shunter.ports.security.secret_keys import NoSecretKey

_MASK = 0x5A  # so that no plain value is in changes


class SimulatedKeys:
    """All managers of a world have the same."""

    def __init__(self) -> None:
        self._ids = ["key-1"]

    def ids(self) -> Sequence[str]:
        return tuple(self._ids)

    def ensure(self) -> str:
        return self._ids[0]

    def add(self) -> str:
        self._ids.insert(0, f"key-{len(self._ids) + 1}")
        return self._ids[0]

    def seal(self, value: bytes, bound_to: bytes) -> SealedValue:
        masked = bytes(each ^ _MASK for each in bound_to + b"\0\0" + value)
        return SealedValue(self._ids[0], b"", masked)

    def open(self, sealed: SealedValue, bound_to: bytes) -> bytes:
        if sealed.key_id not in self._ids:
            raise NoSecretKey(f"there is no {sealed.key_id}")
        return reveal(sealed, bound_to)


def reveal(sealed: SealedValue, bound_to: bytes) -> bytes:
    """Raises NoSecretKey if the value is bound to something else."""
    found, _, value = bytes(each ^ _MASK for each in sealed.ciphertext).partition(b"\0\0")
    if found != bound_to:
        raise NoSecretKey("it is the value of another secret")
    return value
