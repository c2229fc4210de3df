"""Limits and time-outs of HTTP connections, shared by the listeners of a manager. `app.manager` builds them."""

from __future__ import annotations

import resource
from collections.abc import Callable, Hashable
from dataclasses import dataclass

CONNECTIONS_MAX = 10_000
HEALTH_RESERVE = 16
DESCRIPTORS_FOR_OTHERS = 256  # workers, keepers, the store, logs; at least, and a quarter of all

Close = Callable[[], None]


@dataclass(frozen=True, slots=True)
class ConnectionTimeouts:
    header_s: float = 10.0  # from the first byte of a request, or from the connection, to the end of its headers
    reserve_header_s: float = 1.0  # the same while only health checks are answered
    body_pause_s: float = 30.0  # between two parts of a body
    body_s: float = 300.0  # for the whole body
    write_s: float = 300.0  # without any progress, for a peer that does not read its answer
    header_bytes_max: int = 64 * 2**10


class ConnectionLimits:
    """Counts connections. Beyond the limit, each new one takes the place of the one that has waited longest without
    asking for anything, so nobody keeps others out by being silent. If all are busy, the last ones are for health
    checks: whoever asks for something else is refused. Descriptors beyond that are left for workers, so that they can
    join while clients have taken all connections.

    A connection is known by the protocol that was made for it, from before its TLS handshake until after its end."""

    def __init__(
        self,
        connections_max: int | None = None,
        health_reserve: int = HEALTH_RESERVE,
        timeouts: ConnectionTimeouts | None = None,
    ) -> None:
        self.connections_max = _connections_max() if connections_max is None else connections_max
        self.timeouts = timeouts or ConnectionTimeouts()
        self._health_reserve = health_reserve
        self._open: set[Hashable] = set()
        # Those that may be closed, the longest waiting first, and how. A client that was answered before may have
        # another request; one that never asked for anything goes first.
        self._silent: dict[Hashable, Close] = {}
        self._idle: dict[Hashable, Close] = {}

    @property
    def open(self) -> int:
        return len(self._open)

    @property
    def is_full(self) -> bool:
        """Whether only health checks are answered."""
        return self.open > self.connections_max

    @property
    def is_exhausted(self) -> bool:
        """Whether nothing is answered."""
        return self.open > self.connections_max + self._health_reserve

    def on_open(self, connection: Hashable, close: Close) -> None:
        """It waits for a first request. If it is open already, only the way to close it changes."""
        if connection not in self._open:
            self._open.add(connection)
            if self.is_full:
                self._make_room()
        self._silent[connection] = close

    def on_request(self, connection: Hashable) -> None:
        """It may not be closed until `on_answered`."""
        self._silent.pop(connection, None)
        self._idle.pop(connection, None)

    def on_answered(self, connection: Hashable, close: Close) -> None:
        if connection in self._open:
            self._idle[connection] = close

    def on_close(self, connection: Hashable) -> None:
        self._open.discard(connection)
        self.on_request(connection)

    def _make_room(self) -> None:
        waiting = self._silent or self._idle
        if waiting:
            connection, close = next(iter(waiting.items()))
            self.on_close(connection)  # its file is closed within moments
            close()


def _connections_max() -> int:
    descriptors = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    if descriptors == resource.RLIM_INFINITY:
        return CONNECTIONS_MAX
    for_others = max(descriptors // 4, min(DESCRIPTORS_FOR_OTHERS, descriptors // 2))
    return max(1, min(CONNECTIONS_MAX, descriptors - for_others - HEALTH_RESERVE))
