"""Reads segments of the flight recorder: which decisions were made, and what shadows would have decided. Used by
`decisions`, `flight_overview` and `decision_details`.

A segment is read whole, in a thread: it has some megabytes at most. A closed segment never changes, so that it is read
once."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass

from shunter.gateway.explain.plan import RunInThread
from shunter.model.errors import Invalid, Problem
from shunter.model.protocol.flight_records import ROUNDS, Began, Decided, Shadowed, SituationRecord, Step, decode_record
from shunter.model.protocol.scheduler_messages import DecisionRow
from shunter.ports.schedulers import FlightArchive

SEGMENTS_MAX = 4  # that one answer reads
REMEMBERED_MAX = 8


@dataclass(frozen=True, slots=True)
class RecordedDecision:
    """`number`: the position of its record in the segment."""

    number: int
    at: float
    source: str
    policy: str
    version: int
    row: DecisionRow

    @property
    def has_effect(self) -> bool:
        row = self.row
        return bool(row.placements or row.preemptions or row.schedulings or row.error)

    @property
    def placed(self) -> int:
        return sum(sum(each.counts) for each in self.row.placements)

    @property
    def preempted(self) -> int:
        return sum(each.count for each in self.row.preemptions)


@dataclass(frozen=True, slots=True)
class Comparison:
    """A shadow's decision, compared with the actual one of about that time."""

    shadow: str
    at: float
    is_same: bool


@dataclass(frozen=True, slots=True)
class RecordedSegment:
    name: str
    decisions: tuple[RecordedDecision, ...]
    comparisons: tuple[Comparison, ...]


class Recording:
    """Without an archive, nothing is recorded."""

    def __init__(self, archive: FlightArchive | None, run_in_thread: RunInThread) -> None:
        self._archive, self._run_in_thread = archive, run_in_thread
        self._closed: OrderedDict[str, RecordedSegment] = OrderedDict()

    async def names(self) -> list[str]:
        """Oldest first; the recorder appends to the last one."""
        return [] if self._archive is None else await self._run_in_thread(self._archive.segment_names)

    async def segment(self, name: str, *, is_closed: bool) -> RecordedSegment:
        """Empty if it is gone meanwhile."""
        if (known := self._closed.get(name)) is not None:
            self._closed.move_to_end(name)
            return known
        if self._archive is None:
            return RecordedSegment(name, (), ())
        found = await self._run_in_thread(_read_segment, self._archive, name)
        if is_closed and found.decisions:
            self._closed[name] = found
            if len(self._closed) > REMEMBERED_MAX:
                self._closed.popitem(last=False)
        return found


def _read_segment(archive: FlightArchive, name: str) -> RecordedSegment:
    policies: dict[str, str] = {}
    shown: dict[str, tuple[float, int]] = {}
    decisions: list[RecordedDecision] = []
    comparisons: list[Comparison] = []
    now = 0.0
    for number, body in enumerate(archive.read_segment(name)):
        record = decode_record(body)
        match record:
            case Began():
                policies[record.source] = record.policy
            case SituationRecord():
                now, version = record.situation.now, record.situation.delta.version
                shown[record.source] = now, version
            case Step():
                now, version = record.situation.now, record.situation.delta.version
                policy = policies.get(ROUNDS, "")
                decisions.append(RecordedDecision(number, now, ROUNDS, policy, version, record.decision))
            case Decided():
                at, version = shown.get(record.source, (0.0, 0))
                policy = policies.get(record.source, "")
                decisions.append(RecordedDecision(number, at, record.source, policy, version, record.decision))
            case Shadowed():
                comparisons.append(Comparison(record.shadow, now, record.is_same))
    return RecordedSegment(name, tuple(decisions), tuple(comparisons))


def parse_id(text: str, field: str) -> tuple[str, int]:
    """The segment and the number of a decision. Raises Invalid."""
    segment, _, number = text.partition(".")
    if not (segment.isdigit() and number.isdigit()):
        raise Invalid([Problem(field, "is not the id of a decision", text, "use an id of `GET /flight/decisions`")])
    return segment, int(number)
