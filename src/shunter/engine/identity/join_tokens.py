"""Creates, uses and revokes join tokens. Called by the engine's rounds.

The gateway makes ids and secrets, and signs certificates: a round only sees digests."""

from __future__ import annotations

from dataclasses import dataclass

from shunter.engine import changes as c
from shunter.engine.round import Round
from shunter.engine.state.registries.join_tokens import JoinTokenRecord
from shunter.model.errors import Conflict, NotFound, Unauthorized
from shunter.model.identity.keys import DUMMY_SECRET, SecretDigest

TOKENS_MAX = 10_000
ENDED_KEPT_MS = 7 * 86_400_000  # tokens that have expired stay in the list for so long
REFUSED = "the join token is wrong, was used or revoked, or has expired; `shunter join-token create` makes another"


@dataclass(frozen=True, slots=True)
class JoinTokenDraft:
    id: str
    node: str
    secret: SecretDigest
    lifetime_s: float


def on_create_join_token(round: Round, draft: JoinTokenDraft, by: str) -> None:
    tokens = round.state.join_tokens.tokens
    if len(tokens) >= TOKENS_MAX:
        raise Conflict(f"at most {TOKENS_MAX:,} join tokens can exist; revoke some: `shunter join-token list`")
    if draft.id in tokens:
        raise Conflict("the new join token has an id that exists already; try again")
    expires_ms = round.now_ms + int(draft.lifetime_s * 1000)
    secret = draft.secret
    round.record(c.JoinTokenSet(draft.id, draft.node, secret.salt, secret.digest, expires_ms, by, round.now_ms))


def on_use_join_token(round: Round, id: str, secret: str, key: bytes) -> str:
    """The node as which the holder of the key may join. The same worker may repeat a request whose answer was lost.
    Raises Unauthorized, in the same words whatever is wrong."""
    token = round.state.join_tokens.tokens.get(id)
    is_right = (DUMMY_SECRET if token is None else token.secret).matches(secret)
    if token is None or not is_right or round.now_ms >= token.expires_ms or token.used_by not in (b"", key):
        raise Unauthorized(REFUSED)
    if not token.used_ms:
        round.record(c.JoinTokenUsed(id, key, round.now_ms))
    return token.node


def on_revoke_join_token(round: Round, id: str, by: str) -> None:
    find_join_token(round.state.join_tokens.tokens, id)
    round.record(c.JoinTokenDropped(id, by, round.now_ms))


def drop_expired_join_tokens(round: Round) -> None:
    """Called from time to time."""
    before_ms = round.now_ms - ENDED_KEPT_MS
    for token in [each for each in round.state.join_tokens.tokens.values() if each.expires_ms <= before_ms]:
        round.record(c.JoinTokenDropped(token.id, "expiry", round.now_ms))


def find_join_token(tokens: dict[str, JoinTokenRecord], id: str) -> JoinTokenRecord:
    """Raises NotFound."""
    token = tokens.get(id)
    if token is None:
        raise NotFound(f"join token '{id}' does not exist; `shunter join-token list` shows the ids of all")
    return token
