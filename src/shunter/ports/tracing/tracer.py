"""Where spans go, and the trace of the request that the present code works on. Implemented by `adapters.otel`; without
a tracer no span is made, and a context that a client has sent is only passed on."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Protocol


class SpanKind(StrEnum):
    INTERNAL = "internal"
    SERVER = "server"  # the answer to a request
    PRODUCER = "producer"  # sends what somebody else does later
    CONSUMER = "consumer"  # does it


Attributes = Mapping[str, str | int]


@dataclass(frozen=True, slots=True)
class Span:
    """Something that is over. `context` names it, `parent` is the context of the span that caused it, or empty. Times
    are seconds since 1970."""

    name: str
    context: str
    parent: str
    start_s: float
    end_s: float
    attributes: Attributes = field(default_factory=dict)
    kind: SpanKind = SpanKind.INTERNAL
    error: str = ""


class Tracer(Protocol):
    def begin_trace(self) -> str:
        """The context of the first span of a new trace."""
        ...

    def child_of(self, context: str) -> str:
        """The context of a new span of the same trace."""
        ...

    def record(self, span: Span) -> None:
        """Never waits: what cannot be sent soon is dropped."""
        ...


# A context variable, because a request passes through a dozen functions that have no use for it.
request_trace: ContextVar[str] = ContextVar("request_trace", default="")


@contextmanager
def trace_of(context: str) -> Iterator[None]:
    token = request_trace.set(context)
    try:
        yield
    finally:
        request_trace.reset(token)
