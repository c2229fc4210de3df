"""Reads manifest files, and says in which document a problem is. Used by apply, submit, plan, validate and graph."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from shunter.model.errors import Invalid, Problem
from shunter.model.files.yaml_reader import TEXT_SIZE_MAX
from shunter.sdk.manifests import Manifest, parse_manifests, read_manifests

STDIN = "-"
MANIFEST_ENDINGS = (".yaml", ".yml", ".json")

OptionalFile = Annotated[
    str | None,
    typer.Option("--file", "-f", metavar="FILE", help="The same as FILE without an option."),
]
FilePath = Annotated[
    str | None,
    typer.Argument(metavar="FILE", help="YAML or JSON, one or several documents; - reads stdin.", show_default=False),
]


OptionalFiles = Annotated[
    list[str] | None,
    typer.Option("--file", "-f", metavar="FILE", help="The same as FILE without an option. May be repeated."),
]
FilePaths = Annotated[
    list[str] | None,
    typer.Argument(metavar="FILE...", help="YAML or JSON files; - reads stdin.", show_default=False),
]


def chosen_file(path: str | None, file: str | None) -> str:
    """The file of a command that takes it with or without --file. Raises Invalid."""
    if path is not None and file is not None:
        raise Invalid([Problem("FILE", "is given twice", path, "leave out --file")])
    return chosen_files([path] if path else None, [file] if file else None)[0]


def chosen_files(paths: list[str] | None, files: list[str] | None) -> list[str]:
    """The files of a command that takes them with or without --file. Raises Invalid."""
    chosen = [*(paths or ()), *(files or ())]
    if not chosen:
        raise Invalid([Problem("FILE", "is missing", fix="name the manifest file, for example job.yaml")])
    return chosen


def refuse_manifest(field: str, word: str, command: str) -> None:
    """For commands that take no manifest in this place: name the right one. Raises Invalid."""
    if word.endswith(MANIFEST_ENDINGS) and Path(word).is_file() and not os.access(word, os.X_OK):
        raise Invalid([Problem(field, "is a manifest file", word, f"use: {command} {word}")])


def read_file(file: str) -> list[Manifest]:
    """The documents of a file, or of standard input. Raises Invalid."""
    return parse_manifests(sys.stdin.buffer.read(TEXT_SIZE_MAX + 1)) if file == STDIN else read_manifests(file)


def read_files(files: Sequence[str]) -> list[tuple[str, list[Manifest]]]:
    """The documents of each file. With several files, every problem names its file. Raises Invalid."""
    found = []
    for file in files:
        try:
            found.append((file, read_file(file)))
        except Invalid as error:
            if len(files) == 1:
                raise
            raise Invalid([replace(each, field=f"{file}: {each.field}") for each in error.problems]) from error
    return found


def document_labels(files: Iterable[tuple[str, Sequence[Manifest]]]) -> list[str]:
    """A label for each document: `Testbed bench`, or `document 2` if it has no name; with several files, also the
    file."""
    listed = list(files)
    return [
        (f"{file}: " if len(listed) > 1 else "") + _document_label(document, number)
        for file, documents in listed
        for number, document in enumerate(documents, 1)
    ]


def with_locations(problems: Iterable[Problem], labels: Sequence[str]) -> list[Problem]:
    """Problems of documents that were sent together, with the label of the document instead of its number."""
    return [_with_location(problem, labels) for problem in problems]


def name_all_kinds(problem: Problem) -> Problem:
    """A document of an unknown kind is checked as a Job, but files may have other kinds too."""
    if problem.message != "must be Job":
        return problem
    return replace(problem, message="must be Job, Testbed, BatchJob or Scheduling")


def _with_location(problem: Problem, labels: Sequence[str]) -> Problem:
    found = _ITEM.match(problem.field)
    if found is None or int(found[1]) >= len(labels):
        return problem
    return replace(problem, field=f"{labels[int(found[1])]}: {found[2]}".removesuffix(": "))


_ITEM = re.compile(r"items\[(\d+)\]\.?(.*)", re.DOTALL)


def _document_label(document: Manifest, number: int) -> str:
    metadata = document.get("metadata")
    name = metadata.get("name") if isinstance(metadata, dict) else None
    kind = document.get("kind")
    return f"{kind} {name}" if isinstance(kind, str) and isinstance(name, str) else f"document {number}"
