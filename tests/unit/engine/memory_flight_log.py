"""A flight log in memory, for tests."""

from __future__ import annotations

from shunter.model.protocol.flight_records import FlightRecord, decode_record


class MemoryFlightLog:
    """The flight log: keeps what is recorded."""

    def __init__(self) -> None:
        self.segments: list[list[bytes]] = []

    def begin_segment(self) -> None:
        self.segments.append([])

    def append(self, record: bytes) -> None:
        self.segments[-1].append(record)

    @property
    def segment_bytes(self) -> int:
        return sum(map(len, self.segments[-1])) if self.segments else 0

    def records(self, first: int = 0) -> list[FlightRecord]:
        return [decode_record(record) for segment in self.segments[first:] for record in segment]
