"""Between structs of `model` and messages of `shunter.v1` that have the same fields by name. Used at both ends of the
wire: by the manager's gRPC door and by the SDK for schedulers.

The conversion is worked out once for each struct, from its annotations. States travel by their words, documents as
JSON in a field `NAME_json`; a message's absent field is the struct's default.
"""

from __future__ import annotations

import functools
import types
import typing
from collections.abc import Callable
from dataclasses import dataclass
from enum import IntEnum
from typing import Any, TypeVar

import msgspec
from google.protobuf.message import Message

from shunter.model.errors import Invalid, Problem
from shunter.model.lifecycles import State
from shunter.model.objects.object_meta import Document
from shunter.proto.v1 import external_scheduler_pb2 as pb

S = TypeVar("S", bound=msgspec.Struct)
Converter = Callable[[Any], Any]


def to_message(struct: msgspec.Struct) -> Any:
    return codec_of(type(struct)).to_message(struct)


def from_message(kind: type[S], message: Message) -> S:
    """Raises Invalid for a word that is no state, and for a document that is no JSON."""
    struct = codec_of(kind).from_message(message)
    assert isinstance(struct, kind)
    return struct


@dataclass(frozen=True, slots=True)
class _Field:
    """One field: its name in the message, how its value travels, and whether the message knows that it is absent."""

    name: str
    message_field: str
    encode: Converter | None
    decode: Converter
    has_presence: bool


class StructCodec:
    def __init__(self, struct: type[msgspec.Struct]) -> None:
        self._struct = struct
        self._message: type[Message] = getattr(pb, struct.__name__)
        descriptors = self._message.DESCRIPTOR.fields_by_name
        self._fields = []
        for name, hint in typing.get_type_hints(struct).items():
            message_field = f"{name}_json" if _without_none(hint) == Document else name
            encode, decode = _converters(hint)
            self._fields.append(_Field(name, message_field, encode, decode, descriptors[message_field].has_presence))

    def to_message(self, struct: msgspec.Struct) -> Message:
        values = {}
        for field in self._fields:
            value = getattr(struct, field.name)
            if value is not None:
                values[field.message_field] = field.encode(value) if field.encode is not None else value
        return self._message(**values)

    def from_message(self, message: Message) -> msgspec.Struct:
        values = {}
        for field in self._fields:
            if not field.has_presence or message.HasField(field.message_field):
                values[field.name] = field.decode(getattr(message, field.message_field))
        return self._struct(**values)


@functools.cache
def codec_of(struct: type[msgspec.Struct]) -> StructCodec:
    return StructCodec(struct)


def _without_none(hint: Any) -> Any:
    """Of a hint that allows None, the rest."""
    if isinstance(hint, types.UnionType):
        return next(each for each in typing.get_args(hint) if each is not type(None))
    return hint


def _converters(hint: Any) -> tuple[Converter | None, Converter]:
    hint = _without_none(hint)
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if hint == Document:
        return lambda document: msgspec.json.encode(document).decode(), _decode_document
    if isinstance(hint, type) and issubclass(hint, State):
        return lambda state: state.wire_name, functools.partial(_decode_state, hint)
    if isinstance(hint, type) and issubclass(hint, msgspec.Struct):
        return to_message, functools.partial(from_message, hint)
    if origin in (list, tuple):
        return _sequence_converters(arguments[0], list if origin is list else tuple)
    if origin is dict and typing.get_origin(arguments[1]) is list:
        return _list_map_converters(arguments[1])
    return (None, dict) if origin is dict else (None, lambda value: value)


def _sequence_converters(item: Any, sequence: Converter) -> tuple[Converter | None, Converter]:
    if isinstance(item, type) and issubclass(item, msgspec.Struct):
        decode = functools.partial(from_message, item)
        return lambda items: [to_message(each) for each in items], lambda items: sequence(map(decode, items))
    return None, sequence


def _list_map_converters(values: Any) -> tuple[Converter, Converter]:
    """A mapping to lists: of texts, or of what a scheduler keeps."""
    if typing.get_args(values) == (str,):
        return (
            lambda lists: {name: pb.Texts(items=items) for name, items in lists.items()},
            lambda lists: {name: list(texts.items) for name, texts in lists.items()},
        )
    return (
        lambda lists: {
            name: pb.ExternalData(entries=[pb.ExternalEntry(values=entry) for entry in entries])
            for name, entries in lists.items()
        },
        lambda lists: {name: [dict(entry.values) for entry in data.entries] for name, data in lists.items()},
    )


@functools.cache
def _states(kind: type[IntEnum]) -> dict[str, Any]:
    return {state.wire_name: state for state in kind}  # type: ignore[attr-defined]


def _decode_state(kind: type[IntEnum], word: str) -> Any:
    states = _states(kind)
    if word not in states:
        raise Invalid([Problem("state", f"is no {kind.__name__}", word, f"the known ones are {', '.join(states)}")])
    return states[word]


def _decode_document(text: str) -> Document:
    try:
        document: Document = msgspec.json.decode(text, type=dict[str, Any]) if text else {}
        return document
    except msgspec.DecodeError as error:
        raise Invalid([Problem("json", f"is no JSON object: {error}", text[:80])]) from None
