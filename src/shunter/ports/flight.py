"""The log of the flight recorder: bounded, in segments. Implemented by `adapters.files`."""

from __future__ import annotations

from typing import Protocol


class FlightLog(Protocol):
    def begin_segment(self) -> None:
        """What is appended from now on can be read without anything before it. Old segments may go."""
        ...

    def append(self, record: bytes) -> None:
        """Never waits, and never raises: a recorder that fails must not keep anybody from flying."""
        ...

    @property
    def segment_bytes(self) -> int:
        """Of the segment in use, so far."""
        ...
