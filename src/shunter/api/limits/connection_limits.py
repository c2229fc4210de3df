"""Limits and time-outs of HTTP connections, shared by the listeners of a manager. `app.manager` builds them."""

from __future__ import annotations

import resource
from dataclasses import dataclass

CONNECTIONS_MAX = 10_000
HEALTH_RESERVE = 16
DESCRIPTORS_FOR_OTHERS = 256  # workers, keepers, the store, logs; at least, and a quarter of all


@dataclass(frozen=True, slots=True)
class ConnectionTimeouts:
    header_s: float = 10.0  # from the first byte of a request, or from the connection, to the end of its headers
    reserve_header_s: float = 1.0  # the same while only health checks are answered
    body_pause_s: float = 30.0  # between two parts of a body
    body_s: float = 300.0  # for the whole body
    write_s: float = 300.0  # without any progress, for a peer that does not read its answer
    header_bytes_max: int = 64 * 2**10


class ConnectionLimits:
    """Counts connections. The last ones are for health checks: whoever asks for something else is refused. Descriptors
    beyond that are left for workers, so that they can join while clients have taken all connections."""

    def __init__(
        self,
        connections_max: int | None = None,
        health_reserve: int = HEALTH_RESERVE,
        timeouts: ConnectionTimeouts | None = None,
    ) -> None:
        self.connections_max = _connections_max() if connections_max is None else connections_max
        self.timeouts = timeouts or ConnectionTimeouts()
        self.open = 0
        self._health_reserve = health_reserve

    @property
    def is_full(self) -> bool:
        """Whether only health checks are answered."""
        return self.open > self.connections_max

    @property
    def is_exhausted(self) -> bool:
        """Whether nothing is answered."""
        return self.open > self.connections_max + self._health_reserve

    def on_open(self) -> None:
        self.open += 1

    def on_close(self) -> None:
        self.open -= 1


def _connections_max() -> int:
    descriptors = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    if descriptors == resource.RLIM_INFINITY:
        return CONNECTIONS_MAX
    for_others = max(descriptors // 4, min(DESCRIPTORS_FOR_OTHERS, descriptors // 2))
    return max(1, min(CONNECTIONS_MAX, descriptors - for_others - HEALTH_RESERVE))
