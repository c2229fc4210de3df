"""Collects all problems of an input and words them well. Used for manifests, config.toml and REST."""

from __future__ import annotations

import math
from collections.abc import Iterable
from difflib import get_close_matches

from shunter.model.errors import Invalid, Problem, ShunterError

PROBLEMS_MAX = 100
DISPLAY_CHARS_MAX = 80
SIMILARITY_CUTOFF = 0.6
OMITTED = object()


class Problems:
    """All that is wrong with one input. At PROBLEMS_MAX it stops looking, so that a hostile input stays cheap."""

    def __init__(self) -> None:
        self.found: list[Problem] = []

    def add(self, path: str, message: str, *, value: object = OMITTED, fix: str | None = None) -> None:
        self.found.append(Problem(path, message, None if value is OMITTED else format_value(value), fix))
        if len(self.found) >= PROBLEMS_MAX:
            self.raise_any()

    def raise_any(self) -> None:
        if self.found:
            raise Invalid(self.found)


def format_value(value: object) -> str | int | float | bool:
    """A value as a problem may show it: short, and of a mapping or list only its size, since it may hold secrets."""
    if value is None:
        return "null"
    if isinstance(value, dict):
        return f"a mapping of {len(value):,}"
    if isinstance(value, list | tuple):
        return f"a list of {len(value):,}"
    if isinstance(value, int):  # a number of thousands of digits cannot even be printed
        return value if abs(value) < 2**63 else "a huge number"
    if isinstance(value, float) and math.isfinite(value):
        return value
    written = value if isinstance(value, str) else str(value)
    return written if len(written) <= DISPLAY_CHARS_MAX else written[: DISPLAY_CHARS_MAX - 3] + "..."


def did_you_mean(name: str, known: Iterable[str], cutoff: float = SIMILARITY_CUTOFF) -> str | None:
    """`did you mean command?`, or None if no known name is similar."""
    matches = get_close_matches(name[:DISPLAY_CHARS_MAX], known, n=1, cutoff=cutoff)
    return f"did you mean {matches[0]}?" if matches else None


def format_error(error: ShunterError) -> str:
    """The error in one line; several problems in a line each."""
    if len(error.problems) < 2:
        return error.detail
    problems = "\n".join(f"  {problem}" for problem in error.problems)
    return f"found {len(error.problems)} problems:\n{problems}"
