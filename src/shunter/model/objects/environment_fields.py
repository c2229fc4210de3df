"""Reads environment variables of applications: a mapping, or as in Kubernetes a list of {name, value}."""

from __future__ import annotations

from typing import Any

from shunter.model.job.task_fields import (
    ENV_ENTRIES_MAX,
    ENV_NAME_PATTERN,
    ENV_NAME_SIZE_MAX,
    ENV_VALUE_SIZE_MAX,
    is_reserved_variable,
)
from shunter.model.schema.field_lists import mapping, section_list
from shunter.model.schema.fields import Field, Section, any_value, text
from shunter.model.schema.problems import Problems

VALUE_FROM = "Shunter has no config maps, secrets or pods to take a value from"


def _name() -> Field:
    plain = text(ENV_NAME_PATTERN, size_max=ENV_NAME_SIZE_MAX, rule="a name like WORDS_MAX", required=True)

    def read(value: Any, path: str, problems: Problems) -> Any:
        if isinstance(value, str) and is_reserved_variable(value):
            problems.add(path, "is reserved for Shunter", fix="leave it out")
            return value
        return plain.read(value, path, problems)

    return Field(read, plain.schema, required=True)


NAME = _name()
VALUE = text(size_max=ENV_VALUE_SIZE_MAX, secret=True)
ENVIRONMENT = mapping(NAME, VALUE, count_max=ENV_ENTRIES_MAX)
VARIABLE = Section(
    "one environment variable", {"name": NAME, "value": VALUE, "valueFrom": any_value().about(VALUE_FROM)}
)
VARIABLES = section_list(VARIABLE.as_field(), count_max=ENV_ENTRIES_MAX)


def env_field() -> Field:
    """A mapping, or a list of {name, value}; stored as a mapping."""

    def read(value: Any, path: str, problems: Problems) -> dict[str, str]:
        if isinstance(value, list):
            return env_dict(VARIABLES.read(value, path, problems))
        found: dict[str, str] = ENVIRONMENT.read(value, path, problems)
        return found

    return Field(read, {"anyOf": [ENVIRONMENT.schema, VARIABLES.schema]}, {})


def env_dict(variables: tuple[dict[str, Any], ...]) -> dict[str, str]:
    """The variables that have a value."""
    return {each["name"]: each["value"] for each in variables if each.get("value") is not None and "name" in each}
