"""Drives conversations by hand: a test plays the transport, without I/O."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, TypeVar

import msgspec

from shunter.sdk.core import Core
from shunter.sdk.transport.steps import (
    Conversation,
    ConversationDriver,
    Emit,
    Pause,
    Read,
    Request,
    Response,
    Send,
    Switch,
)

T = TypeVar("T")
Reply = Response | bytes | Exception


def core(**settings: Any) -> Core:
    """A core whose clock stands still, whose dice are loaded and whose keys count up."""
    numbers = iter(range(1_000_000))
    defaults = {"clock": lambda: 0.0, "random": lambda: 1.0, "new_key": lambda: f"key-{next(numbers)}"}
    return Core(**(defaults | settings))


def json_response(status: int, document: object = None, **headers: str) -> Response:
    kind = "application/problem+json" if status >= 300 else "application/json"
    names = {key.replace("_", "-"): value for key, value in headers.items()}
    return Response(status, {"content-type": kind, **names}, msgspec.json.encode(document))


@dataclass
class Transcript:
    """What came of a conversation: its result, and all that was asked on the way."""

    result: Any = None
    requests: list[Request] = field(default_factory=list)
    pauses: list[float] = field(default_factory=list)
    timeouts: list[float | None] = field(default_factory=list)
    min_versions: list[int] = field(default_factory=list)
    switches: int = 0
    items: list[Any] = field(default_factory=list)


def run_conversation(
    conversation: Conversation[T], replies: Iterable[Reply], transcript: Transcript | None = None
) -> Transcript:
    """Answer every Send and Read with the next reply; an exception is what the transport raises. `transcript` is filled
    in even if the conversation ends with an error."""
    driver, waiting = ConversationDriver(conversation), iter(replies)
    transcript = transcript or Transcript()
    while (step := driver.step) is not None:
        if isinstance(step, Emit):
            transcript.items.append(step.item)
            driver.answer(None)
        elif isinstance(step, Pause):
            transcript.pauses.append(step.seconds)
            driver.answer(None)
        elif isinstance(step, Switch):
            transcript.switches += 1
            driver.answer(None)
        else:
            assert isinstance(step, Send | Read)
            if isinstance(step, Send):
                transcript.requests.append(step.request)
                transcript.min_versions.append(step.min_version)
            transcript.timeouts.append(step.timeout_s)
            reply = next(waiting)
            if isinstance(reply, Exception):
                driver.fail(reply)
            else:
                assert isinstance(reply, Response if isinstance(step, Send) else bytes), (step, reply)
                driver.answer(reply)
    assert list(waiting) == [], "not every reply was asked for"
    transcript.result = driver.result
    return transcript
