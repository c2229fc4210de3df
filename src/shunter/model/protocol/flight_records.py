"""The records of the flight recorder: every decision with its inputs, so that it can be made again.

A file is a sequence of records. A source (the rounds, or the session of a scheduler) begins, receives situations, and
decides. A record's `inputs` is a hash over everything its source has received since it began: equal hashes mean equal
inputs."""

from __future__ import annotations

from typing import Any, TypeAlias

import msgspec

from shunter.model.protocol.scheduler_messages import DecisionRow, Situation

ROUNDS = "rounds"  # the source of what the policy inside the engine's rounds decides


class Began(msgspec.Struct, frozen=True, tag="began", tag_field="t", omit_defaults=True):
    """A policy decides for a source from here on; what it is shown next is whole. Unless it `is_fresh` it remembers
    something from before, which nobody wrote down; a fresh one remembers just `memory`. `origin` is the MODULE:CLASS
    that the policy was built from; empty for built-in policies and for external schedulers."""

    source: str
    policy: str
    at: float
    wants: tuple[str, ...]
    is_fresh: bool = False
    memory: dict[str, Any] = {}
    origin: str = ""


class SituationRecord(msgspec.Struct, frozen=True, tag="shown", tag_field="t", omit_defaults=True):
    source: str
    situation: Situation
    inputs: str


class Decided(msgspec.Struct, frozen=True, tag="decided", tag_field="t", omit_defaults=True):
    """A decision on the situation with this number, and what became of it."""

    source: str
    number: int
    decision: DecisionRow
    placed: int = 0
    refused: int = 0  # items


class Step(msgspec.Struct, frozen=True, tag="step", tag_field="t", omit_defaults=True):
    """Shown and decided at once, in a round."""

    situation: Situation
    decision: DecisionRow
    inputs: str


class Shadowed(msgspec.Struct, frozen=True, tag="shadowed", tag_field="t", omit_defaults=True):
    """What a shadow would have decided on the situation of a step."""

    shadow: str
    number: int
    decision: DecisionRow
    is_same: bool = False


FlightRecord: TypeAlias = Began | SituationRecord | Decided | Step | Shadowed


class Replayed(msgspec.Struct, frozen=True):
    """A decision as it was recorded, and as it was made again. `missing` counts questions of the policy to which the
    recording has no answer: another policy may ask what the recorded one did not."""

    source: str
    policy: str  # that decided when it was recorded
    at: float
    number: int
    version: int
    inputs: str
    recorded: DecisionRow
    made: DecisionRow
    missing: int
    is_fresh: bool  # whether all that the policy remembered is known
    names: list[str]  # of the nodes, by row

    @property
    def is_same(self) -> bool:
        return is_same(self.recorded, self.made)


class FlightSegment(msgspec.Struct, frozen=True):
    """One file of a flight recording."""

    name: str
    started_at: str
    ended_at: str
    decisions: int
    bytes: int


class FlightPage(msgspec.Struct, frozen=True):
    items: list[FlightSegment]
    next: str | None
    total: int


_decoder: msgspec.msgpack.Decoder[FlightRecord] = msgspec.msgpack.Decoder(FlightRecord)
_encoder = msgspec.msgpack.Encoder()


def encode_record(record: FlightRecord) -> bytes:
    return _encoder.encode(record)


def decode_record(body: bytes) -> FlightRecord:
    """Raises msgspec.DecodeError or ValidationError if it is not a record."""
    record: FlightRecord = _decoder.decode(body)
    return record


def is_same(left: DecisionRow, right: DecisionRow) -> bool:
    """Whether two decisions on the same view have the same effect. The order of their items does not matter."""
    return outcome(left) == outcome(right)


def outcome(decision: DecisionRow) -> tuple[Any, ...]:
    placed: dict[int, dict[int, int]] = {}
    for each in decision.placements:
        nodes = placed.setdefault(each.class_id, {})
        for node, count in zip(each.nodes, each.counts, strict=True):
            nodes[node] = nodes.get(node, 0) + count
    return (
        placed,
        sorted(msgspec.structs.astuple(each) for each in decision.preemptions),
        {each.name: each.spec for each in decision.schedulings},
        sorted(decision.withdrawals),
    )
