"""The CustomResourceDefinitions follow from the field tables, and keep to the rules of structural schemas."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest

from shunter.kube.install.crds import crd, manifests
from shunter.kube.install.structural_schema import exactly_one, go_pattern, structural
from shunter.model.objects.object_fields import DOCUMENTS
from shunter.model.objects.objects import KINDS

TEXT = {"type": "string", "maxLength": 9, "pattern": "^[a-z]*$"}
ANYTHING = "x-kubernetes-preserve-unknown-fields"
INT_OR_TEXT = "x-kubernetes-int-or-string"


def nodes(schema: dict[str, Any], path: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    yield path, schema
    for name, each in schema.get("properties", {}).items():
        yield from nodes(each, f"{path}.{name}")
    for key in ("items", "additionalProperties"):
        if key in schema:
            yield from nodes(schema[key], f"{path}[]")


@pytest.mark.parametrize("kind", KINDS)
def test_every_value_has_one_type_and_no_pattern_that_go_lacks(kind: str) -> None:
    [version] = crd(kind)["spec"]["versions"]
    for path, schema in nodes(version["schema"]["openAPIV3Schema"]):
        assert "type" in schema or schema.get(ANYTHING) or schema.get(INT_OR_TEXT), path
        assert not {"anyOf", "oneOf", "allOf", "not", "propertyNames", "prefixItems"} & schema.keys(), path
        assert not ("properties" in schema and "additionalProperties" in schema), path
        assert schema.get("additionalProperties") is not False, path
        assert not re.search(r"\(\?|\\u", schema.get("pattern", "")), path


@pytest.mark.parametrize("kind", KINDS)
def test_every_field_of_the_table_is_there(kind: str) -> None:
    [version] = crd(kind)["spec"]["versions"]
    spec = version["schema"]["openAPIV3Schema"]["properties"]["spec"]
    assert spec["properties"].keys() == DOCUMENTS[kind].fields["spec"].schema["properties"].keys()


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        (TEXT, TEXT),
        ({"anyOf": [TEXT, {"type": "null"}], "description": "a"}, TEXT | {"nullable": True, "description": "a"}),
        ({"anyOf": [TEXT, {"type": "number"}]}, {INT_OR_TEXT: True, "pattern": "^[a-z]*$", "maxLength": 9}),
        ({"type": ["string", "number"], "maxLength": 9}, {INT_OR_TEXT: True, "maxLength": 9}),
        ({"anyOf": [{"type": "object"}, {"type": "array", "items": TEXT}]}, {ANYTHING: True}),
        ({}, {ANYTHING: True}),
        ({"type": "integer", "minimum": 1}, {"type": "integer", "format": "int64", "minimum": 1}),
        ({"type": "object"}, {"type": "object", ANYTHING: True}),
        (
            {"type": "object", "propertyNames": TEXT, "additionalProperties": TEXT, "maxProperties": 2},
            {"type": "object", "additionalProperties": TEXT, "maxProperties": 2},
        ),
        (
            {"type": "object", "properties": {"a": TEXT}, "required": ["a"], "additionalProperties": False},
            {"type": "object", "properties": {"a": TEXT}, "required": ["a"]},
        ),
    ],
)
def test_a_schema_is_turned_into_the_nearest_structural_one(schema: dict[str, Any], expected: dict[str, Any]) -> None:
    assert structural(schema) == expected


def test_what_oneof_says_becomes_a_rule() -> None:
    one_of = [{"required": [name], "properties": {name: {"not": {"type": "null"}}}} for name in "ab"]
    found = structural({"type": "object", "properties": {"a": TEXT, "b": TEXT}, "oneOf": one_of})
    assert found["x-kubernetes-validations"] == [
        {"rule": exactly_one("a", "b"), "message": "must have exactly one of a and b"}
    ]


def test_patterns_of_python_become_those_of_go() -> None:
    assert go_pattern(r"^(?!port/)[^\u0000-\u001f]*$") == r"^[^\x{0000}-\x{001f}]*$"


def test_the_operator_may_not_read_secrets_nor_change_nodes() -> None:
    rules = [rule for each in manifests() for rule in each.get("rules", ())]
    assert not any({"secrets", "configmaps", "*"} & set(rule["resources"]) for rule in rules)
    writes = {verb for rule in rules if "nodes" in rule["resources"] for verb in rule["verbs"]} - {
        "get",
        "list",
        "watch",
    }
    assert not writes
