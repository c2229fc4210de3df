"""Renders errors as application/problem+json. Called by the ASGI application."""

from __future__ import annotations

import math

import msgspec

from shunter.model.errors import Rejected, ShunterError, Unavailable
from shunter.model.schema.problems import format_value

CONTENT_TYPE = b"application/problem+json"
DETAIL_MAX = 1000


class ProblemItem(msgspec.Struct):
    """One problem: the field, what is wrong, the value found, and how to fix it."""

    field: str
    message: str
    value: str | int | float | bool | None = None
    fix: str | None = None


class ProblemDocument(msgspec.Struct):
    """Why a request failed. `problems` lists everything that is wrong with the input."""

    type: str
    title: str
    status: int
    detail: str
    problems: list[ProblemItem]


class MethodNotAllowed(Rejected):
    status = 405
    title = "method not allowed"

    def __init__(self, method: str, allowed: str) -> None:
        super().__init__(f"this path does not support {method}; use {allowed}")
        self.allowed = allowed


class UpgradeRequired(Rejected):
    """Something that is served to WebSockets only."""

    status = 426
    title = "upgrade required"


def problem_document(error: ShunterError) -> ProblemDocument:
    detail = error.detail if len(error.detail) <= DETAIL_MAX else error.detail[: DETAIL_MAX - 3] + "..."
    items = [
        ProblemItem(
            problem.field, problem.message, None if problem.value is None else format_value(problem.value), problem.fix
        )
        for problem in error.problems
    ]
    return ProblemDocument("about:blank", error.title, error.status, detail, items)


def problem_headers(error: ShunterError) -> list[tuple[bytes, bytes]]:
    if isinstance(error, Unavailable):
        return [(b"retry-after", str(max(1, math.ceil(error.retry_after_s))).encode())]
    if isinstance(error, MethodNotAllowed):
        return [(b"allow", error.allowed.encode())]
    if isinstance(error, UpgradeRequired):
        return [(b"upgrade", b"websocket")]
    return [(b"www-authenticate", b"Bearer")] if error.status == 401 else []
