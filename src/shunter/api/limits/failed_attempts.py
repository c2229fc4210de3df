"""Limits how often somebody may present a wrong credential, per source address. Used by the application of each
listener.

A source that has used up its attempts is answered before its credential is looked at, so that guesses cost next to
nothing and learn nothing. Others at the same address must not suffer: a credential that was right there a while ago is
still looked at, and so is every credential of this machine's own addresses and of other managers, whose users share one
address. There, only the answer to a wrong one changes. Secrets have 256 bits, so the limit protects the manager and
its log, not the secrets."""

from __future__ import annotations

import hmac
import os
import time
from collections.abc import Callable
from ipaddress import IPv6Address, ip_address

from shunter.model.errors import Busy

BURST = 20  # wrong credentials at once
REFILL_PER_S = 0.2
SOURCES_MAX = 10_000
PROVEN_MAX = 10_000  # credentials that were right, each at one address
IPV6_PREFIX_BITS = 64  # one household or machine has that many addresses


class FailedAttempts:
    """Bounded: beyond its limits it forgets whoever came first."""

    def __init__(self, monotonic_s: Callable[[], float] = time.monotonic) -> None:
        self._monotonic_s = monotonic_s
        self._spent: dict[str, tuple[float, float]] = {}  # attempts, and when they were counted; oldest first
        self._proven: dict[bytes, None] = {}  # digests, oldest first
        self._key = os.urandom(32)

    def check(self, source: str, credential: str, *, is_shared: bool) -> None:
        """Before the credential is looked at. `is_shared`: many users have this address. Raises Busy."""
        if not is_shared and self._is_spent(source) and self._digest(source, credential) not in self._proven:
            raise self._refusal(source)

    def failed(self, source: str) -> None:
        """The credential was wrong. Raises Busy if the source has used up its attempts."""
        if self._is_spent(source):
            raise self._refusal(source)
        spent = self._spent_now(source)
        self._spent.pop(source, None)
        if len(self._spent) >= SOURCES_MAX:
            del self._spent[next(iter(self._spent))]
        self._spent[source] = spent + 1, self._monotonic_s()

    def succeeded(self, source: str, credential: str) -> None:
        digest = self._digest(source, credential)
        if digest in self._proven:
            return
        if len(self._proven) >= PROVEN_MAX:
            del self._proven[next(iter(self._proven))]
        self._proven[digest] = None

    def _is_spent(self, source: str) -> bool:
        return self._spent_now(source) > BURST - 1

    def _spent_now(self, source: str) -> float:
        found = self._spent.get(source)
        if found is None:
            return 0.0
        spent, since_s = found
        return max(0.0, spent - (self._monotonic_s() - since_s) * REFILL_PER_S)

    def _refusal(self, source: str) -> Busy:
        wait_s = (self._spent_now(source) - (BURST - 1)) / REFILL_PER_S
        return Busy("too many requests with a wrong token came from your address", max(wait_s, 1.0))

    def _digest(self, source: str, credential: str) -> bytes:
        """The digest of both together, under a secret key, so that it reveals nothing about the credential."""
        return hmac.digest(self._key, f"{source} {credential}".encode(), "sha256")


def source_of(address: str) -> tuple[str, bool]:
    """The name under which an address is counted, and whether the address is this machine's own."""
    try:
        found = ip_address(address)
    except ValueError:
        return "unknown", True  # a Unix socket, or a test
    if isinstance(found, IPv6Address):
        if found.ipv4_mapped is not None:
            return str(found.ipv4_mapped), found.ipv4_mapped.is_loopback
        return str(IPv6Address(int(found) >> IPV6_PREFIX_BITS << IPV6_PREFIX_BITS)), found.is_loopback
    return str(found), found.is_loopback
