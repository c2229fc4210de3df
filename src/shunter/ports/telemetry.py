"""What a process tells about itself: its metrics for Prometheus, and what it is asked for when something is wrong."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from shunter.model.metrics.debug_views import DebugView
from shunter.model.metrics.exposition import Exposition


class Probe(Protocol):
    """Measures something outside of the engine when somebody asks: this process, its event loop, its disk."""

    def put(self, exposition: Exposition) -> None: ...


class StallRecord(Protocol):
    """The event loop did nothing else for so long."""

    @property
    def at_s(self) -> float: ...

    @property
    def duration_s(self) -> float: ...


class Inspector(Protocol):
    """What only the process can tell that runs the manager."""

    @property
    def python(self) -> str:
        """Its version."""
        ...

    def stalls(self) -> Sequence[StallRecord]:
        """The last stalls of the event loop."""
        ...

    async def profile(self, seconds: float) -> str:
        """Folded stacks of the thread of the event loop."""
        ...


class TelemetryService(Protocol):
    def metrics(self) -> bytes:
        """OpenMetrics text. What is true of the whole cluster is in the answer of the leader alone. Raises Forbidden
        for callers that see a part of the cluster."""
        ...

    async def debug(self, profile_s: float) -> DebugView:
        """For whoever looks for a fault: it has names of nodes and queues, and no secrets. Raises Busy while another
        profile is taken."""
        ...
