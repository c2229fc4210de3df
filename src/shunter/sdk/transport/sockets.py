"""Socket options that both transports set, and their error when the cluster does not answer."""

from __future__ import annotations

import socket

from shunter.sdk.endpoint import NO_CLUSTER, Endpoint

CONNECT_TIMEOUT_S = 10.0
RECEIVE_MAX_BYTES = 256 * 2**10
IDLE_MAX = 8
KEEPALIVE_IDLE_S = 30


def set_socket_options(connected: socket.socket) -> None:
    """Send small packets at once, and probe idle connections: a stream may be silent for hours."""
    connected.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    connected.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    if hasattr(socket, "TCP_KEEPIDLE"):
        connected.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, KEEPALIVE_IDLE_S)


def unreachable_message(endpoint: Endpoint, error: OSError) -> str:
    if endpoint.local:
        return NO_CLUSTER
    return f"no cluster answers at {endpoint.url} ({error.strerror or error}); check SHUNTER_URL, or start one there"
