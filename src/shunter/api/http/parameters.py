"""Query parameters: declared once, validated with all problems reported together, and published in the OpenAPI
document."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from urllib.parse import parse_qsl

from shunter.api.http.references import EVENT_PATTERN, parse_event_position
from shunter.model.errors import Invalid
from shunter.model.job.spec import NAMESPACE_DEFAULT
from shunter.model.job.timing_fields import TIMESTAMP_PATTERN
from shunter.model.schema.fields import Field, Schema, duration, text
from shunter.model.schema.name_fields import LABEL_KEY_PATTERN, NAME
from shunter.model.schema.problems import Problems, did_you_mean

QUERY_SIZE_MAX = 8192
CURSOR_SIZE_MAX = 512
PAGE_MAX = 1000
REPEATED_MAX = 32
_TIME = re.compile(TIMESTAMP_PATTERN)

Read = Callable[[str, str, Problems], Any]


@dataclass(frozen=True, slots=True)
class Parameter:
    """`is_repeated` parameters may be repeated and are read as a tuple."""

    name: str
    description: str
    read: Read
    schema: Schema
    default: Any = None
    is_repeated: bool = False


class Query:
    """The parameters that one route knows. `ignores_others`: somebody else writes the query."""

    def __init__(self, parameters: Sequence[Parameter], *, ignores_others: bool = False) -> None:
        self.parameters = tuple(parameters)
        self._ignores_others = ignores_others
        self._by_name = {parameter.name: parameter for parameter in parameters}
        self._defaults = {
            parameter.name: () if parameter.is_repeated else parameter.default for parameter in parameters
        }

    def read(self, query_string: bytes) -> dict[str, Any]:
        """All parameters by name, defaults filled in. Raises Invalid with every problem."""
        values = self._defaults.copy()
        if not query_string:
            return values
        problems = Problems()
        seen: set[str] = set()
        for name, value in _split(query_string, problems):
            parameter = self._by_name.get(name)
            path = f"query.{name[:64]}"
            if parameter is None and self._ignores_others:
                continue
            if parameter is None:
                problems.add(path, "unknown parameter", fix=did_you_mean(name, self._by_name))
            elif not parameter.is_repeated and name in seen:
                problems.add(path, "appears twice", value=value, fix="give it once")
            elif parameter.is_repeated and len(values[name]) >= REPEATED_MAX:
                problems.add(path, f"must appear at most {REPEATED_MAX} times")
            else:
                read = parameter.read(value, path, problems)
                values[name] = (*values[name], read) if parameter.is_repeated else read
            seen.add(name)
        problems.raise_any()
        return values


def _split(query_string: bytes, problems: Problems) -> list[tuple[str, str]]:
    if len(query_string) > QUERY_SIZE_MAX:
        problems.add("query", f"must be at most {QUERY_SIZE_MAX:,} bytes")
        problems.raise_any()
    try:
        return parse_qsl(query_string.decode("ascii"), keep_blank_values=True, errors="strict")
    except UnicodeDecodeError:
        problems.add("query", "must be UTF-8, percent-encoded")
        problems.raise_any()
        raise


def int_parameter(name: str, description: str, minimum: int, maximum: int, default: int | None = None) -> Parameter:
    digits = re.compile(r"-?[0-9]{1,18}")

    def read(value: str, path: str, problems: Problems) -> int:
        found = int(value) if digits.fullmatch(value) else minimum - 1
        if not minimum <= found <= maximum:
            problems.add(path, f"must be a whole number, {minimum:,} to {maximum:,}", value=value)
        return found

    schema: Schema = {"type": "integer", "minimum": minimum, "maximum": maximum}
    return Parameter(name, description, read, schema | ({} if default is None else {"default": default}), default)


def bool_parameter(name: str, description: str) -> Parameter:
    def read(value: str, path: str, problems: Problems) -> bool:
        if value not in ("true", "false"):
            problems.add(path, "must be true or false", value=value)
        return value == "true"

    return Parameter(name, description, read, {"type": "boolean", "default": False}, False)


def enum_parameter(
    name: str, description: str, choices: Sequence[str], default: str | None = None, *, is_repeated: bool = False
) -> Parameter:
    def read(value: str, path: str, problems: Problems) -> str:
        if value not in choices:
            problems.add(path, f"must be one of {', '.join(choices)}", value=value, fix=did_you_mean(value, choices))
        return value

    schema: Schema = {"type": "string", "enum": list(choices)} | ({} if default is None else {"default": default})
    return Parameter(name, description, read, schema, default, is_repeated)


def field_parameter(name: str, description: str, field: Field, *, is_repeated: bool = False) -> Parameter:
    """A parameter that is read like a field of a manifest."""
    return Parameter(name, description, field.read, field.schema, is_repeated=is_repeated)


def namespace_parameter(default: str, *, all_allowed: bool) -> Parameter:
    """Read as None for `*`, all namespaces, which only lists allow."""

    def read(value: str, path: str, problems: Problems) -> str | None:
        if value == "*" and all_allowed:
            return None
        NAME.read(value, path, problems)
        return value

    description = "the namespace" + (", or * for all" if all_allowed else "")
    schema = {"anyOf": [NAME.schema, {"const": "*"}]} if all_allowed else NAME.schema
    return Parameter("namespace", description, read, schema | {"default": default}, None if default == "*" else default)


def label_parameter() -> Parameter:
    key_matches = re.compile(LABEL_KEY_PATTERN).fullmatch

    def read(value: str, path: str, problems: Problems) -> tuple[str, str]:
        key, equals, wanted = value.partition("=")
        if not equals or not key_matches(key):
            problems.add(path, "must be KEY=VALUE", value=value)
        return key, wanted

    pattern = LABEL_KEY_PATTERN.removesuffix("$") + r"=[^\u0000]*$"
    return Parameter(
        "label",
        "only items with this label, as KEY=VALUE",
        read,
        {"type": "string", "pattern": pattern},
        is_repeated=True,
    )


def event_parameter(name: str, description: str) -> Parameter:
    def read(value: str, path: str, problems: Problems) -> Any:
        try:
            return parse_event_position(value, path)
        except Invalid as error:
            problems.found.extend(error.problems)
            return None

    return Parameter(name, description, read, {"type": "string", "pattern": EVENT_PATTERN})


def step_parameter(name: str, description: str, maximum_s: int) -> Parameter:
    """A duration from 1 s on, read as milliseconds."""
    duration_field = duration(maximum_s)

    def read(value: str, path: str, problems: Problems) -> int:
        found_s: float = duration_field.read(value, path, problems)
        if 0 <= found_s < 1:
            problems.add(path, "must be at least 1s", value=value)
        return round(found_s * 1000)

    return Parameter(name, description, read, {"type": "string", "pattern": "^[1-9][0-9]{0,2}[smh]$"})


def time_parameter(name: str, description: str) -> Parameter:
    """Read as milliseconds since 1970."""

    def read(value: str, path: str, problems: Problems) -> int:
        try:
            if not _TIME.fullmatch(value):
                raise ValueError
            return round(datetime.fromisoformat(value.upper()).timestamp() * 1000)
        except ValueError:
            fix = "write it like 2030-01-31T08:00:00Z; encode the + of an offset as %2B"
            problems.add(path, "must be a complete time with a time zone", value=value, fix=fix)
            return 0

    return Parameter(name, description, read, {"type": "string", "format": "date-time", "pattern": TIMESTAMP_PATTERN})


AFTER = field_parameter("after", "cursor: `next` of the previous page", text(size_max=CURSOR_SIZE_MAX))
AFTER_NUMBER = field_parameter(
    "after", "cursor: `next` of the previous page", text(r"^[0-9]{1,18}$", size_max=18, rule="the cursor of a page")
)
AFTER_JOB = field_parameter(
    "after",
    "cursor: `next` of the previous page",
    text(r"^[0-9]{1,18}(:[^\u0000]{1,200})?$", size_max=220, rule="the cursor of a page"),
)
AFTER_TASK = field_parameter(
    "after",
    "cursor: `next` of the previous page",
    text(r"^([0-9]{1,9}\.){0,2}[0-9]{1,9}$", size_max=29, rule="the cursor of a page"),
)
NAMESPACE = namespace_parameter(NAMESPACE_DEFAULT, all_allowed=False)
NAMESPACES = namespace_parameter(NAMESPACE_DEFAULT, all_allowed=True)
LIMIT = int_parameter("limit", "maximum number of items", 1, PAGE_MAX, 100)
