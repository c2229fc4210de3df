"""The errors that a client may raise: those of the model, and those that occur only in clients. Public as
`shunter.errors`."""

from __future__ import annotations

from shunter.model.errors import (
    Busy,
    Conflict,
    Forbidden,
    Gone,
    Invalid,
    NoApi,
    NotFound,
    NotLeader,
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
    "Forbidden",
    "Gone",
    "Invalid",
    "JobFailed",
    "NoApi",
    "NotFound",
    "NotLeader",
    "NotReachable",
    "Problem",
    "Rejected",
    "ShunterError",
    "StreamEnded",
    "TooLarge",
    "Unauthorized",
    "Unavailable",
]


class NotTrusted(Rejected):
    """Somebody answers who cannot prove to be the cluster."""

    title = "not trusted"


class NotReachable(Unavailable):
    """No cluster answers where this client looks; the text says how to start one or where it looked."""

    title = "not reachable"

    def __init__(self, fact: str, advice: str = "") -> None:
        super().__init__(f"{fact}; {advice}" if advice else fact)
        self.fact = fact


class ConnectionLost(Unavailable):
    """The connection broke after the request may have been sent. Transports raise it; the core decides what follows."""

    title = "connection lost"


class StreamEnded(Unavailable):
    """The cluster ended a stream that is not complete. It may be about to stop, so there is no hurry to resume."""

    title = "stream ended"
    retry_after_s = 0.2


class AnswerNotUnderstood(ShunterError):
    """What answered does not speak this version of the REST interface."""

    title = "invalid answer"


class JobFailed(ShunterError):
    """A job that was to succeed failed or was cancelled. `stderr` has the last lines of its first failed task."""

    title = "job failed"

    def __init__(self, name: str, state: str, reason: str, exit_code: int | None = None, stderr: str = "") -> None:
        verb = "was cancelled" if state == "cancelled" else state
        text = f"job {name} {verb}" + (f": {reason}" if reason else "")
        super().__init__(f"{text}; last lines of stderr:\n{stderr}" if stderr else text)
        self.name, self.state, self.reason, self.exit_code, self.stderr = name, state, reason, exit_code, stderr
