"""Join tokens: with each of them one worker may enrol as one node."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from shunter.engine import changes as c
from shunter.model.identity.keys import SecretDigest


@dataclass(frozen=True, slots=True)
class JoinTokenRecord:
    id: str
    node: str
    secret: SecretDigest
    created_by: str
    created_ms: int
    expires_ms: int
    used_ms: int = 0  # 0: not yet
    used_by: bytes = b""  # digest of the worker's public key


class JoinTokenRegistry:
    def __init__(self) -> None:
        self.tokens: dict[str, JoinTokenRecord] = {}

    def appliers(self) -> Mapping[type, Callable[[Any], None]]:
        return {c.JoinTokenSet: self._set, c.JoinTokenUsed: self._use, c.JoinTokenDropped: self._drop}

    def dump(self) -> list[list[Any]]:
        return [
            [
                each.id, each.node, each.secret.salt, each.secret.digest, each.created_by,
                each.created_ms, each.expires_ms, each.used_ms, each.used_by,
            ]
            for _, each in sorted(self.tokens.items())
        ]  # fmt: skip

    def load(self, dump: list[list[Any]]) -> None:
        self.tokens = {
            id: JoinTokenRecord(id, node, SecretDigest(salt, digest), *rest) for id, node, salt, digest, *rest in dump
        }

    def _set(self, change: c.JoinTokenSet) -> None:
        self.tokens[change.id] = JoinTokenRecord(
            change.id,
            change.node,
            SecretDigest(change.salt, change.digest),
            change.by,
            change.at_ms,
            change.expires_ms,
        )

    def _use(self, change: c.JoinTokenUsed) -> None:
        self.tokens[change.id] = replace(self.tokens[change.id], used_ms=change.at_ms, used_by=change.key)

    def _drop(self, change: c.JoinTokenDropped) -> None:
        self.tokens.pop(change.id, None)
