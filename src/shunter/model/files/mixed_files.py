"""Reads files that contain both Jobs and objects: separates them and reads each with its own reader. Field paths refer
to the whole file. Called by the gateway for apply, and by `validate` without a cluster."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TypeVar

from shunter.model.errors import Invalid, Problem
from shunter.model.objects.object_manifests import is_job
from shunter.model.schema.problems import PROBLEMS_MAX

T = TypeVar("T")
J = TypeVar("J")
Read = Callable[[Sequence[object]], T]  # raises Invalid
IDEMPOTENCY_KEY_REUSED = Problem(
    "header.idempotency-key", "is in use by another request", None, "use a new key for each request"
)
_ITEM = re.compile(r"items\[(\d+)\]\.?")


@dataclass(frozen=True, slots=True)
class FilePart:
    """Either the Jobs of a file or its other documents, with their positions in the file."""

    documents: Sequence[object]
    positions: tuple[int, ...]


def split(documents: Sequence[object]) -> tuple[FilePart, FilePart]:
    """The Jobs, which are submitted, and the rest, which is applied."""
    return _file_part(documents, jobs=True), _file_part(documents, jobs=False)


def join(first: FilePart, firsts: Sequence[J], second: FilePart, seconds: Sequence[T]) -> list[J | T]:
    """The results of the parts, in the order of the file."""
    found: dict[int, J | T] = dict(zip(first.positions, firsts, strict=True))
    found.update(zip(second.positions, seconds, strict=True))
    return [found[position] for position in sorted(found)]


def read_parts(jobs: FilePart, read_jobs: Read[J], objects: FilePart, read_objects: Read[T]) -> tuple[J, T]:
    """Raises Invalid with the problems of both, in the order of the file."""
    problems: list[Problem] = []
    found_jobs, found_objects = _read(jobs, read_jobs, problems), _read(objects, read_objects, problems)
    if found_jobs is None or found_objects is None:
        raise Invalid(sorted(problems, key=_position)[:PROBLEMS_MAX])
    return found_jobs, found_objects


@contextmanager
def file_problem_paths(part: FilePart) -> Iterator[None]:
    """Converts the field paths of an Invalid about the part to paths in the file."""
    try:
        yield
    except Invalid as error:
        raise Invalid([replace(problem, field=_field(problem.field, part)) for problem in error.problems]) from error


def _read(part: FilePart, read: Read[T], problems: list[Problem]) -> T | None:
    try:
        with file_problem_paths(part):
            return read(part.documents)
    except Invalid as error:
        problems += error.problems
        return None


def _file_part(documents: Sequence[object], *, jobs: bool) -> FilePart:
    positions = tuple(position for position, document in enumerate(documents) if is_job(document) is jobs)
    return FilePart(tuple(documents[position] for position in positions), positions)


def _field(field: str, part: FilePart) -> str:
    """Readers number the documents only if they get several."""
    found = _ITEM.match(field)
    if found is None:
        return f"items[{part.positions[0]}].{field}" if len(part.positions) == 1 else field
    return f"items[{part.positions[int(found[1])]}].{field[found.end() :]}".rstrip(".")


def _position(problem: Problem) -> int:
    found = _ITEM.match(problem.field)
    return int(found[1]) if found is not None else 0
