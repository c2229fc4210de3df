"""Tokens, stored in files that only their owner can read. Used by the gateway and by `app`."""

from __future__ import annotations

import hmac
import os
import secrets
from pathlib import Path

from shunter.ports.callers import Caller

TOKEN_BYTES = 32


def ensure_token(path: Path) -> str:
    """The token in a file. Creates the file, with mode 0600, if it does not exist or is empty."""
    try:
        token = path.read_text().strip()
    except FileNotFoundError:
        token = ""
    return token or _make_token(path)


def _make_token(path: Path) -> str:
    """Whole or not at all: a full disk leaves no empty token."""
    token = secrets.token_urlsafe(TOKEN_BYTES)
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    draft = path.with_name(f".{path.name}.draft")
    draft.unlink(missing_ok=True)
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        os.write(descriptor, f"{token}\n".encode())
        draft.replace(path)
    except BaseException:
        draft.unlink(missing_ok=True)
        raise
    finally:
        os.close(descriptor)
    return token


class Tokens:
    """Tokens and their users."""

    def __init__(self, users_by_token: dict[str, str]) -> None:
        self._users = [(token.encode(), user) for token, user in users_by_token.items()]

    def authenticate(self, token: str) -> Caller | None:
        """Compares every token, so that the time taken reveals nothing."""
        presented, found = token.encode(), None
        for known, user in self._users:
            if hmac.compare_digest(known, presented):
                found = Caller(user)
        return found
