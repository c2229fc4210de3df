"""Join tokens as text."""

from __future__ import annotations

import base64
import json

import pytest

from shunter.model.errors import Invalid
from shunter.model.identity.join_tokens import (
    SIZE_BYTES_MAX,
    JoinToken,
    format_join_token,
    join_token_id,
    parse_join_token,
)

TOKEN = JoinToken(
    id="abcdefghij",
    secret="S" * 43,
    node="node-7",
    urls=("https://m1:7070",),
    managers=("m1:7071", "m2:7071"),
    authorities="-----BEGIN CERTIFICATE-----\n",
)
CONTENT = {"secret": "s", "node": "n", "urls": ["https://m"], "managers": ["m:1"], "authorities": "a"}


def text_of(content: object) -> str:
    return "shj_abcdefghij_" + base64.urlsafe_b64encode(json.dumps(content).encode()).decode().rstrip("=")


def test_the_text_of_a_token_is_read_back() -> None:
    text = format_join_token(TOKEN)
    assert parse_join_token(f"{text}\n", "--join-token-file") == TOKEN
    assert parse_join_token(text_of(CONTENT), "f").urls == ("https://m",)
    assert join_token_id(text) == TOKEN.id == join_token_id(TOKEN.id)
    assert TOKEN.secret not in repr(TOKEN)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "shk_abcdefghij_" + "a" * 43,
        "shj_abcdefghij_",
        "shj_abcdefghij_!!!",
        "shj_abcdefghij_AAAA",
        "shj_abc_" + format_join_token(TOKEN)[15:],
        format_join_token(TOKEN)[:-4],
        text_of({**CONTENT, "secret": 1}),
        text_of({**CONTENT, "unknown": 1}),
        text_of({**CONTENT, "urls": []}),
        text_of({**CONTENT, "managers": []}),
        text_of({**CONTENT, "urls": ["http://m"]}),  # the secret would travel unprotected
        "shj_abcdefghij_" + "A" * SIZE_BYTES_MAX,
    ],
)
def test_what_is_no_token_is_refused_and_not_shown(text: str) -> None:
    with pytest.raises(Invalid) as refused:
        parse_join_token(text, "--join-token-file")
    assert "--join-token-file: is not a join token" in str(refused.value)
    assert not text or text not in str(refused.value)
