"""Changes: what a round did, as values. The engine decides changes, `State.apply` carries them out, the store keeps
them, recovery applies them again, and events are a rendering of them. Used as `changes as c`.

A new change goes into the file of its subject and that file's union, with a tag that no other has.
"""

# Callers say `c.TasksPlaced`, whatever file it stands in; mypy sees every name.
# ruff: noqa: F403, F405
from __future__ import annotations

import msgspec

from shunter.engine.changes.cluster import *
from shunter.engine.changes.jobs import *
from shunter.engine.changes.nodes import *
from shunter.engine.changes.objects import *
from shunter.engine.changes.services import *
from shunter.engine.changes.tasks import *
from shunter.engine.changes.templates import *

Change = TaskChange | JobChange | ServiceChange | NodeChange | TemplateChange | ClusterChange | ObjectChange

_encoder = msgspec.msgpack.Encoder()
_decoder = msgspec.msgpack.Decoder(list[Change])


def encode_round(changes: list[Change]) -> bytes:
    return _encoder.encode(changes)


def decode_round(body: bytes) -> list[Change]:
    return _decoder.decode(body)
