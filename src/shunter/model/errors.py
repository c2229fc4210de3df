"""The hierarchy of errors. *Rejected* is the caller's fault; *Unavailable* is ours, and the caller may retry."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that is wrong with an input: where, what was found, what is wrong, and how to mend it."""

    field: str
    message: str
    value: Any = None
    fix: str | None = None

    def __str__(self) -> str:
        found = "" if self.value is None else f" (got {_truncate(self.value)})"
        fix = f"; {self.fix}" if self.fix else ""
        return f"{self.field}: {self.message}{found}{fix}"


class ShunterError(Exception):
    """Root of every error that Shunter raises on purpose."""

    status = 500
    title = "error"

    def __init__(self, detail: str, problems: tuple[Problem, ...] = ()) -> None:
        super().__init__(detail)
        self.detail = detail
        self.problems = problems


class Rejected(ShunterError):
    """The request cannot be carried out as it stands; repeating it gives the same answer."""

    status = 400
    title = "rejected"


class Invalid(Rejected):
    """The input breaks the contract; every problem found is listed."""

    title = "invalid input"

    def __init__(self, problems: list[Problem]) -> None:
        super().__init__("; ".join(str(problem) for problem in problems), tuple(problems))


class Unauthorized(Rejected):
    status = 401
    title = "unauthorized"


class Forbidden(Rejected):
    """The caller is known, and may not do this."""

    status = 403
    title = "forbidden"


class NotFound(Rejected):
    status = 404
    title = "not found"


class Conflict(Rejected):
    status = 409
    title = "conflict"


class Gone(Rejected):
    """What is asked for was there once and is not remembered any more."""

    status = 410
    title = "gone"


class TooLarge(Rejected):
    status = 413
    title = "too large"


class Failed(ShunterError):
    """Our own mistake: something unexpected was raised. Trying again may fail again."""

    title = "failed"


class Unavailable(ShunterError):
    """Nothing is wrong with the request; try again."""

    status = 503
    title = "unavailable"
    retry_after_s = 1.0


class Busy(Unavailable):
    """A named limit is reached; nothing was taken, nothing is lost."""

    status = 429
    title = "busy"

    def __init__(self, detail: str, retry_after_s: float = 0.5) -> None:
        super().__init__(detail)
        self.retry_after_s = retry_after_s


class Fenced(Unavailable):
    """A newer epoch leads; whatever this one still wants to write is refused."""

    title = "fenced"


class NotLeader(Unavailable):
    """Another manager leads, or none does; this one cannot carry out the request by itself."""

    title = "not the leader"


class NoApi(NotLeader):
    """This manager serves no clients. Another one does; this one will say the same again."""

    title = "no api role"


class StoreFailed(Unavailable):
    """The store could not commit (disk full, connection lost). `store` is its path or URL, if the reason needs it."""

    title = "store failed"

    def __init__(self, reason: str, store: object = "") -> None:
        super().__init__(f"store {store}: {reason}" if store else reason)
        self.reason = reason  # for callers who may not know where the store is


class StoreUnreachable(StoreFailed):
    """The server of the store does not answer, or not yet. Nothing is wrong with how it is configured."""


class NewerFormat(ShunterError):
    """The store has what only a newer version of Shunter can read. Trying again gives the same answer."""

    status = 503  # to clients, who may ask another manager
    title = "newer format"


class FormatClosed(AssertionError):
    """A change that some managers cannot read yet. The engine refuses a request that needs it; to decide on it without
    a request is our own mistake."""


class InvalidMove(AssertionError):
    """Our own mistake: a lifecycle was asked for a move that its table does not have."""


def _truncate(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 80 else text[:77] + "..."
