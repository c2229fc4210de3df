"""Turns the JSON Schemas of our field tables into structural schemas, as CustomResourceDefinitions require them.

A structural schema says less than JSON Schema: each value has one type, and there is neither `anyOf` between types nor
`propertyNames`. What is lost this way becomes a CEL rule where CEL can say it; the operator checks the rest with the
field tables and reports it in the status. Called by `kube.install.crds`."""

from __future__ import annotations

import re
from typing import Any

from shunter.model.schema.fields import Schema

ANY: Schema = {"x-kubernetes-preserve-unknown-fields": True}
RULES = "x-kubernetes-validations"
_KEPT = ("description", "enum", "maxLength", "minLength", "minimum", "maximum", "minItems", "maxItems", "minProperties")
_SCALARS = {"string", "integer", "number"}
_UNICODE_ESCAPE = re.compile(r"\\u([0-9a-f]{4})")
_LOOK_AHEAD = re.compile(r"\(\?[=!][^()]*\)")


def structural(schema: Schema) -> Schema:
    """The structural schema that accepts everything that `schema` accepts, and as little else as it can."""
    options = _options(schema)
    types = {option.get("type") for option in options}
    if "null" in types:
        described = {"description": schema["description"]} if "description" in schema else {}
        rest = [option for option in options if option.get("type") != "null"]
        return structural(rest[0] if len(rest) == 1 else {"anyOf": rest}) | {"nullable": True} | described
    if len(options) > 1:
        return _scalar_union(schema, options)
    return _typed(options[0])


def has_value(name: str) -> str:
    """CEL: the field is there and not null."""
    return f"has(self.{name}) && dyn(self.{name}) != null"  # a list is never compared with null


def exactly_one(*names: str) -> str:
    """CEL: exactly one of these fields has a value."""
    return " + ".join(f"({has_value(name)} ? 1 : 0)" for name in names) + " == 1"


def rule(cel: str, message: str, field: str = "") -> Schema:
    """A CEL rule. `field` is the path that the API server names, relative to where the rule stands."""
    return {"rule": cel, "message": message, **({"fieldPath": field} if field else {})}


# ---- kinds of schemas ----


def _options(schema: Schema) -> list[Schema]:
    """All that `anyOf` allows, nested ones too."""
    if isinstance(schema.get("type"), list):
        return [schema | {"type": type} for type in schema["type"]]
    if "anyOf" not in schema:
        return [schema]
    return [option for each in schema["anyOf"] for option in _options(each)]


def _scalar_union(schema: Schema, options: list[Schema]) -> Schema:
    """Text or a number. Kubernetes knows only whole numbers here: a fraction is written as text."""
    types = {option.get("type") for option in options}
    described = {"description": schema["description"]} if "description" in schema else {}
    if not types <= _SCALARS:
        return ANY | described
    found: Schema = {"x-kubernetes-int-or-string": True, **described}
    texts = [option for option in options if option.get("type") == "string"]
    if len(texts) == 1 and "pattern" in texts[0]:
        found["pattern"] = go_pattern(texts[0]["pattern"])
    if sizes := [option["maxLength"] for option in options if "maxLength" in option]:
        found["maxLength"] = max(sizes)
    return found


def _typed(schema: Schema) -> Schema:
    kept = {key: schema[key] for key in _KEPT if key in schema}
    match schema.get("type"):
        case "object":
            return kept | _object(schema)
        case "array":
            return kept | _array(schema)
        case "string":
            pattern = {"pattern": go_pattern(schema["pattern"])} if "pattern" in schema else {}
            return {"type": "string"} | kept | pattern
        case "integer":
            return {"type": "integer", "format": "int64"} | kept
        case "number" | "boolean":
            return {"type": schema["type"]} | kept
        case _:
            return ANY | kept


def _object(schema: Schema) -> Schema:
    rules = [rule(*each) for each in _one_of_rules(schema)]
    others, properties = schema.get("additionalProperties"), schema.get("properties", {})
    found: Schema = {"type": "object"}
    if isinstance(others, dict):
        # A map has no named properties. Their schemas differ only in the numbers that they allow.
        found["additionalProperties"] = structural(next(iter(properties.values()), others))
        found["additionalProperties"].pop("description", None)
        if "maxProperties" in schema:
            found["maxProperties"] = schema["maxProperties"]
    elif properties:
        found["properties"] = {name: structural(each) for name, each in properties.items()}
    else:
        found |= ANY
    if "required" in schema:
        found["required"] = list(schema["required"])
    return found | ({RULES: rules} if rules else {})


def _array(schema: Schema) -> Schema:
    found: Schema = {"type": "array", "items": structural(schema["items"])}
    first = schema.get("prefixItems", [{}])[0]
    if first.get("minLength"):
        found[RULES] = [rule("self.size() == 0 || self[0] != ''", "the first item must name a program")]
    return found


def _one_of_rules(schema: Schema) -> list[tuple[str, str]]:
    """`oneOf` between required fields, as our tables write it, also as parts of an `allOf`."""
    rules = []
    for each in (schema, *schema.get("allOf", ())):
        if "oneOf" in each:
            names = [option["required"][0] for option in each["oneOf"]]
            listed = f"{', '.join(names[:-1])} and {names[-1]}"
            rules.append((exactly_one(*names), f"must have exactly one of {listed}"))
    return rules


def go_pattern(pattern: str) -> str:
    """The pattern for Go's regular expressions, which have no look-ahead: what one forbids is not checked here."""
    return _LOOK_AHEAD.sub("", _UNICODE_ESCAPE.sub(lambda found: rf"\x{{{found[1]}}}", pattern))


def property_at(schema: Schema, *path: str) -> dict[str, Any]:
    """A property of a structural schema, below others."""
    for name in path:
        schema = schema["properties"][name]
    return schema
