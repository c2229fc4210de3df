"""Bodies of requests about identities."""

from __future__ import annotations

import pytest

from shunter.model.rest.identity_fields import JOIN_TOKEN_CREATE
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
