"""Between the messages of `model.protocol.worker_messages` and their protobuf twins. Called by this folder's server and
client.

A struct and its twin have the same fields by name (a test compares them), so the conversion is worked out once for each
type from the struct's annotations. A protobuf field has presence exactly where the struct's default is not protobuf's
zero; there an absent field gets the struct's default.
"""

from __future__ import annotations

import functools
import re
import types
import typing
from collections.abc import Callable
from typing import Any

import msgspec
from google.protobuf.message import DecodeError, Message

from shunter.model.protocol.worker_messages import ManagerMessage, WorkerMessage
from shunter.proto.worker.v1 import worker_pb2

Converter = Callable[[Any], Any]


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


class Envelope:
    """One side's messages: which entry of the oneof belongs to which struct."""

    def __init__(self, envelope: type[Message], union: types.UnionType) -> None:
        self._envelope = envelope
        self.entries: dict[str, StructCodec] = {
            snake_case(kind.__name__): codec_for(kind) for kind in typing.get_args(union)
        }
        self._names = {codec.struct: name for name, codec in self.entries.items()}

    def encode(self, message: msgspec.Struct) -> bytes:
        name = self._names[type(message)]
        try:
            return self._envelope(**{name: self.entries[name].to_proto(message)}).SerializeToString()
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
        return self.entries[name].from_proto(getattr(envelope, name))


@functools.cache
def manager_envelope() -> Envelope:
    return Envelope(worker_pb2.ManagerMessage, ManagerMessage)


@functools.cache
def worker_envelope() -> Envelope:
    return Envelope(worker_pb2.WorkerMessage, WorkerMessage)


class StructCodec:
    """One struct type beside its protobuf type, and the way from each to the other."""

    def __init__(self, struct: type[msgspec.Struct]) -> None:
        self.struct = struct
        self.proto: type[Message] = getattr(worker_pb2, struct.__name__)
        hints = typing.get_type_hints(struct)
        self.optional = frozenset(
            field.name for field in msgspec.structs.fields(struct) if not _has_zero_default(field, hints[field.name])
        )
        pairs = {name: _converters(hint) for name, hint in hints.items()}
        self._encoders = [(name, pair[0]) for name, pair in pairs.items() if pair[0] is not None]
        self._plain = [name for name, pair in pairs.items() if pair[1] is None and name not in self.optional]
        decoders = [(name, pair[1]) for name, pair in pairs.items() if pair[1] is not None]
        self._decoders = [pair for pair in decoders if _optional_struct(hints[pair[0]]) is None]
        self._optional_decoders = [pair for pair in decoders if _optional_struct(hints[pair[0]]) is not None]

    def to_proto(self, struct: msgspec.Struct) -> Message:
        fields = msgspec.structs.asdict(struct)
        for name, convert in self._encoders:
            fields[name] = convert(fields[name])
        return self.proto(**fields)

    def from_proto(self, message: Message) -> msgspec.Struct:
        fields = {name: getattr(message, name) for name in self._plain}
        for name, convert in self._decoders:
            fields[name] = convert(getattr(message, name))
        for name in self.optional:
            if message.HasField(name):
                fields[name] = getattr(message, name)
        for name, convert in self._optional_decoders:
            fields[name] = convert(getattr(message, name)) if message.HasField(name) else None
        return self.struct(**fields)


@functools.cache
def codec_for(struct: type[msgspec.Struct]) -> StructCodec:
    return StructCodec(struct)


def snake_case(name: str) -> str:
    return re.sub(r"(?<!^)(?=[A-Z])", "_", name).lower()


def _has_zero_default(field: msgspec.structs.FieldInfo, hint: Any) -> bool:
    """Whether an absent field and a zero mean the same: no default at all, or one that is empty, zero or false."""
    if typing.get_origin(hint) in (list, dict, tuple) or field.default is msgspec.NODEFAULT:
        return True
    if _optional_struct(hint) is not None:  # protobuf tells an absent message from an empty one by itself
        return True
    return field.default is not None and not field.default


def _converters(hint: Any) -> tuple[Converter | None, Converter | None]:
    """How a field of this type is turned into protobuf and back; None where it is taken as it is."""
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if _is_struct(hint):
        codec = codec_for(hint)
        return codec.to_proto, codec.from_proto
    inner = _optional_struct(hint)
    if inner is not None:
        return _optional_converters(codec_for(inner))
    if origin in (list, tuple) and _is_struct(arguments[0]):
        return _sequence_converters(codec_for(arguments[0]), origin)
    if origin is dict and _is_struct(arguments[1]):
        return _dict_converters(codec_for(arguments[1]))
    if origin in (list, dict, tuple):
        return None, origin
    return None, None


def _is_struct(hint: Any) -> bool:
    return isinstance(hint, type) and issubclass(hint, msgspec.Struct)


def _optional_struct(hint: Any) -> type[msgspec.Struct] | None:
    """The struct of a field that holds it or None."""
    if typing.get_origin(hint) is not types.UnionType:
        return None
    return next((inner for inner in typing.get_args(hint) if _is_struct(inner)), None)


def _optional_converters(codec: StructCodec) -> tuple[Converter, Converter]:
    return lambda struct: None if struct is None else codec.to_proto(struct), codec.from_proto


def _sequence_converters(codec: StructCodec, sequence: Converter) -> tuple[Converter, Converter]:
    return (
        lambda structs: [codec.to_proto(struct) for struct in structs],
        lambda messages: sequence(codec.from_proto(message) for message in messages),
    )


def _dict_converters(codec: StructCodec) -> tuple[Converter, Converter]:
    return (
        lambda structs: {key: codec.to_proto(struct) for key, struct in structs.items()},
        lambda messages: {key: codec.from_proto(message) for key, message in messages.items()},
    )
