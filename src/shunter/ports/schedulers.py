"""What external schedulers may ask, on behalf of one caller, and what the flight recorder has kept: two services of the
gateway. Implemented in `gateway/` on the engine. Calls raise only the errors of `model.errors`.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Collection, Iterator
from typing import Protocol

from shunter.model.protocol.flight_records import FlightPage, FlightSegment
from shunter.model.protocol.scheduler_messages import DecisionAnswer, DecisionRow, Situation


class SchedulerSession(Protocol):
    """One scheduler that is shown the situation. Its lease ends unless it decides or renews in time."""

    @property
    def name(self) -> str: ...

    @property
    def token(self) -> str:
        """Decisions carry it; whoever comes with an older one is refused."""
        ...

    @property
    def lease_s(self) -> float: ...

    async def next(self) -> Situation | None:
        """The next situation to decide on; None when the session is over, and `close_reason` says why."""
        ...

    @property
    def close_reason(self) -> str: ...

    def close(self, reason: str) -> None: ...


class SchedulerService(Protocol):
    async def open(self, name: str, wants: Collection[str], mode: str) -> SchedulerSession:
        """Be shown the situation from now on. `mode` is lead or shadow; a session that the name had is over. Raises
        Invalid."""
        ...

    async def decide(self, token: str, row: DecisionRow) -> DecisionAnswer:
        """Returns after the commit of what holds. Raises Conflict where the token is void, Busy and TooLarge beyond the
        budget."""
        ...

    async def renew(self, token: str) -> float:
        """The scheduler lives, and has nothing to decide; its lease lasts so many seconds again. Raises Conflict."""
        ...


class FlightArchive(Protocol):
    """The recorder's segments, to be read. These calls take their time."""

    def list_segments(self) -> list[FlightSegment]:
        """Oldest first."""
        ...

    def export(self) -> Iterator[bytes]:
        """Pieces of one file with all that was recorded."""
        ...


class FlightService(Protocol):
    async def segments(self) -> FlightPage: ...

    async def records(self) -> AsyncGenerator[bytes, None]:
        """Pieces of a file for `shunter replay`."""
        ...
