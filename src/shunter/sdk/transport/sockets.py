"""What both transports share: time-outs, socket options, and the error when the cluster does not answer.

A manager may hang without closing its connections: it is stopped, its event loop is blocked, or its link is cut. TCP
does not notice the first two, and the answer to a request or the next line of a stream may rightly take hours. So where
there is another manager to ask, a transport probes a manager that is silent: it sends a small request over a second
connection. Any reply, even an error, shows that the manager runs, and the transport goes on waiting."""

from __future__ import annotations

import socket

from shunter.sdk.endpoint import NO_CLUSTER, Endpoint
from shunter.sdk.errors import NotReachable, Rejected

CONNECT_TIMEOUT_S = 10.0
SEND_TIMEOUT_S = 10.0
RECEIVE_MAX_BYTES = 256 * 2**10
IDLE_MAX = 8
KEEPALIVE_IDLE_S = 30
FAILOVER_CONNECT_TIMEOUT_S = 3.0  # where there is another manager to ask
PROBE_AFTER_S = 1.0  # of silence; then after twice the time, and so on
PROBE_AFTER_MAX_S = 10.0
PROBE_TIMEOUT_S = 2.0


def set_socket_options(connected: socket.socket) -> None:
    """Send small packets at once, and probe idle connections: a stream may be silent for hours."""
    connected.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    connected.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    if hasattr(socket, "TCP_KEEPIDLE"):
        connected.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, KEEPALIVE_IDLE_S)


class Silence:
    """How long a connection has been silent, and how long to wait until its manager is probed, or the time is over."""

    def __init__(self, timeout_s: float | None, is_probed: bool) -> None:
        self._left_s, self._is_probed, self._probe_after_s = timeout_s, is_probed, PROBE_AFTER_S

    @property
    def wait_s(self) -> float | None:
        if not self._is_probed:
            return self._left_s
        return self._probe_after_s if self._left_s is None else min(self._left_s, self._probe_after_s)

    def on_timeout(self) -> None:
        """`wait_s` is over. Raises TimeoutError if that was all of the time."""
        wait_s = self.wait_s
        if self._left_s is not None and wait_s is not None:
            self._left_s -= wait_s
        if not self._is_probed or (self._left_s is not None and self._left_s <= 0):
            raise TimeoutError("timed out")
        self._probe_after_s = min(2 * self._probe_after_s, PROBE_AFTER_MAX_S)


def check_scheme(endpoint: Endpoint) -> None:
    """Raises Rejected if a server that closed a plain connection without an answer speaks TLS there. Called after such
    a failure only."""
    if endpoint.tls:
        return
    from shunter.sdk.transport.tls import speaks_tls

    if speaks_tls(endpoint.host, endpoint.port):
        url = endpoint.url.replace("http://", "https://", 1)
        raise Rejected(f"{endpoint.url} speaks HTTPS; write the address as {url}")


def not_reachable(endpoint: Endpoint, error: OSError, managers: int) -> NotReachable:
    """Raises Rejected if the other side is there, and cannot be trusted."""
    if endpoint.tls:
        from shunter.sdk.transport.tls import check_trust

        check_trust(endpoint, error)
    if endpoint.local:
        return NotReachable(NO_CLUSTER)
    if managers > 1:
        return NotReachable(f"{endpoint.url} ({error.strerror or error or 'timed out'})")
    fact = f"no cluster answers at {endpoint.url} ({error.strerror or error})"
    return NotReachable(fact, "check SHUNTER_URL, or start one there")
