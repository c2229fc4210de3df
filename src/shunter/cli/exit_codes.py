"""Exit codes, and how errors are told to the person. Called by `main` and `run`."""

from __future__ import annotations

import sys

from shunter.model.errors import Rejected, ShunterError
from shunter.model.schema.problems import format_error

SUCCESS = 0
JOB_FAILED = 1
USAGE_ERROR = 2
NOT_REACHABLE = 3
INTERNAL_ERROR = 125  # of `run`, whose other codes are the task's; and of any command that breaks
INTERRUPTED = 130
BROKEN_PIPE = 1  # what Typer makes of it too


def exit_code_for(error: BaseException, has_task_exit_codes: bool = False) -> int:
    """`has_task_exit_codes`: the command's codes are the task's, so that every error of ours must be told apart."""
    if has_task_exit_codes:
        return INTERNAL_ERROR
    if isinstance(error, TimeoutError):
        return JOB_FAILED
    if isinstance(error, ShunterError) and not isinstance(error, Rejected):
        return NOT_REACHABLE
    return USAGE_ERROR


def print_error(error: BaseException) -> None:
    print_notice(f"error: {format_error(error) if isinstance(error, ShunterError) else error}")


def print_notice(text: str) -> None:
    """Say something to the person, beside the output."""
    print(f"shunter: {text}", file=sys.stderr, flush=True)
