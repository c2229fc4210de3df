"""The fields of requests about secrets. REST reads request bodies with this table and publishes its schema."""

from __future__ import annotations

from base64 import b64decode
from typing import Any

from shunter.model.schema.fields import Field, Section
from shunter.model.schema.problems import Problems
from shunter.model.secrets import VALUE_SIZE_MAX


def _value() -> Field:
    """Never shown in a problem, because it is a secret."""

    def read(value: Any, path: str, problems: Problems) -> bytes | None:
        try:
            data = b64decode(value, validate=True) if type(value) is str else None
        except ValueError:
            data = None
        if data is None:
            problems.add(path, "must be text in base64", fix="encode it, for example with the command base64")
        elif not 0 < len(data) <= VALUE_SIZE_MAX:
            problems.add(path, f"must have 1 to {VALUE_SIZE_MAX:,} bytes", fix="store a shorter value")
        return data

    schema = {"type": "string", "contentEncoding": "base64", "minLength": 4, "maxLength": (VALUE_SIZE_MAX + 2) // 3 * 4}
    return Field(read, schema, None, required=True)


SECRET_PUT = Section(
    "the value of a secret",
    {"value": _value().about("the value in base64; no answer ever contains it")},
)
