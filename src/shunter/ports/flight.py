"""The log of the flight recorder: bounded, in segments. Implemented by `adapters.files`."""

from __future__ import annotations

from typing import Protocol


class FlightLog(Protocol):
    def begin_segment(self) -> None:
        """Records appended from now on can be read without the ones before. Old segments may be dropped."""
        ...

    def append(self, record: bytes) -> None:
        """Never waits, and never raises: a recorder that fails must not keep anybody from flying."""
        ...

    @property
    def segment_bytes(self) -> int:
        """The size of the current segment."""
        ...
