"""External schedulers and the flight recorder: the Protocols of the sub-gateways `schedulers` and `flight`.

Implemented in `gateway/`. Calls raise only the errors of `model.errors`.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Collection, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Protocol

from shunter.model.protocol.flight_records import FlightPage, FlightSegment
from shunter.model.protocol.scheduler_messages import DecisionAnswer, DecisionRow, Situation
from shunter.model.rest.external_views import SchedulerSessionView


class SchedulerSession(Protocol):
    """A connected scheduler, which sees the situation. Its lease ends unless it decides or renews in time."""

    @property
    def name(self) -> str: ...

    @property
    def token(self) -> str:
        """Decisions carry it; an older token is refused."""
        ...

    @property
    def lease_s(self) -> float: ...

    async def next(self) -> Situation | None:
        """The next situation to decide on; None when the session has ended, for `close_reason`."""
        ...

    @property
    def close_reason(self) -> str: ...

    def close(self, reason: str) -> None: ...


# The session in which the present request was sent over REST; empty: in none. A context variable because a request
# passes through a dozen functions that have no use for it.
session_of_request: ContextVar[str] = ContextVar("session_of_request", default="")


@contextmanager
def in_session(token: str) -> Iterator[None]:
    before = session_of_request.set(token)
    try:
        yield
    finally:
        session_of_request.reset(before)


class SchedulerService(Protocol):
    async def open(self, name: str, wants: Collection[str], mode: str) -> SchedulerSession:
        """Open a session, which ends an earlier one of the same name. `mode` is lead or shadow. Raises Invalid."""
        ...

    async def decide(self, token: str, row: DecisionRow) -> DecisionAnswer:
        """Returns after the valid items are committed. Raises Conflict for an old token, Busy and TooLarge beyond the
        budget."""
        ...

    async def renew(self, token: str) -> float:
        """Renew the lease without a decision; returns its seconds. Raises Conflict."""
        ...

    async def open_rest(self, name: str, mode: str) -> SchedulerSessionView:
        """Open a session of a scheduler over REST, which ends an earlier one of the same name. Raises Invalid."""
        ...

    async def renew_rest(self, name: str, token: str) -> SchedulerSessionView:
        """Raises NotFound, Conflict."""
        ...

    async def close_rest(self, name: str, token: str) -> None:
        """Raises NotFound, Conflict."""
        ...

    def saw(self, token: str, *, is_read: bool) -> None:
        """A request in the session, which renews the lease; a read sees what is committed now. Raises Conflict."""
        ...


class FlightArchive(Protocol):
    """Reads the recorder's segments. These calls block."""

    def list_segments(self) -> list[FlightSegment]:
        """Oldest first."""
        ...

    def segment_names(self) -> list[str]:
        """Oldest first."""
        ...

    def read_segment(self, name: str) -> Iterator[bytes]:
        """Its records; none if it is gone meanwhile."""
        ...

    def export(self) -> Iterator[bytes]:
        """Chunks of one file with everything that was recorded."""
        ...


class FlightService(Protocol):
    async def segments(self) -> FlightPage: ...

    async def records(self) -> AsyncGenerator[bytes, None]:
        """Chunks of a file for `shunter replay`."""
        ...
