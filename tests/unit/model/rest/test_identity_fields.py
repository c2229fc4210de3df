"""Fields of requests about users, keys and join tokens."""

from __future__ import annotations

import pytest

from shunter.model.errors import Invalid
from shunter.model.rest.identity_fields import JOIN_TOKEN_CREATE
from shunter.model.schema.problems import Problems


def read_node(name: str) -> object:
    problems = Problems()
    found = JOIN_TOKEN_CREATE.read({"node": name}, "body", problems)
    problems.raise_any()
    return found["node"]


@pytest.mark.parametrize("name", ["node-7", "gpu-servers", "s", "N1.example", "a_b", "knoten-\u00e4"])
def test_a_join_token_can_name_every_node(name: str) -> None:
    assert read_node(name) == name


@pytest.mark.parametrize("name", ["", "a/b", "a b", "a\tb", "a\nb", "a\u00a0b", "a\x7f", "n" * 254])
def test_a_join_token_names_no_node_that_cannot_exist(name: str) -> None:
    with pytest.raises(Invalid):
        read_node(name)
