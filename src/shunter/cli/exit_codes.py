"""Exit codes, and how errors are told to the person. Called by `main` and `run`."""

from __future__ import annotations

import sys

from shunter.model.errors import Rejected, ShunterError
from shunter.model.schema.problems import sentences

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


def tell(text: str) -> None:
    """Say something to the person, beside the output."""
    print(f"shunter: {text}", file=sys.stderr, flush=True)
