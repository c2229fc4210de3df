"""Secrets do not stay in text, and ordinary text stays as it is."""

from __future__ import annotations

import pytest

from shunter.model.redaction import REDACTED, redact

SECRET = "Zq3-planted_0123456789abcdefghijklmnopqrstuv"
LINES = (
    f"Authorization: Bearer {SECRET}",
    f"shk_abcdefghij_{SECRET[:43]}",
    f"shs_{SECRET}.{SECRET}",
    f"postgresql://shunter:{SECRET}@db.example/shunter",
    f"password={SECRET}",
    f'db_password = "{SECRET} with spaces"',
    f"'api_key': '{SECRET}'",
    f'{{"token": "{SECRET}"}}',
    f"SHUNTER_TOKEN={SECRET} shunter jobs",
    f"-----BEGIN EC PRIVATE KEY-----\n{SECRET}\n-----END EC PRIVATE KEY-----",
)
HARMLESS = (
    "2026-11-18 INFO shunter.engine round.failed epoch=3 error='disk full'",
    "task.placed task=default/render@3 node=worker-1",
    "http://127.0.0.1:7070/api/v1/jobs",
    "the token is missing or wrong",
    "key.created id=abcdefghij user=anna",
)


@pytest.mark.parametrize("line", LINES)
def test_what_looks_like_a_secret_is_removed(line: str) -> None:
    assert SECRET[:20] not in redact(line)
    assert REDACTED in redact(line)


@pytest.mark.parametrize("line", HARMLESS)
def test_ordinary_lines_stay_as_they_are(line: str) -> None:
    assert redact(line) == line


def test_a_known_secret_is_removed_wherever_it_is() -> None:
    assert redact(f"it said {SECRET}!", [SECRET]) == f"it said {REDACTED}!"


def test_the_public_id_of_a_key_stays() -> None:
    assert redact(f"shk_abcdefghij_{SECRET[:43]}") == f"shk_abcdefghij_{REDACTED}"
