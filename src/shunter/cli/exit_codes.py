"""Exit codes, and how commands print errors and notices."""

from __future__ import annotations

import sys

from shunter.cli.output_mode import mode
from shunter.cli.text import print_text
from shunter.model.errors import Rejected, ShunterError
from shunter.model.schema.problems import format_error

SUCCESS = 0
JOB_FAILED = 1
USAGE_ERROR = 2
NOT_REACHABLE = 3
INTERNAL_ERROR = 125  # Shunter itself failed; `run` uses all other codes for the task's exit code
INTERRUPTED = 130
SIGNALLED = 128  # exit codes from 128 on mean that a signal ended the program
BROKEN_PIPE = 141  # as if SIGPIPE had ended the command


def exit_code_for(error: BaseException, has_task_exit_codes: bool = False) -> int:
    """With `has_task_exit_codes`, every error of Shunter is 125, because other codes are those of the task."""
    if has_task_exit_codes:
        return INTERNAL_ERROR
    if isinstance(error, TimeoutError):
        return JOB_FAILED
    if isinstance(error, ShunterError) and not isinstance(error, Rejected):
        return NOT_REACHABLE
    return USAGE_ERROR


def print_error(error: BaseException | str) -> None:
    print_warning(f"error: {format_error(error) if isinstance(error, ShunterError) else error}")


def print_notice(text: str) -> None:
    """Print a line for the user on standard error, unless the user wants none."""
    if not mode.is_quiet:
        print_warning(text)


def print_warning(text: str) -> None:
    """Print a line about a problem on standard error, also with --quiet."""
    print_text(text, "shunter: ", 2, sys.stderr)
