"""SockJS's WebSocket transport: text frames around the STOMP frames. A SockJS client requests `/info` first.

`/websocket` below the endpoint serves plain STOMP. SockJS's fallbacks for browsers without WebSockets are not
supported."""

from __future__ import annotations

import json
from collections.abc import Sequence
from random import SystemRandom
from typing import Any

import msgspec

OPEN, HEARTBEAT = "o", "h"
HEARTBEAT_EVERY_S = 25.0
ENTROPY_BITS = 32
GO_AWAY = (3000, "Go away!")

_decoder: msgspec.json.Decoder[str | list[str]] = msgspec.json.Decoder(str | list[str])


class BadMessage(Exception):
    pass


def info() -> dict[str, Any]:
    """What a client wants to know before it connects."""
    entropy = SystemRandom().getrandbits(ENTROPY_BITS)
    return {"websocket": True, "origins": ["*:*"], "cookie_needed": False, "entropy": entropy}


def wrap(texts: Sequence[str]) -> str:
    return "a" + msgspec.json.encode(texts).decode()


def close(code: int = GO_AWAY[0], reason: str = GO_AWAY[1]) -> str:
    return "c" + json.dumps([code, reason])


def unwrap(text: str) -> str:
    """What a client's message says. Raises BadMessage."""
    if not text:
        return ""
    try:
        payload = _decoder.decode(text)
    except (msgspec.DecodeError, UnicodeEncodeError):
        raise BadMessage("a message of SockJS is a JSON array of texts") from None
    return payload if isinstance(payload, str) else "".join(payload)
