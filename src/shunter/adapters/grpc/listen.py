"""Opens the port of a gRPC server. Used by the manager's two servers: for workers and for external schedulers."""

from __future__ import annotations

from dataclasses import dataclass

import grpc
import grpc.aio

from shunter.model.errors import Unavailable


@dataclass(frozen=True, slots=True)
class ServerTls:
    """PEM texts."""

    key: bytes
    certificate: bytes


def open_port(server: grpc.aio.Server, host: str, port: int, tls: ServerTls | None, peers: str) -> int:
    """The port in use. Raises Unavailable where it cannot be had."""
    address = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
    try:
        if tls is None:
            return server.add_insecure_port(address)
        return server.add_secure_port(address, grpc.ssl_server_credentials([(tls.key, tls.certificate)]))
    except RuntimeError as error:
        raise Unavailable(f"cannot listen for {peers} on {address}: {error}") from error
