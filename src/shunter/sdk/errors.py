"""The errors that a client may raise: those of the model, and those that occur only in clients. Public as
`shunter.errors`."""

from __future__ import annotations

from shunter.model.errors import (
    Busy,
    Conflict,
    Gone,
    Invalid,
    NotFound,
    Problem,
    Rejected,
    ShunterError,
    TooLarge,
    Unauthorized,
    Unavailable,
)

__all__ = [
    "AnswerNotUnderstood",
    "Busy",
    "Conflict",
    "ConnectionLost",
    "Gone",
    "Invalid",
    "NotFound",
    "NotReachable",
    "Problem",
    "Rejected",
    "ShunterError",
    "TooLarge",
    "Unauthorized",
    "Unavailable",
]


class NotReachable(Unavailable):
    """No cluster answers where this client looks; the text says how to start one or where it looked."""

    title = "not reachable"


class ConnectionLost(Unavailable):
    """The connection broke after the request may have been sent. Transports raise it; the core decides what follows."""

    title = "connection lost"


class AnswerNotUnderstood(ShunterError):
    """What answered does not speak this version of the REST interface."""

    title = "invalid answer"
