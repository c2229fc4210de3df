"""What a plugin that authenticates implements: it says whom a credential stands for."""

from __future__ import annotations

from typing import Protocol

from shunter.model.identity.oidc import ExternalUser


class Authenticator(Protocol):
    def authenticate(self, credential: str) -> ExternalUser | None:
        """The user whom the text after `Authorization: Bearer` identifies; None if you do not know it. Called in a
        thread, several at once, and again when the answer is older than a minute. Raise Unauthorized to refuse it with
        a reason that its sender may read."""
        ...
