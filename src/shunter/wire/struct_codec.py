"""Converts structs of `model` to protobuf messages with the same fields by name, and back. Both ends of both protocols
use it: `adapters.grpc.codec` for workers, `wire.situations` for external schedulers.

A codec is computed once for each struct and message, from the struct's annotations and the message's descriptor:

- an absent field gets the struct's default; without a default, None or an empty message;
- a state is sent as its word, a document as JSON in a field `NAME_json`;
- a message with one field stands for the value of that field. Protobuf needs it where a list or a map is optional, or
  is itself the value of a map."""

from __future__ import annotations

import functools
import types
import typing
from collections.abc import Callable
from typing import Any, TypeVar

import msgspec
from google.protobuf.message import Message
from google.protobuf.message_factory import GetMessageClass

from shunter.model.errors import Invalid, Problem
from shunter.model.lifecycles import State
from shunter.model.objects.object_meta import Document

S = TypeVar("S", bound=msgspec.Struct)
M = TypeVar("M", bound=Message)
Descriptor = Any  # protobuf has one type of them for each of its implementations
Converter = Callable[[Any], Any]
Converters = tuple[Converter | None, Converter | None]  # to protobuf and back; None: values are taken as they are


def to_message(struct: msgspec.Struct, kind: type[M]) -> M:
    message = codec_of(type(struct), kind.DESCRIPTOR).to_message(struct)
    assert isinstance(message, kind)
    return message


def from_message(kind: type[S], message: Message) -> S:
    """Raises Invalid for a word that is no state, and for a document that is no JSON."""
    struct = codec_of(kind, message.DESCRIPTOR).from_message(message)
    assert isinstance(struct, kind)
    return struct


class StructCodec:
    """One struct and its message. `without` names fields of the struct that the caller converts itself."""

    def __init__(
        self, struct: type[msgspec.Struct], message: Descriptor, without: frozenset[str] = frozenset()
    ) -> None:
        self._struct, self._message, self._without = struct, GetMessageClass(message), without
        self._encoders: list[tuple[str, str, Converter]] = []  # name, name in the message: what must be converted
        self._plain: list[str] = []  # read as they are
        self._decoders: list[tuple[str, str, Converter]] = []
        self._optional: list[tuple[str, str, Converter]] = []  # read only where they are present
        self._no_default: dict[str, None] = {}  # those of them that are None where they are absent
        hints = typing.get_type_hints(struct)
        for field in msgspec.structs.fields(struct):
            if field.name not in without:
                self._add(field, hints[field.name])

    def _add(self, field: msgspec.structs.FieldInfo, hint: Any) -> None:
        name, inner = field.name, _without_none(hint)
        message_name = f"{name}_json" if inner == Document else name
        descriptor = self._message.DESCRIPTOR.fields_by_name[message_name]
        encode, decode = _converters(inner, descriptor)
        if encode is not None:
            self._encoders.append((name, message_name, encode))
        if descriptor.has_presence and (not field.required or inner is not hint):
            self._optional.append((name, message_name, decode or _unchanged))
            if field.required:
                self._no_default[name] = None
        elif decode is not None:
            self._decoders.append((name, message_name, decode))
        else:
            self._plain.append(name)

    def to_message(self, struct: msgspec.Struct) -> Message:
        return self._message(**self.encode(struct))

    def from_message(self, message: Message) -> msgspec.Struct:
        return self._struct(**self.decode(message))

    def encode(self, struct: msgspec.Struct) -> dict[str, Any]:
        """The fields of the message."""
        values = msgspec.structs.asdict(struct)
        for name in self._without:
            del values[name]
        for name, message_name, encode in self._encoders:
            value = values.pop(name)
            values[message_name] = None if value is None else encode(value)
        return values

    def decode(self, message: Message) -> dict[str, Any]:
        """The fields of the struct."""
        values: dict[str, Any] = {name: getattr(message, name) for name in self._plain}
        for name, message_name, decode in self._decoders:
            values[name] = decode(getattr(message, message_name))
        values.update(self._no_default)
        for name, message_name, decode in self._optional:
            if message.HasField(message_name):
                values[name] = decode(getattr(message, message_name))
        return values


@functools.cache
def codec_of(struct: type[msgspec.Struct], message: Descriptor) -> StructCodec:
    return StructCodec(struct, message)


def _converters(hint: Any, field: Descriptor) -> Converters:
    """For the values of a field, which are not None."""
    origin, message = typing.get_origin(hint), field.message_type
    if hint == Document:
        return lambda document: msgspec.json.encode(document).decode(), _decode_document
    if isinstance(hint, type) and issubclass(hint, State):
        return lambda state: state.wire_name, functools.partial(_decode_state, hint)
    if message is None:
        return None, origin  # a scalar, or a list or tuple of them
    if message.GetOptions().map_entry:
        return _map_converters(typing.get_args(hint)[1], message.fields_by_name["value"].message_type)
    if field.is_repeated:
        encode, decode = _message_converters(typing.get_args(hint)[0], message)
        return lambda items: [encode(each) for each in items], lambda items: origin([decode(each) for each in items])
    return _message_converters(hint, message)


def _map_converters(hint: Any, message: Descriptor) -> Converters:
    """For a map to scalars, or to messages."""
    if message is None:
        return None, dict
    encode, decode = _message_converters(hint, message)
    return (
        lambda items: {key: encode(value) for key, value in items.items()},
        lambda items: {key: decode(value) for key, value in items.items()},
    )


def _message_converters(hint: Any, message: Descriptor) -> tuple[Converter, Converter]:
    """For a struct, or for a list or map that a message with one field stands for."""
    if isinstance(hint, type) and issubclass(hint, msgspec.Struct):
        codec = codec_of(hint, message)
        return codec.to_message, codec.from_message
    wrap, [only] = GetMessageClass(message), message.fields
    encode, decode = (each or _unchanged for each in _converters(hint, only))
    return lambda value: wrap(**{only.name: encode(value)}), lambda wrapped: decode(getattr(wrapped, only.name))


def _unchanged(value: Any) -> Any:
    return value


def _without_none(hint: Any) -> Any:
    """The rest of a hint that allows None."""
    if isinstance(hint, types.UnionType):
        return next(each for each in typing.get_args(hint) if each is not type(None))
    return hint


@functools.cache
def _states(kind: type[State]) -> dict[str, State]:
    return {state.wire_name: state for state in kind}


def _decode_state(kind: type[State], word: str) -> State:
    states = _states(kind)
    if word not in states:
        raise Invalid([Problem("state", f"is not a {kind.__name__}", word, f"known values: {', '.join(states)}")])
    return states[word]


def _decode_document(text: str) -> Document:
    try:
        document: Document = msgspec.json.decode(text, type=dict[str, Any]) if text else {}
        return document
    except msgspec.DecodeError as error:
        raise Invalid([Problem("json", f"is not a JSON object: {error}", text[:80])]) from None
