"""Converts responses to typed results, and problem documents to the errors of the model. Pure; called by the core."""

from __future__ import annotations

from typing import Any, TypeVar

import msgspec

from shunter.sdk.errors import (
    AnswerNotUnderstood,
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
from shunter.sdk.transport.steps import Response

T = TypeVar("T")

RETRY_AFTER_DEFAULT_S = 1.0
GENERAL_REFUSAL = "the token is missing or wrong"  # begins what the cluster says of credentials that it does not know
_BY_STATUS: dict[int, type[Rejected]] = {
    401: Unauthorized,
    403: Forbidden,
    404: NotFound,
    409: Conflict,
    410: Gone,
    413: TooLarge,
}

_BY_TITLE: dict[str, type[Unavailable]] = {kind.title: kind for kind in (NoApi, NotLeader)}


class _ProblemView(msgspec.Struct):
    field: str = ""
    message: str = ""
    value: Any = None
    fix: str | None = None


class _ProblemDocument(msgspec.Struct):
    title: str = ""
    detail: str = ""
    problems: list[_ProblemView] = []


def decode(body: bytes, shape: type[T]) -> T:
    """The JSON body as `shape`; fields that this client does not know are passed over."""
    try:
        return msgspec.json.decode(body, type=shape)
    except msgspec.MsgspecError as error:
        text = f"the answer is not a {shape.__name__}: {error}; check that client and cluster have the same version"
        raise AnswerNotUnderstood(text) from error


def error_of(response: Response) -> ShunterError:
    """The error that an answer of 300 or more stands for; a cluster never sends its clients elsewhere."""
    document = _problem_document(response)
    problems = tuple(Problem(item.field, item.message, item.value, item.fix) for item in document.problems)
    detail = document.detail or document.title or f"the cluster answered with status {response.status}"
    if response.status == 400 and problems:
        return Invalid(list(problems))
    if response.status == 401 and detail.startswith(GENERAL_REFUSAL):
        detail = f"{detail}; check SHUNTER_TOKEN, or the file `token` in SHUNTER_HOME"
    if response.status == 429:
        return Busy(detail, _retry_after_s(response))
    if response.status in (502, 503, 504):
        kind = _BY_TITLE.get(document.title, Unavailable)
        unavailable = kind(detail, problems)
        unavailable.retry_after_s = _retry_after_s(response)
        return unavailable
    if 400 <= response.status < 500:
        return _BY_STATUS.get(response.status, Rejected)(detail, problems)
    return ShunterError(f"{detail} (status {response.status})", problems)


def _problem_document(response: Response) -> _ProblemDocument:
    if not response.headers.get("content-type", "").startswith("application/problem+json"):
        return _ProblemDocument()
    try:
        return msgspec.json.decode(response.body, type=_ProblemDocument)
    except msgspec.MsgspecError:
        return _ProblemDocument()


def _retry_after_s(response: Response) -> float:
    text = response.headers.get("retry-after", "")
    return float(text) if text.isdigit() else RETRY_AFTER_DEFAULT_S
