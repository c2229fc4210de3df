"""Converts the messages of `model.protocol.worker_messages` to bytes of `worker.proto`, and back. Called by this
folder's server and client.

A struct and its protobuf message have the same fields by name, and a protobuf field has presence exactly where the
struct's default is not protobuf's zero; a test compares them.
"""

from __future__ import annotations

import functools
import re
import types
import typing

import msgspec
from google.protobuf.message import DecodeError, Message

from shunter.model.protocol.message_limits import PARTS_MAX
from shunter.model.protocol.worker_messages import Leader, ManagerMessage, WorkerMessage
from shunter.proto.worker.v1 import worker_pb2
from shunter.wire.struct_codec import StructCodec, codec_of


class Malformed(ValueError):
    """These bytes are no message of the protocol, or a message that cannot be written in it."""


def encode_manager(message: ManagerMessage) -> bytes:
    return manager_envelope().encode(message)


def decode_manager(data: bytes) -> ManagerMessage | None:
    """None for a kind of message that this version does not know. Raises Malformed."""
    return typing.cast("ManagerMessage | None", manager_envelope().decode(data))


def encode_worker(message: WorkerMessage) -> bytes:
    return worker_envelope().encode(message)


def decode_worker(data: bytes) -> WorkerMessage | None:
    """None for a kind of message that this version does not know. Raises Malformed."""
    return typing.cast("WorkerMessage | None", worker_envelope().decode(data))


def encode_leader(leader: Leader) -> bytes:
    return _leader_codec().to_message(leader).SerializeToString()


def decode_leader(data: bytes) -> Leader:
    """Raises Malformed."""
    try:
        return typing.cast("Leader", _leader_codec().from_message(worker_pb2.Leader.FromString(data)))
    except DecodeError as error:
        raise Malformed(str(error)) from error


class Envelope:
    """One side's messages: which entry of the oneof belongs to which struct. `parts_max` limits what a peer that is not
    trusted may send; 0: no limit."""

    def __init__(self, envelope: type[Message], union: types.UnionType, parts_max: int = 0) -> None:
        self._envelope = envelope
        self._parts_max = parts_max
        kinds = typing.get_args(union)
        self._names = {kind: snake_case(kind.__name__) for kind in kinds}
        self.entries: dict[str, StructCodec] = {
            self._names[kind]: codec_of(kind, getattr(worker_pb2, kind.__name__).DESCRIPTOR) for kind in kinds
        }

    def encode(self, message: msgspec.Struct) -> bytes:
        name = self._names[type(message)]
        try:
            return self._envelope(**{name: self.entries[name].to_message(message)}).SerializeToString()
        except (ValueError, TypeError) as error:
            raise Malformed(f"{name}: {error}") from error

    def decode(self, data: bytes) -> msgspec.Struct | None:
        try:
            envelope = self._envelope.FromString(data)
        except DecodeError as error:
            raise Malformed(str(error)) from error
        name = envelope.WhichOneof("message")
        if name is None:
            return None
        parts = _count_parts(getattr(envelope, name)) if self._parts_max else 0
        if parts > self._parts_max:
            raise Malformed(f"{name}: has {parts:,} entries, more than {self._parts_max:,}")
        return self.entries[name].from_message(getattr(envelope, name))


def _count_parts(message: Message) -> int:
    """The messages in its lists, and in the lists of a few of them. Cheap, before any of them becomes a struct."""
    parts = 0
    for field, value in message.ListFields():
        if field.message_type is not None and field.is_repeated and not field.message_type.GetOptions().map_entry:
            parts += len(value)
            if field.name == "samples" and parts <= PARTS_MAX:  # of a heartbeat
                parts += sum(len(sample.tasks) for sample in value)
    return parts


@functools.cache
def _leader_codec() -> StructCodec:
    return codec_of(Leader, worker_pb2.Leader.DESCRIPTOR)


@functools.cache
def manager_envelope() -> Envelope:
    return Envelope(worker_pb2.ManagerMessage, ManagerMessage)


@functools.cache
def worker_envelope() -> Envelope:
    return Envelope(worker_pb2.WorkerMessage, WorkerMessage, PARTS_MAX)


def snake_case(name: str) -> str:
    return re.sub(r"(?<!^)(?=[A-Z])", "_", name).lower()
