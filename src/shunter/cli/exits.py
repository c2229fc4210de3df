"""Exit codes, and errors as sentences that name the field, the value and the fix. Called by `main` and `run`."""

from __future__ import annotations

import sys

from shunter.model.errors import Problem, Rejected, ShunterError, Unavailable

DONE = 0
JOB_FAILED = 1
WRONG_USE = 2
NOT_REACHABLE = 3
OWN_ERROR = 125
INTERRUPTED = 130
BROKEN_PIPE = 141


def code_of(error: BaseException, own_errors: bool = False) -> int:
    """`own_errors`: the command's codes are the task's, so that every error of ours must be told apart."""
    if own_errors:
        return OWN_ERROR
    if isinstance(error, Unavailable):
        return NOT_REACHABLE
    if isinstance(error, TimeoutError) or (isinstance(error, ShunterError) and not isinstance(error, Rejected)):
        return JOB_FAILED
    return WRONG_USE


def complain(error: BaseException) -> bool:
    """Tell an error that was foreseen; False for one that was not."""
    if isinstance(error, ShunterError):
        tell("\n".join(["error: " + sentence(error), *more_problems(error)]))
    elif isinstance(error, TimeoutError):
        tell(f"error: {error}")
    else:
        return False
    return True


def sentence(error: ShunterError) -> str:
    if len(error.problems) > 1:
        return f"{len(error.problems)} problems were found:"
    return problem_sentence(error.problems[0]) if error.problems else error.detail


def more_problems(error: ShunterError) -> list[str]:
    return [f"  {problem_sentence(problem)}" for problem in error.problems] if len(error.problems) > 1 else []


def problem_sentence(problem: Problem) -> str:
    return str(problem)


def tell(text: str) -> None:
    """Say something to the person, beside the output."""
    print(f"shunter: {text}", file=sys.stderr, flush=True)
