"""Opens the port of a gRPC server, and says how many connections it has, and how long one may be of no use. Used by the
manager's two servers: for workers and for external schedulers."""

from __future__ import annotations

import errno
import resource
import socket
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import grpc
import grpc.aio

from shunter.adapters.grpc.channel import OPTIONS
from shunter.model.errors import Rejected, Unavailable


@dataclass(frozen=True, slots=True)
class ConnectionShare:
    """How many connections a listener may have: so many, and at most this part of the open files."""

    connections_max: int
    descriptors_per_connection: int

    def of(self, descriptors: int) -> int:
        return max(1, min(self.connections_max, descriptors // self.descriptors_per_connection))


# HTTP leaves a quarter of the open files for everything else.
WORKERS = ConnectionShare(20_000, 8)
SCHEDULERS = ConnectionShare(500, 16)


@dataclass(frozen=True, slots=True)
class ServerTls:
    """PEM texts. With `authorities`, clients need a certificate that one of them has signed."""

    key: bytes
    certificate: bytes
    authorities: bytes | None = None


ReadServerTls = Callable[[], ServerTls]  # asked for each connection, because files change


@dataclass(frozen=True, slots=True)
class ServerTimeouts:
    """Whoever connects takes an open file, before any token is checked."""

    handshake_s: float = 5.0  # from the connection to the first settings of HTTP/2, TLS included
    idle_s: float = 15.0  # without any call


def server_options(timeouts: ServerTimeouts | None, connections_max: int) -> list[tuple[str, int]]:
    """The server closes connections beyond `connections_max` as soon as it has accepted them."""
    timeouts = timeouts or ServerTimeouts()
    return [
        *OPTIONS,
        # Without this two managers could share a port and each would get half of the connections.
        ("grpc.so_reuseport", 0),
        ("grpc.server_handshake_timeout_ms", int(timeouts.handshake_s * 1000)),
        ("grpc.max_connection_idle_ms", int(timeouts.idle_s * 1000)),
        ("grpc.max_allowed_incoming_connections", connections_max),
    ]


def find_connections_max(share: ConnectionShare) -> int:
    """By the open files that this process may have now."""
    descriptors = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    return share.connections_max if descriptors == resource.RLIM_INFINITY else share.of(descriptors)


def open_port(server: grpc.aio.Server, host: str, port: int, tls: ReadServerTls | None, peers: str) -> int:
    """Returns the port. Raises Unavailable if another process uses it, Rejected if this machine lacks the address."""
    address = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
    _check_host(host, f"cannot listen for {peers} on {address}")
    try:
        if tls is None:
            return server.add_insecure_port(address)
        return server.add_secure_port(address, _credentials(tls))
    except RuntimeError as error:
        raise Unavailable(f"cannot listen for {peers} on {address}: {error}") from error


def _credentials(read: ReadServerTls) -> grpc.ServerCredentials:
    """Each handshake asks for the files of now. gRPC builds them again only if it is given others."""
    current = read()

    def configure(tls: ServerTls) -> Any:
        return grpc.ssl_server_certificate_configuration([(tls.key, tls.certificate)], tls.authorities)

    def fetch() -> Any:
        nonlocal current
        found = read()
        if found == current:
            return None
        current = found
        return configure(found)

    is_required = current.authorities is not None
    return grpc.dynamic_ssl_server_credentials(configure(current), fetch, is_required)


def _check_host(host: str, fault: str) -> None:
    """Raises Rejected. Without this check, only the log of the gRPC library would tell what is wrong."""
    try:
        family, kind, protocol, _, target = socket.getaddrinfo(host, 0, type=socket.SOCK_STREAM)[0]
        with socket.socket(family, kind, protocol) as probe:
            probe.bind(target)
    except socket.gaierror as error:
        raise Rejected(f"{fault}: the name {host} is not known") from error
    except OSError as error:
        if error.errno == errno.EADDRNOTAVAIL:
            raise Rejected(f"{fault}: this machine does not have that address") from error
