"""Where an HTTP request comes from, for the audit log. Used by `api.http.app` and `api.http.forwarding`.

A manager that forwards a request says from which address it came, with a proof that no client can make."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shunter.model.identity.source_proofs import SOURCE, Sign, proven_address, with_proof
from shunter.ports.principals import Principal
from shunter.ports.security.audit import Origin

if TYPE_CHECKING:
    from shunter.api.http.exchange import Exchange
    from shunter.api.http.routing import Route

SOURCE_HEADER = SOURCE.encode()
TARGET_SIZE_MAX = 300


def origin_of(exchange: Exchange, route: Route, caller: Principal, sign: Sign) -> Origin:
    if exchange.session is not None:
        transport = "browser"
    else:
        transport = "external" if exchange.scope["path"].startswith("/external") else "rest"
    target = "/".join(exchange.path_params.values())[:TARGET_SIZE_MAX]
    return Origin(caller, route.name, transport, source_address(exchange, sign), target)


def source_address(exchange: Exchange, sign: Sign) -> str:
    """The address of the client; or of the manager that forwarded the request, if it does not prove where the request
    came from."""
    proven = proven_source(exchange, sign)
    return peer_address(exchange) if proven is None else proven


def proven_source(exchange: Exchange, sign: Sign) -> str | None:
    """Where a request came from to the manager that has forwarded it. None for what a client has sent itself, whatever
    it says."""
    told = exchange.header(SOURCE_HEADER) if exchange.is_forwarded else None
    return None if told is None else proven_address(told, sign)


def peer_address(exchange: Exchange) -> str:
    return str((exchange.scope.get("client") or ("",))[0])


def source_header(exchange: Exchange, sign: Sign) -> tuple[bytes, bytes]:
    """For the manager that this one forwards the request to."""
    return SOURCE_HEADER, with_proof(peer_address(exchange), sign).encode()
