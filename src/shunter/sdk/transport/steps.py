"""The protocol between the sans-IO core and its transports.

The core consists of conversations: generators that yield steps (send this, read on, pause, here is an item) and receive
the result of each. A transport only carries out steps, so the blocking and the async client share their logic."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

T = TypeVar("T")


BASE_PATH = "/api/v1"


@dataclass(frozen=True, slots=True)
class Request:
    """One HTTP request as a value. `path` is below `base` and already quoted, its query included."""

    method: str
    path: str
    headers: tuple[tuple[str, str], ...] = ()
    body: bytes | None = None
    repeatable: bool = True  # False: sending it again after a lost answer could do more than was asked for
    base: str = BASE_PATH


@dataclass(slots=True)
class Response:
    """An answer; `body` is empty while it is being streamed."""

    status: int
    headers: Mapping[str, str] = field(default_factory=dict)  # names in lower case
    body: bytes = b""


@dataclass(frozen=True, slots=True)
class Send:
    """Send a request. The result is the whole Response; with `stream`, only its head, unless it is an error."""

    request: Request
    stream: bool = False
    timeout_s: float | None = None  # of each read, None: without end
    min_version: int = 0  # the oldest state that the answer may show; 0: any


@dataclass(frozen=True, slots=True)
class Read:
    """Read the next bytes of the streamed body. The result is b"" at its proper end."""

    timeout_s: float | None = None


@dataclass(frozen=True, slots=True)
class Pause:
    seconds: float


@dataclass(frozen=True, slots=True)
class Switch:
    """Leave the manager of the last Send: it failed. The next Send goes to another one."""


@dataclass(frozen=True, slots=True)
class Emit:
    """Hand an item to the caller that iterates; a caller that only wants the result skips it."""

    item: Any


Step = Send | Read | Pause | Switch | Emit
Conversation = Generator[Step, Any, T]


class ConversationDriver(Generic[T]):
    """A conversation in progress, for transports. `step` is what to do next; None once there is a `result`."""

    def __init__(self, conversation: Conversation[T]) -> None:
        self._conversation = conversation
        self.result: T
        self.step: Step | None = None
        self.answer(None)

    def answer(self, reply: Any) -> None:
        """Pass the result of the step to the conversation, and advance to the next step."""
        try:
            self.step = self._conversation.send(reply)
        except StopIteration as end:
            self.step, self.result = None, end.value

    def fail(self, error: Exception) -> None:
        """Pass the failure of the step to the conversation, which may handle it; else the error is raised here."""
        try:
            self.step = self._conversation.throw(error)
        except StopIteration as end:
            self.step, self.result = None, end.value
