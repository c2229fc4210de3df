"""Collecting all that is wrong with an input, and saying it well. Used for manifests, config.toml and REST."""

from __future__ import annotations

import math
from collections.abc import Iterable
from difflib import get_close_matches

from shunter.model.errors import Invalid, Problem, ShunterError

PROBLEMS_MAX = 100
SHOWN_MAX = 80
NEAREST_CUTOFF = 0.6
UNSAID = object()


class Problems:
    """All that is wrong with one input. At PROBLEMS_MAX it stops looking, so that a hostile input stays cheap."""

    def __init__(self) -> None:
        self.found: list[Problem] = []

    def add(self, path: str, message: str, *, value: object = UNSAID, fix: str | None = None) -> None:
        self.found.append(Problem(path, message, None if value is UNSAID else shown(value), fix))
        if len(self.found) >= PROBLEMS_MAX:
            self.raise_any()

    def raise_any(self) -> None:
        if self.found:
            raise Invalid(self.found)


def shown(value: object) -> str | int | float | bool:
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
    return written if len(written) <= SHOWN_MAX else written[: SHOWN_MAX - 3] + "..."


def nearest(name: str, known: Iterable[str], cutoff: float = NEAREST_CUTOFF) -> str | None:
    """`did you mean command?`, or None where nothing known is near."""
    near = get_close_matches(name[:SHOWN_MAX], known, n=1, cutoff=cutoff)
    return f"did you mean {near[0]}?" if near else None


def sentences(error: ShunterError) -> str:
    """The error in one line; several problems in a line each."""
    if len(error.problems) < 2:
        return error.detail
    problems = "\n".join(f"  {problem}" for problem in error.problems)
    return f"{len(error.problems)} problems were found:\n{problems}"
