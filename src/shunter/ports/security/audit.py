"""Whose request the present code works on, for the audit log.

A transport sets `request_origin` around the handler of a request that may change something. The engine writes it into
the commit that has the change. It is a context variable because a request passes through a dozen functions that have no
use for it, and its tasks inherit it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

from shunter.model.audit.records import Checkpoint, RefusedRequests
from shunter.ports.principals import Principal


@dataclass(frozen=True, slots=True)
class Origin:
    """`target` is what the request itself names, for changes that have no name of their own."""

    caller: Principal
    operation: str
    transport: str
    source: str
    target: str = ""


request_origin: ContextVar[Origin | None] = ContextVar("request_origin", default=None)


@contextmanager
def request_of(origin: Origin) -> Iterator[None]:
    token = request_origin.set(origin)
    try:
        yield
    finally:
        request_origin.reset(token)


@dataclass(frozen=True, slots=True)
class Act:
    """What a round will record in the audit log: a request that changed something, or one of the others."""

    origin: Origin | None
    names: Sequence[str] = ()
    refused: Sequence[RefusedRequests] = ()
    checkpoint: Checkpoint | None = None
