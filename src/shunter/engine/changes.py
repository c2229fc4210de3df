"""Changes: what a round did, as values. The engine decides changes, `State.apply` carries them out, the store keeps
them, recovery applies them again, and events are a rendering of them.

A row that moves tasks names its job in words as well (`ref`), so that history reads without looking anything up.
"""

from __future__ import annotations

from itertools import accumulate

import msgspec


class _Change(msgspec.Struct, array_like=True, gc=False, tag_field="kind"):
    pass


class JobSubmitted(_Change, tag=1):
    job: int
    namespace: str
    name: str
    run: int
    type: str
    priority: int
    labels: dict[str, str]
    user: str
    at_ms: int
    groups: msgspec.Raw  # tuple[GroupSpec, ...]; shared between jobs that are alike but for their names


class KeyUsed(_Change, tag=2):
    """A client's key for a submit: repeating it returns these jobs."""

    key: str
    jobs: list[int]
    at_ms: int


class TasksPlaced(_Change, tag=3):
    """queued -> assigned, as attempt `attempt`."""

    job: int
    group: int
    first: int
    last: int
    attempt: int
    node: int
    ref: str


class TaskStarted(_Change, tag=4):
    job: int
    group: int
    index: int
    started_ms: int
    log: int
    ref: str


class TasksFinished(_Change, tag=5):
    """All of them exited with 0. `started` and `ended` are times packed by `pack_times`; logs follow one another."""

    job: int
    group: int
    first: int
    last: int
    started: list[int]
    ended: list[int]
    log: int
    ref: str


class TaskEnded(_Change, tag=6):
    """One attempt ended otherwise. `event` is RETRIED, GAVE_UP or STOPPED; `not_before_ms` holds for RETRIED."""

    job: int
    group: int
    index: int
    event: int
    exit_code: int
    started_ms: int
    ended_ms: int
    log: int
    not_before_ms: int
    reason: str
    ref: str


class TasksLost(_Change, tag=7):
    """Attempts ended without an exit code: queued again."""

    job: int
    group: int
    first: int
    last: int
    at_ms: int
    reason: str
    ref: str


class TasksMoved(_Change, tag=8):
    """A move without further facts. `event` is RETURNED, CANCEL_ASKED, STOPPED, CANCELLED or GAVE_UP."""

    job: int
    group: int
    first: int
    last: int
    event: int
    at_ms: int
    reason: str
    ref: str


class JobStopAsked(_Change, tag=9):
    job: int
    at_ms: int
    reason: str
    ref: str


class JobEnded(_Change, tag=10):
    """The run is over and leaves memory; its history went to the store in the same commit."""

    job: int
    event: int
    at_ms: int
    reason: str
    ref: str


class NodeJoined(_Change, tag=11):
    """A worker said who it is: a new node, or the facts of a known one anew."""

    node: int
    name: str
    boot: str
    capacity: dict[str, int]
    labels: dict[str, str]
    datacenter: str
    attributes: dict[str, str]
    address: str
    at_ms: int


class NodeMoved(_Change, tag=12):
    node: int
    event: int
    reason: str
    at_ms: int
    ref: str


class NodeLabelled(_Change, tag=13):
    """Labels set by hand; they win over those that the worker brings. An empty value takes the label away."""

    node: int
    labels: dict[str, str]
    at_ms: int
    ref: str


class LanesSet(_Change, tag=14):
    """The reservation of a class on a node has `width` lanes from now on; 0 ends it."""

    class_id: int
    node: int
    width: int


class KeysDropped(_Change, tag=15):
    """The oldest `count` client keys are forgotten."""

    count: int


class NamesDropped(_Change, tag=16):
    """History purged the last run of these names; a later run counts from 1 again."""

    names: list[tuple[str, str]]


Change = (
    JobSubmitted
    | KeyUsed
    | TasksPlaced
    | TaskStarted
    | TasksFinished
    | TaskEnded
    | TasksLost
    | TasksMoved
    | JobStopAsked
    | JobEnded
    | NodeJoined
    | NodeMoved
    | NodeLabelled
    | LanesSet
    | KeysDropped
    | NamesDropped
)

_encoder = msgspec.msgpack.Encoder()
_decoder = msgspec.msgpack.Decoder(list[Change])


def encode_round(changes: list[Change]) -> bytes:
    return _encoder.encode(changes)


def decode_round(body: bytes) -> list[Change]:
    return _decoder.decode(body)


def pack_times(times_ms: list[int]) -> list[int]:
    """Times of neighbouring tasks: the first whole, then the differences, which pack into a byte or two."""
    return [later - earlier for earlier, later in zip([0, *times_ms], times_ms, strict=False)]


def unpack_times(steps: list[int]) -> list[int]:
    return list(accumulate(steps))
