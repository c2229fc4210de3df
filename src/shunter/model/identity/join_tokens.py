"""Join tokens as text: what a new worker needs to enrol. Written by the manager that makes one, read by the worker.

A join token is `shj_ID_REST`. The id is public. The rest has a secret of 256 bits, which is shown once; the store has
its digest, as of API keys. It also has the addresses of the managers, and the certificate authorities to trust: a
worker with a token needs to know nothing else."""

from __future__ import annotations

import base64
import re

import msgspec

from shunter.model.errors import Invalid, Problem
from shunter.model.identity.keys import ID_ALPHABET, ID_SIZE

PREFIX = "shj"
SIZE_BYTES_MAX = 64 * 2**10
ADDRESSES_MAX = 50
_TOKEN = re.compile(rf"{PREFIX}_([{ID_ALPHABET}]{{{ID_SIZE}}})_([A-Za-z0-9_-]+)")


class JoinToken(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`urls` are those of the API of all managers, `managers` their addresses for workers."""

    secret: str
    node: str
    urls: tuple[str, ...]
    managers: tuple[str, ...]
    authorities: str  # PEM
    id: str = ""

    def __repr__(self) -> str:
        return f"JoinToken({self.id!r}, ...)"  # a secret must not get into a log


def format_join_token(token: JoinToken) -> str:
    rest = base64.urlsafe_b64encode(msgspec.json.encode(msgspec.structs.replace(token, id=""))).decode().rstrip("=")
    return f"{PREFIX}_{token.id}_{rest}"


def parse_join_token(text: str, field: str) -> JoinToken:
    """Raises Invalid, which does not show the text."""
    fix = "use the whole text that `shunter join-token create NODE` has printed"
    problem = Problem(field, "is not a join token", None, fix)
    found = _TOKEN.fullmatch(text.strip()) if len(text) <= SIZE_BYTES_MAX else None
    if found is None:
        raise Invalid([problem])
    id, rest = found.groups()
    try:
        content = base64.urlsafe_b64decode(rest + "=" * (-len(rest) % 4))
        token = msgspec.json.decode(content, type=JoinToken)
    except (ValueError, msgspec.MsgspecError):
        raise Invalid([problem]) from None
    if not token.urls or not token.managers or not all(url.startswith("https://") for url in token.urls):
        raise Invalid([problem])
    return msgspec.structs.replace(token, id=id)


def join_token_id(text: str) -> str:
    """A user may paste the whole token where its id is meant: its secret must neither travel nor be shown."""
    prefix, _, rest = text.partition("_")
    return rest.partition("_")[0] if prefix == PREFIX else text
