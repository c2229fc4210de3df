"""Values of any struct or dataclass, built from its annotations with no field at its default: for tests of codecs.

New fields of a struct are filled automatically. All numbers and strings differ, so that a codec that mixes up two
fields is noticed as well as one that drops a field."""

from __future__ import annotations

import dataclasses
import functools
import types
import typing
from collections.abc import Iterator, Mapping
from enum import Enum
from itertools import count
from typing import Any

import msgspec

Field = tuple[type, str]  # the struct, and the name of one of its fields
NO_DEFAULT: Any = msgspec.NODEFAULT
ZEROS: tuple[Any, ...] = (0, 0.0, "", b"", False)


class Filler:
    """`put` are fields that get a value of the caller's choice, wherever their struct stands."""

    def __init__(self, put: Mapping[Field, Any] | None = None) -> None:
        self._put = put or {}
        self._numbers = count(2)

    def fill(self, hint: Any) -> Any:
        hint = without_none(hint)
        if is_record(hint):
            return hint(**{name: self._field(hint, name, each) for name, each in hints_of(hint).items()})
        origin, arguments = typing.get_origin(hint), typing.get_args(hint)
        if origin is tuple and Ellipsis not in arguments:
            return tuple(self.fill(each) for each in arguments)
        if origin in (list, tuple, set, frozenset):
            return origin(self._items(arguments[0]))
        if origin in (dict, Mapping):
            return dict(zip(self._items(arguments[0]), self._items(arguments[1]), strict=True))
        return self._scalar(hint)

    def _field(self, kind: type, name: str, hint: Any) -> Any:
        if (kind, name) in self._put:
            return self._put[kind, name]
        default = default_of(kind, name)
        if without_none(hint) is bool:
            return not default if default is not NO_DEFAULT else True
        value = self.fill(hint)
        assert value != default, f"{kind.__name__}.{name} is as by default"
        return value

    def _items(self, hint: Any) -> list[Any]:
        """Two that differ; one of them is None where that may be."""
        if hint is bool:
            return [True, False]
        return [self.fill(hint), None if without_none(hint) is not hint else self.fill(hint)]

    def _scalar(self, hint: Any) -> Any:
        number = next(self._numbers)
        if isinstance(hint, type) and issubclass(hint, Enum):
            return list(hint)[-1]
        if hint is Any:
            return {"number": number, "items": [f"text {number}", True]}
        made: dict[Any, Any] = {
            int: number,
            float: number + 0.5,
            str: f"text {number}",
            bytes: b"bytes %d" % number,
            bool: True,
            None: None,
            msgspec.Raw: msgspec.Raw(msgspec.msgpack.encode(number)),
        }
        assert hint in made, f"say in {__name__} how a {hint} is made"
        return made[hint]


def variants(root: Any) -> Iterator[tuple[Field, Any]]:
    """For every field below `root` what else it may hold: its default, nothing, zero, and every word of an enum."""
    for kind in sorted(records_in(root), key=lambda each: each.__qualname__):
        for name, hint in hints_of(kind).items():
            found: list[Any] = [None] if without_none(hint) is not hint else []
            found += [zero for zero in ZEROS if type(zero) is without_none(hint)]
            found += [True] if without_none(hint) is bool else []
            found += (
                list(without_none(hint))
                if isinstance(without_none(hint), type) and issubclass(without_none(hint), Enum)
                else []
            )
            origin = typing.get_origin(without_none(hint))
            origin = dict if origin is Mapping else origin
            if origin in (list, dict, set) or (origin is tuple and Ellipsis in typing.get_args(without_none(hint))):
                found.append(origin())
            default = default_of(kind, name)
            found += [default] if default is not NO_DEFAULT and default not in found else []
            yield from (((kind, name), value) for value in found)


def records_in(hint: Any) -> set[type]:
    """All structs and dataclasses that a value of this type may hold, itself included."""
    found: set[type] = set()
    open_hints = [hint]
    while open_hints:
        each = open_hints.pop()
        open_hints += typing.get_args(each)
        if is_record(each) and each not in found:
            found.add(each)
            open_hints += hints_of(each).values()
    return found


def structs_of(module: types.ModuleType) -> set[type]:
    """The structs that a module defines."""
    found = [each for each in vars(module).values() if isinstance(each, type) and issubclass(each, msgspec.Struct)]
    return {each for each in found if each.__module__ == module.__name__}


def differences(one: Any, other: Any, path: str = "") -> Iterator[str]:
    """Where two values differ, in words."""
    kind: Any = type(one)
    if kind is not type(other):
        yield f"{path}: {one!r} became {other!r}"
    elif is_record(kind):
        for name in hints_of(kind):
            yield from differences(getattr(one, name), getattr(other, name), f"{path}.{name}")
    elif isinstance(one, list | tuple) and len(one) == len(other):
        for place, (left, right) in enumerate(zip(one, other, strict=True)):
            yield from differences(left, right, f"{path}[{place}]")
    elif isinstance(one, dict) and one.keys() == other.keys():
        for key in one:
            yield from differences(one[key], other[key], f"{path}[{key!r}]")
    elif one != other:
        yield f"{path}: {one!r} became {other!r}"


def is_record(hint: Any) -> bool:
    return isinstance(hint, type) and (issubclass(hint, msgspec.Struct) or dataclasses.is_dataclass(hint))


def hints_of(kind: Any) -> dict[str, Any]:
    return _hints(kind)


def without_none(hint: Any) -> Any:
    """Of a hint that allows None, the rest."""
    if isinstance(hint, types.UnionType) and type(None) in typing.get_args(hint):
        [rest] = (each for each in typing.get_args(hint) if each is not type(None))
        return rest
    return hint


@functools.cache
def default_of(kind: Any, name: str) -> Any:
    """NO_DEFAULT where a field has none."""
    every = msgspec.structs.fields(kind) if issubclass(kind, msgspec.Struct) else dataclasses.fields(kind)
    [field] = (each for each in every if each.name == name)
    if callable(field.default_factory):
        return field.default_factory()
    return NO_DEFAULT if field.default is dataclasses.MISSING else field.default


@functools.cache
def _hints(kind: Any) -> dict[str, Any]:
    return typing.get_type_hints(kind)
