"""Tokens, stored in files that only their owner can read. Used by the gateway and by `app`."""

from __future__ import annotations

import hmac
import os
import secrets
from collections.abc import Callable
from pathlib import Path

from shunter.log import Log
from shunter.model.identity.roles import Role
from shunter.ports.principals import Principal

log = Log(__name__)
TOKEN_BYTES = 32
ADMIN = frozenset((Role.ADMIN,))


def ensure_token(path: Path) -> str:
    """The token in a file. Creates the file, with mode 0600, if it does not exist or is empty."""
    try:
        token = path.read_text().strip()
    except FileNotFoundError:
        token = ""
    return token or make_token(path)


def make_token(path: Path) -> str:
    """Write a new token into the file, whole or not at all: a full disk leaves no empty token."""
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


class TokenFile:
    """The admin token, in a file. A token that replaces it there is accepted from the next request on."""

    def __init__(self, path: Path, user: str, on_reset: Callable[[], None] = lambda: None) -> None:
        self._path, self._user, self._on_reset = path, user, on_reset
        self._read_at: tuple[int, int] | None = None
        self._tokens = Tokens({})
        self._is_unreadable = False
        self.token = ""

    def authenticate(self, token: str) -> Principal | None:
        self.refresh()
        return self._tokens.authenticate(token)

    def principal_of(self, user: str) -> Principal | None:
        self.refresh()
        return self._tokens.principal_of(user)

    def secret(self) -> bytes:
        return self.refresh().encode()

    def refresh(self) -> str:
        """The token of now. What was read last counts while the file cannot be read."""
        try:
            found = self._path.stat()
            if (found.st_ino, found.st_mtime_ns) != self._read_at:
                token = self._path.read_text().strip()
                is_reset = self._read_at is not None and token != self.token
                self._tokens = Tokens({token: self._user} if token else {})
                self._read_at, self.token = (found.st_ino, found.st_mtime_ns), token
                if is_reset:
                    log.warning("token.reset", path=self._path)
                    self._on_reset()
        except (OSError, ValueError) as error:
            if not self._is_unreadable:
                log.warning("token.unreadable", path=self._path, error=error)
            self._is_unreadable = True
        else:
            self._is_unreadable = False
        return self.token


class Tokens:
    """Tokens of administrators, and their users."""

    def __init__(self, users_by_token: dict[str, str]) -> None:
        self._users = [(token.encode(), user) for token, user in users_by_token.items()]

    def authenticate(self, token: str) -> Principal | None:
        """Compares every token, so that the time taken reveals nothing."""
        presented, found = token.encode(), None
        for known, user in self._users:
            if hmac.compare_digest(known, presented):
                found = Principal(user, ADMIN)
        return found

    def principal_of(self, user: str) -> Principal | None:
        return Principal(user, ADMIN) if any(user == known for _, known in self._users) else None

    def secret(self) -> bytes:
        """For whoever derives keys from it."""
        return b"\0".join(token for token, _ in self._users)
