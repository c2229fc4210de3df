"""Exit codes, and errors as sentences that name the field, the value and the fix. Called by `main` and `run`."""

from __future__ import annotations

import sys

from shunter.model.errors import Rejected, ShunterError

DONE = 0
JOB_FAILED = 1
WRONG_USE = 2
NOT_REACHABLE = 3
OWN_ERROR = 125  # of `run`, whose other codes are the task's; and of any command that breaks
INTERRUPTED = 130
BROKEN_PIPE = 1  # what Typer makes of it too


def code_of(error: BaseException, own_errors: bool = False) -> int:
    """`own_errors`: the command's codes are the task's, so that every error of ours must be told apart."""
    if own_errors:
        return OWN_ERROR
    if isinstance(error, TimeoutError):
        return JOB_FAILED
    if isinstance(error, ShunterError) and not isinstance(error, Rejected):
        return NOT_REACHABLE
    return WRONG_USE


def complain(error: BaseException) -> None:
    tell(f"error: {sentences(error) if isinstance(error, ShunterError) else error}")


def sentences(error: ShunterError) -> str:
    """The error in one line; several problems in a line each."""
    if len(error.problems) < 2:
        return error.detail
    problems = "\n".join(f"  {problem}" for problem in error.problems)
    return f"{len(error.problems)} problems were found:\n{problems}"


def tell(text: str) -> None:
    """Say something to the person, beside the output."""
    print(f"shunter: {text}", file=sys.stderr, flush=True)
