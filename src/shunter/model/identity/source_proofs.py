"""How a manager proves to another one where a request came from that it passes on. Used by the transports.

All managers of a cluster share a secret, with which they sign addresses. A client may claim what it wants."""

from __future__ import annotations

import hmac
from collections.abc import Callable

SOURCE = "shunter-source"  # the header, or the metadata, with ADDRESS PROOF
Sign = Callable[[str], str]


def with_proof(address: str, sign: Sign) -> str:
    return f"{address} {sign(address)}"


def proven_address(told: str, sign: Sign) -> str | None:
    """None for what no manager has said."""
    address, _, proof = told.partition(" ")
    return address if told.isascii() and hmac.compare_digest(proof, sign(address)) else None


def address_of_peer(peer: str) -> str:
    """What gRPC calls `ipv4:10.0.0.1:5000` or `ipv6:%5B::1%5D:5000`."""
    _, _, rest = peer.partition(":")
    return rest.rpartition(":")[0].replace("%5B", "").replace("%5D", "")
