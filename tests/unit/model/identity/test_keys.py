"""API keys as text: what is a key, what its digest accepts, and what never shows a secret."""

from __future__ import annotations

import pytest

from shunter.model.identity.keys import DUMMY_SECRET, KeyText, digest_secret, parse_key

SECRET = "A" * 43
TEXT = f"shk_b7k2mq9xwe_{SECRET}"


def test_a_key_is_read_as_it_is_written() -> None:
    key = parse_key(TEXT)
    assert key == KeyText("b7k2mq9xwe", SECRET)
    assert str(key) == TEXT


@pytest.mark.parametrize(
    "text", ["", "shk_", TEXT[:-1], TEXT + "A", f"abc_b7k2mq9xwe_{SECRET}", TEXT.upper(), f"{TEXT}\n", "a-token"]
)
def test_other_texts_are_not_keys(text: str) -> None:
    assert parse_key(text) is None


def test_a_digest_accepts_its_own_secret_only_and_depends_on_its_salt() -> None:
    digest = digest_secret(b"salt", SECRET)
    assert digest.matches(SECRET)
    assert not digest.matches("B" * 43)
    assert digest_secret(b"other", SECRET).digest != digest.digest
    assert not DUMMY_SECRET.matches(SECRET)


def test_the_representation_of_a_key_has_no_secret() -> None:
    assert SECRET not in repr(parse_key(TEXT))
    assert SECRET.encode() not in digest_secret(b"salt", SECRET).digest
