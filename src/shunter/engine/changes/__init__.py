"""Changes: the values that describe what a round did. Used as `changes as c`.

The engine decides changes, `State.apply` applies them, and the store keeps them. Recovery applies them again, and
events are rendered from them.

Add a new change to the file of its subject and to that file's union. Give it a tag that no other change has, and a
format in `engine.changes.formats`."""

# Callers write `c.TasksPlaced`, whichever file defines it; mypy sees every name.
# ruff: noqa: F403, F405
from __future__ import annotations

import msgspec

from shunter.engine.changes.audit import *
from shunter.engine.changes.cluster import *
from shunter.engine.changes.identity import *
from shunter.engine.changes.jobs import *
from shunter.engine.changes.join_tokens import *
from shunter.engine.changes.nodes import *
from shunter.engine.changes.objects import *
from shunter.engine.changes.secrets import *
from shunter.engine.changes.services import *
from shunter.engine.changes.tasks import *
from shunter.engine.changes.templates import *
from shunter.engine.changes.tenants import *

Change = (
    TaskChange
    | JobChange
    | ServiceChange
    | NodeChange
    | TemplateChange
    | ClusterChange
    | ObjectChange
    | IdentityChange
    | JoinTokenChange
    | SecretChange
    | TenantChange
    | AuditChange
)

DECODE_ERRORS = (msgspec.DecodeError, UnicodeDecodeError)  # of a body that is damaged

_encoder = msgspec.msgpack.Encoder()
_decoder = msgspec.msgpack.Decoder(list[Change])


def encode_round(changes: list[Change]) -> bytes:
    return _encoder.encode(changes)


def decode_round(body: bytes) -> list[Change]:
    return _decoder.decode(body)


def find_format(body: bytes) -> FormatRaised | None:
    """The format that a round raises, even if a program that knows only older ones cannot decode the round."""
    try:
        first, *_ = msgspec.msgpack.decode(body, type=list[msgspec.Raw])
        return msgspec.msgpack.decode(first, type=FormatRaised)
    except (*DECODE_ERRORS, ValueError):
        return None
