"""Drives conversations by hand: a test plays the transport, without any I/O."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, TypeVar

import msgspec

from shunter.sdk.core import Core
from shunter.sdk.transport.steps import Conversation, Dialogue, Emit, Pause, Read, Request, Response, Send

T = TypeVar("T")
Reply = Response | bytes | Exception


def core(**settings: Any) -> Core:
    """A core whose clock stands still, whose dice are loaded and whose keys count up."""
    numbers = iter(range(1_000_000))
    defaults = {"clock": lambda: 0.0, "random": lambda: 1.0, "new_key": lambda: f"key-{next(numbers)}"}
    return Core(**(defaults | settings))


def said(status: int, document: object = None, **headers: str) -> Response:
    kind = "application/problem+json" if status >= 300 else "application/json"
    names = {key.replace("_", "-"): value for key, value in headers.items()}
    return Response(status, {"content-type": kind, **names}, msgspec.json.encode(document))


@dataclass
class Played:
    """What came of a conversation: its result, and all that was asked on the way."""

    result: Any = None
    requests: list[Request] = field(default_factory=list)
    pauses: list[float] = field(default_factory=list)
    timeouts: list[float | None] = field(default_factory=list)
    items: list[Any] = field(default_factory=list)


def play(conversation: Conversation[T], replies: Iterable[Reply], played: Played | None = None) -> Played:
    """Answer every Send and Read with the next reply; an exception is what the transport raises. `played` is filled in
    even if the conversation ends with an error."""
    dialogue, waiting = Dialogue(conversation), iter(replies)
    played = played or Played()
    while (step := dialogue.step) is not None:
        if isinstance(step, Emit):
            played.items.append(step.item)
            dialogue.answer(None)
        elif isinstance(step, Pause):
            played.pauses.append(step.seconds)
            dialogue.answer(None)
        else:
            assert isinstance(step, Send | Read)
            if isinstance(step, Send):
                played.requests.append(step.request)
            played.timeouts.append(step.timeout_s)
            reply = next(waiting)
            if isinstance(reply, Exception):
                dialogue.fail(reply)
            else:
                assert isinstance(reply, Response if isinstance(step, Send) else bytes), (step, reply)
                dialogue.answer(reply)
    assert list(waiting) == [], "not every reply was asked for"
    played.result = dialogue.result
    return played
