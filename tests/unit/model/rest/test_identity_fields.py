"""Bodies of requests about identities."""

from __future__ import annotations

import pytest

from shunter.model.rest.identity_fields import JOIN_TOKEN_CREATE, KEY_CREATE
from shunter.model.schema.fields import Section
from shunter.model.schema.problems import Problems


@pytest.mark.parametrize("node", ["host-1", "gpus", "s", "Node_7.example", "x" * 253])
def test_a_join_token_is_for_any_name_that_a_worker_may_have(node: str) -> None:
    problems = Problems()
    assert JOIN_TOKEN_CREATE.read({"node": node}, "body", problems)["node"] == node
    assert problems.found == []


@pytest.mark.parametrize("node", ["", "a b", "a/b", "..", "-x", "\u202e", "é", "x" * 254])
def test_a_join_token_for_a_name_that_no_worker_may_have_is_refused(node: str) -> None:
    problems = Problems()
    JOIN_TOKEN_CREATE.read({"node": node}, "body", problems)
    assert [each.field for each in problems.found] == ["body.node"]


@pytest.mark.parametrize(
    ("section", "body"), [(JOIN_TOKEN_CREATE, {"node": "n"}), (KEY_CREATE, {"roles": ["viewer"]})], ids=["join", "key"]
)
@pytest.mark.parametrize("lifetime", [0, 1e-38, "0s", 0.999])
def test_what_would_expire_at_once_is_refused_as_the_schema_says(
    section: Section, body: dict[str, object], lifetime: object
) -> None:
    problems = Problems()
    section.read({**body, "expires_in": lifetime}, "body", problems)
    assert [str(each.message) for each in problems.found] == ["must be at least 1 s"]
    [_, number] = section.fields["expires_in"].schema["anyOf"]
    assert number["minimum"] == 1
