"""The admin token in its file: a replaced one counts at once, and is told once."""

from __future__ import annotations

from pathlib import Path

from shunter.gateway.tokens import TokenFile, make_token


def test_a_reset_is_told_once_and_the_first_token_not_at_all(tmp_path: Path) -> None:
    resets: list[None] = []
    old = make_token(tmp_path / "token")
    tokens = TokenFile(tmp_path / "token", "admin", lambda: resets.append(None))
    assert tokens.authenticate(old) is not None and resets == []
    new = make_token(tmp_path / "token")
    assert tokens.authenticate(old) is None and tokens.authenticate(new) is not None
    assert len(resets) == 1
    (tmp_path / "token").write_text(f"{new}\n")  # the same token again
    assert tokens.authenticate(new) is not None and len(resets) == 1
