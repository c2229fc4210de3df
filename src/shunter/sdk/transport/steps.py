"""The words between the sans-IO core and its transports.

The core is written as conversations: generators that yield steps (send this, read on, pause, here is an item) and are
answered with what came of them. A transport only carries steps out, so the logic exists once for blocking and async.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Request:
    """One HTTP request as a value. `path` is below `/api/v1` and already quoted, its query included."""

    method: str
    path: str
    headers: tuple[tuple[str, str], ...] = ()
    body: bytes | None = None
    repeatable: bool = True  # repeating it does no harm: all but ending the cluster


@dataclass(slots=True)
class Response:
    """An answer; `body` is empty while it is being streamed."""

    status: int
    headers: Mapping[str, str] = field(default_factory=dict)  # names in lower case
    body: bytes = b""


@dataclass(frozen=True, slots=True)
class Send:
    """Send a request; answered by the whole Response, or with `stream` by its head, if it is not an error."""

    request: Request
    stream: bool = False
    timeout_s: float | None = None  # of each read, None: without end


@dataclass(frozen=True, slots=True)
class Read:
    """The next bytes of the streamed body; answered by b"" at its proper end."""

    timeout_s: float | None = None


@dataclass(frozen=True, slots=True)
class Pause:
    seconds: float


@dataclass(frozen=True, slots=True)
class Emit:
    """Hand an item to whoever iterates; callers that only want the result pass over it."""

    item: Any


Step = Send | Read | Pause | Emit
Conversation = Generator[Step, Any, T]


class ConversationDriver(Generic[T]):
    """A conversation under way, for transports: `step` is what to do next, None once `result` is there."""

    def __init__(self, conversation: Conversation[T]) -> None:
        self._conversation = conversation
        self.result: T
        self.step: Step | None = None
        self.answer(None)

    def answer(self, reply: Any) -> None:
        """The step came to `reply`; go on to the next one."""
        try:
            self.step = self._conversation.send(reply)
        except StopIteration as end:
            self.step, self.result = None, end.value

    def fail(self, error: Exception) -> None:
        """The step failed; the core may know what to do, else the error comes back out of here."""
        try:
            self.step = self._conversation.throw(error)
        except StopIteration as end:
            self.step, self.result = None, end.value
