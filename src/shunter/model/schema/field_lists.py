"""Manifest fields with several values: lists of strings, lists of sections, mappings, and strings that abbreviate a
section. The field tables are built from them and from `model.schema.fields`."""

from __future__ import annotations

from typing import Any

from shunter.model.schema.fields import Field, Schema, Section
from shunter.model.schema.problems import DISPLAY_CHARS_MAX, Problems


def value_list(
    item: Field, *, count_min: int = 0, count_max: int, fix: str | None = None, required: bool = False
) -> Field:
    """A list of texts, stored as a tuple."""
    read_item = item.read

    def read(value: Any, path: str, problems: Problems) -> tuple[str, ...]:
        if type(value) is not list:
            problems.add(path, "must be a list", value=value, fix=fix)
            return ()
        if not count_min <= len(value) <= count_max:
            problems.add(path, f"must have {count_min:,} to {count_max:,} items", value=value)
            return ()
        return tuple([read_item(word, f"{path}[{index}]", problems) for index, word in enumerate(value)])

    schema: Schema = {"type": "array", "items": item.schema, "minItems": count_min, "maxItems": count_max}
    return Field(read, schema, (), required)


def command_words(
    item: Field, *, count_min: int = 0, count_max: int, fix: str | None = None, required: bool = False
) -> Field:
    """A program and its arguments; only the program must not be empty."""
    words = value_list(item, count_min=count_min, count_max=count_max, fix=fix, required=required)

    def read(value: Any, path: str, problems: Problems) -> Any:
        found = words.read(value, path, problems)
        if found and found[0] == "":
            problems.add(f"{path}[0]", "must name a program", value="", fix=fix)
        return found

    program = {**item.schema, "minLength": 1}
    return Field(read, {**words.schema, "prefixItems": [program]}, (), required)


def mapping(key: Field, value: Field, *, count_max: int) -> Field:
    """Names to values. A value that is not a mapping is not shown, because it may be a secret."""
    read_key, read_value = key.read, value.read

    def read(entries: Any, path: str, problems: Problems) -> dict[str, Any]:
        if type(entries) is not dict:
            problems.add(path, "must be a mapping of names to values")
            return {}
        if len(entries) > count_max:
            problems.add(path, f"must have at most {count_max:,} entries", value=entries)
            return {}
        values_by_name = {}
        for name, item in entries.items():
            item_path = f"{path}.{str(name)[:DISPLAY_CHARS_MAX]}"
            read_key(name, item_path, problems)
            values_by_name[name] = read_value(item, item_path, problems)
        return values_by_name

    schema: Schema = {"type": "object", "propertyNames": key.schema, "additionalProperties": value.schema}
    return Field(read, schema | {"maxProperties": count_max}, {})


def section_list(item: Field, *, count_min: int = 0, count_max: int) -> Field:
    """A list of mappings, stored as a tuple of their values."""

    def read(value: Any, path: str, problems: Problems) -> tuple[Any, ...]:
        if type(value) is not list:
            problems.add(path, "must be a list", value=value, fix="put it in a list")
            return ()
        if not count_min <= len(value) <= count_max:
            problems.add(path, f"must have {count_min:,} to {count_max:,} items", value=value)
            return ()
        return tuple([item.read(entry, f"{path}[{index}]", problems) for index, entry in enumerate(value)])

    schema: Schema = {"type": "array", "items": item.schema, "minItems": count_min, "maxItems": count_max}
    return Field(read, schema, ())


def shorthand(section: Section, name: str) -> Field:
    """A section that may be written as the value of its field `name`: `fetch` for `{job: fetch}`."""
    bare = section.fields[name]

    def read(value: Any, path: str, problems: Problems) -> dict[str, Any]:
        if type(value) is dict:
            return section.read(value, path, problems)
        found = len(problems.found)
        values = {name: bare.read(value, path, problems)}
        return values if len(problems.found) > found else section.read({name: value}, path, problems)

    return Field(read, {"anyOf": [bare.schema, section.schema]})
