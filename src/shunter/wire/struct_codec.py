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
Convert = Callable[[Any], Any]


def to_message(struct: msgspec.Struct) -> Any:
    return twin_of(type(struct)).to_message(struct)


def from_message(kind: type[S], message: Message) -> S:
    """Raises Invalid for a word that is no state, and for a document that is no JSON."""
    struct = twin_of(kind).from_message(message)
    assert isinstance(struct, kind)
    return struct


@dataclass(frozen=True, slots=True)
class _Field:
    """One field: its name in the message, how its value travels, and whether the message knows that it is absent."""

    name: str
    there: str
    encode: Convert | None
    decode: Convert
    has_presence: bool


class Twin:
    def __init__(self, struct: type[msgspec.Struct]) -> None:
        self._struct = struct
        self._message: type[Message] = getattr(pb, struct.__name__)
        known = self._message.DESCRIPTOR.fields_by_name
        self._fields = []
        for name, hint in typing.get_type_hints(struct).items():
            there = f"{name}_json" if _bare(hint) == Document else name
            encode, decode = _converts(hint)
            self._fields.append(_Field(name, there, encode, decode, known[there].has_presence))

    def to_message(self, struct: msgspec.Struct) -> Message:
        values = {}
        for field in self._fields:
            value = getattr(struct, field.name)
            if value is not None:
                values[field.there] = field.encode(value) if field.encode is not None else value
        return self._message(**values)

    def from_message(self, message: Message) -> msgspec.Struct:
        values = {}
        for field in self._fields:
            if not field.has_presence or message.HasField(field.there):
                values[field.name] = field.decode(getattr(message, field.there))
        return self._struct(**values)


@functools.cache
def twin_of(struct: type[msgspec.Struct]) -> Twin:
    return Twin(struct)


def _bare(hint: Any) -> Any:
    """Of a hint that allows None, the rest."""
    if isinstance(hint, types.UnionType):
        return next(each for each in typing.get_args(hint) if each is not type(None))
    return hint


def _converts(hint: Any) -> tuple[Convert | None, Convert]:
    hint = _bare(hint)
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if hint == Document:
        return lambda document: msgspec.json.encode(document).decode(), _decode_document
    if isinstance(hint, type) and issubclass(hint, State):
        return lambda state: state.word, functools.partial(_decode_state, hint)
    if isinstance(hint, type) and issubclass(hint, msgspec.Struct):
        return to_message, functools.partial(from_message, hint)
    if origin in (list, tuple):
        return _sequence_converts(arguments[0], list if origin is list else tuple)
    if origin is dict and typing.get_origin(arguments[1]) is list:
        return _lists_converts(arguments[1])
    return (None, dict) if origin is dict else (None, lambda value: value)


def _sequence_converts(item: Any, sequence: Convert) -> tuple[Convert | None, Convert]:
    if isinstance(item, type) and issubclass(item, msgspec.Struct):
        decode = functools.partial(from_message, item)
        return lambda items: [to_message(each) for each in items], lambda items: sequence(map(decode, items))
    return None, sequence


def _lists_converts(values: Any) -> tuple[Convert, Convert]:
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
    return {state.word: state for state in kind}  # type: ignore[attr-defined]


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
