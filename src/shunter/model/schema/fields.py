"""Kinds of manifest fields. Each reads a value (collecting problems instead of stopping at the first) and writes its
part of the published JSON Schema, so that the two cannot diverge. The field tables are built from them; lists and
mappings are in `model.schema.field_lists`.

A reader takes (value, path, problems). After a problem it may return anything, because nothing is built then."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from shunter.model.resources import NotAQuantity, format_amount, parse_amount, parse_duration_s, quantity_hint
from shunter.model.schema.problems import DISPLAY_CHARS_MAX, OMITTED, Problems, did_you_mean

NO_NUL_PATTERN = r"^[^\u0000]*$"
QUANTITY_PATTERN = r"^\s*([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]{1,3})?([numkMGTPE]|[KMGTPE]i)?\s*$"
DURATION_PATTERN = (
    r"^\s*(?=\S)([0-9]+(\.[0-9]+)?|"
    + "".join(rf"([0-9]+(\.[0-9]+)?{unit})?" for unit in ("d", "h", "m", "s", "ms"))
    + r")\s*$"
)
QUANTITY_TEXT_SIZE_MAX = 40  # of a quantity or duration

Schema = dict[str, Any]
Read = Callable[[Any, str, Problems], Any]


@dataclass(frozen=True, slots=True)
class Field:
    """One field of a section."""

    read: Read
    schema: Schema
    default: Any = None
    required: bool = False

    def about(self, description: str) -> Field:
        """The same field, with a description for people who edit manifests."""
        return replace(self, schema=self.schema | {"description": description})


KNOWN_FIELDS_LISTED_MAX = 12  # fields of a table that are all named where one is unknown


class Section:
    """A mapping with known fields. `unsupported` names fields of the design that this version does not have yet."""

    def __init__(self, about: str, fields: Mapping[str, Field], unsupported: tuple[str, ...] = ()) -> None:
        self._about = about
        self._fields = dict(fields)
        self._readers = {name: field.read for name, field in fields.items()}
        self._defaults = {name: field.default for name, field in fields.items()}
        self._required = {name: _line_to_add(name, field) for name, field in fields.items() if field.required}
        self._unsupported = frozenset(unsupported)

    def read(self, value: Any, path: str, problems: Problems) -> dict[str, Any]:
        """The values of all fields by name, defaults filled in."""
        given = self.read_partial(value, path, problems)
        if type(value) is dict:
            prefix = f"{path}." if path and path[-1] != "." else path
            for name, line in self._required.items():
                if name not in value:
                    problems.add(prefix + name, "is missing", fix=f"add {line}")
        return self._defaults | given

    def read_partial(self, value: Any, path: str, problems: Problems) -> dict[str, Any]:
        """The values of the present fields. Required fields may be absent: they may be given in another place."""
        values: dict[str, Any] = {}
        if type(value) is not dict:
            problems.add(
                path.rstrip(".") or "document", "must be a mapping", value=value, fix=f"write {self._example()}"
            )
            return values
        prefix = f"{path}." if path and path[-1] != "." else path
        for name, item in value.items():
            reader = self._readers.get(name)
            if reader is None:
                self._refuse_unknown(str(name), prefix, problems)
            else:
                values[name] = reader(item, prefix + name, problems)
        return values

    @property
    def fields(self) -> Mapping[str, Field]:
        return self._fields

    @property
    def schema(self) -> Schema:
        properties = {name: field.schema for name, field in self._fields.items()}
        schema: Schema = {"type": "object", "description": self._about, "properties": properties}
        if self._required:
            schema["required"] = list(self._required)
        return schema | {"additionalProperties": False}

    def as_field(self, *, default: Any = None, required: bool = False) -> Field:
        return Field(self.read, self.schema, default, required)

    def as_partial_field(self) -> Field:
        """A field that stores only what is given, to be merged with another one."""
        schema = {key: value for key, value in self.schema.items() if key != "required"}
        return Field(self.read_partial, schema, {})

    def _refuse_unknown(self, name: str, prefix: str, problems: Problems) -> None:
        path = prefix + name[:DISPLAY_CHARS_MAX]
        if name in self._unsupported:
            problems.add(path, "is not supported by this version", fix="leave it out")
        else:
            problems.add(path, "unknown field", fix=did_you_mean(name, self._fields) or self._list_known_fields())

    def _list_known_fields(self) -> str | None:
        """List the known fields if none of them is similar, and the list is short enough to read."""
        return f"known fields: {', '.join(self._fields)}" if len(self._fields) <= KNOWN_FIELDS_LISTED_MAX else None

    def _example(self) -> str:
        return "{" + ", ".join(f"{name}: ..." for name in list(self._fields)[:3]) + "}"


def _line_to_add(name: str, field: Field) -> str:
    """`kind: Job` where only one or few values are possible, else only the name."""
    values = [field.schema["const"]] if "const" in field.schema else field.schema.get("enum", [])
    return f"{name}: {' or '.join(map(str, values))}" if values else name


def text(
    pattern: str | None = None,
    *,
    size_max: int,
    rule: str = "",
    default: str | None = None,
    required: bool = False,
    secret: bool = False,
) -> Field:
    """One string. `rule` puts the pattern into words; `size_max` counts bytes of UTF-8; a secret is never shown."""
    matches = re.compile(pattern).fullmatch if pattern else None

    def read(value: Any, path: str, problems: Problems) -> Any:
        if type(value) is not str:
            fault, fix = "must be text", "put it in quotes" if isinstance(value, int | float) else None
        elif not value.isascii() or len(value) > size_max or "\0" in value:
            fault, fix = _size_fault(value, size_max), None
        else:
            fault, fix = "", None
        if not fault and matches is not None and not matches(value):
            fault = f"must be {rule}"
        if fault:
            problems.add(path, fault, value=OMITTED if secret else value, fix=fix)
        return value

    schema: Schema = {"type": "string", "maxLength": size_max, "pattern": pattern or NO_NUL_PATTERN}
    return Field(read, schema | ({"description": rule} if rule else {}), default, required)


def choice(*words: str, unsupported: tuple[str, ...] = (), default: str | None = None, required: bool = False) -> Field:
    known = frozenset(words)

    def read(value: Any, path: str, problems: Problems) -> Any:
        if type(value) is str and value in known:
            return value
        if type(value) is str and value in unsupported:
            problems.add(path, "is not supported by this version", value=value, fix=f"use {' or '.join(words)}")
        else:
            fix = did_you_mean(value, words) if type(value) is str else None
            problems.add(path, f"must be {' or '.join(words)}", value=value, fix=fix)
        return words[0]

    return Field(read, {"type": "string", "enum": list(words)}, default, required)


def boolean(*, default: bool | None = None) -> Field:
    def read(value: Any, path: str, problems: Problems) -> Any:
        if type(value) is not bool:
            problems.add(path, "must be true or false", value=value)
        return value

    return Field(read, {"type": "boolean"}, default)


def integer(minimum: int, maximum: int, *, default: int | None = None) -> Field:
    """5.0 is accepted too, because JSON Schema accepts it."""

    def read(value: Any, path: str, problems: Problems) -> Any:
        if type(value) is float and value.is_integer():
            value = int(value)
        if type(value) is not int:
            problems.add(path, "must be a whole number", value=value)
        elif not minimum <= value <= maximum:
            problems.add(path, f"must be {minimum:,} to {maximum:,}", value=value)
        return value

    return Field(read, {"type": "integer", "minimum": minimum, "maximum": maximum}, default)


def number(minimum: float, maximum: float, *, default: float | None = None) -> Field:
    def read(value: Any, path: str, problems: Problems) -> Any:
        if type(value) is not int and type(value) is not float:
            problems.add(path, "must be a number", value=value)
        elif not minimum <= value <= maximum:
            problems.add(path, f"must be {minimum:g} to {maximum:g}", value=value)
        return value

    return Field(read, {"type": "number", "minimum": minimum, "maximum": maximum}, default)


def duration(maximum_s: float, *, minimum_s: float = 0, default: float | None = None, or_time: bool = False) -> Field:
    """Seconds, from `90s`, `1h30m` or a number of seconds. `or_time`: the problem says that a time is accepted too."""
    rule = "a time or a duration" if or_time else "a duration"
    fix = "write it like 2030-01-31T08:00:00Z or 10m" if or_time else "write it like 90s, 10m or 1h30m"

    def read(value: Any, path: str, problems: Problems) -> float:
        try:
            seconds = parse_duration_s(value) if isinstance(value, str | int | float) else -1.0
        except (ValueError, OverflowError):
            seconds = -1.0
        if seconds < 0:
            problems.add(path, f"must be {rule}", value=value, fix=fix)
        elif seconds < minimum_s:
            problems.add(path, f"must be at least {minimum_s:g} s", value=value)
        elif seconds > maximum_s:
            problems.add(path, f"must be at most {maximum_s:,.0f} s", value=value)
        return seconds

    text_schema = {"type": "string", "pattern": DURATION_PATTERN, "maxLength": QUANTITY_TEXT_SIZE_MAX}
    number_schema = {"type": "number", "minimum": minimum_s, "maximum": maximum_s}
    return Field(
        read, {"description": "a duration like 90s, or seconds", "anyOf": [text_schema, number_schema]}, default
    )


def amount(resource: str, minimum: int, maximum: int, *, default: int | None = None) -> Field:
    """A quantity like `500m` or `256Mi`, in the resource's inner unit."""

    def read(value: Any, path: str, problems: Problems) -> int:
        try:
            if not isinstance(value, str | int | float):
                raise NotAQuantity("not a quantity")
            found = parse_amount(resource, value)
            is_in_range = minimum <= found <= maximum
        except NotAQuantity:
            problems.add(path, "must be a quantity", value=value, fix=quantity_hint(resource, value))
            return 0
        except (ValueError, OverflowError):  # too large, or a fraction of something that has none
            found, is_in_range = 0, False
        if not is_in_range:
            minimum_text, maximum_text = format_amount(resource, minimum), format_amount(resource, maximum)
            problems.add(path, f"must be {minimum_text} to {maximum_text}", value=value)
        return found

    text_schema = {"type": "string", "pattern": QUANTITY_PATTERN, "maxLength": QUANTITY_TEXT_SIZE_MAX}
    unit = parse_amount(resource, 1)  # what a bare number counts, in the inner unit
    number_schema = {"type": "number", "minimum": minimum // unit, "maximum": maximum // unit}
    return Field(read, {"description": "a quantity like 500m or 256Mi", "anyOf": [text_schema, number_schema]}, default)


def any_value() -> Field:
    """A field whose value Shunter does not read."""
    return Field(lambda value, _path, _problems: value, {})


def _size_fault(value: str, size_max: int) -> str:
    """What is wrong with a text's size or characters: programs cannot receive a NUL, and everything is UTF-8."""
    try:
        size = len(value.encode())
    except UnicodeEncodeError:
        return "must be valid Unicode"
    if size > size_max:
        return f"must be at most {size_max:,} bytes"
    return "must not contain a NUL character" if "\0" in value else ""
