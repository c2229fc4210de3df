"""A worker that has a join token: what it is told before the token is used up."""

from __future__ import annotations

import pytest

from shunter.app.tls.enrolment import check_node_name
from shunter.model.errors import Invalid
from shunter.model.identity.join_tokens import JoinToken

TOKEN = JoinToken(id="a", secret="s", node="n1", urls=("https://m:1",), managers=("m:2",), authorities="")


@pytest.mark.parametrize("name", [None, "n1"])
def test_a_worker_may_have_the_name_of_its_token(name: str | None) -> None:
    check_node_name(TOKEN, name)


def test_a_worker_with_another_name_is_told_before_it_enrols() -> None:
    with pytest.raises(Invalid, match="--name: is not the node of the join token, which is for 'n1'"):
        check_node_name(TOKEN, "n2")
