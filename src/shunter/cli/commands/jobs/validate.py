"""The command `validate`: checks manifest files without a cluster, and prints the JSON Schema for editors."""

from __future__ import annotations

import sys
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

import msgspec
import typer

from shunter.cli.exit_codes import SUCCESS, USAGE_ERROR
from shunter.cli.manifest_files import (
    FilePaths,
    OptionalFiles,
    chosen_files,
    document_labels,
    name_all_kinds,
    read_file,
    with_locations,
)
from shunter.cli.options import Format, Output
from shunter.cli.render.tables import plural, print_document
from shunter.cli.text import print_text
from shunter.model.errors import Invalid, Problem

if TYPE_CHECKING:
    from shunter.model.files.mixed_files import FilePart


class FileReport(msgspec.Struct, kw_only=True):
    name: str
    valid: bool
    jobs: int
    objects: int = 0
    problems: list[Problem]


def validate(
    paths: FilePaths = None,
    files: OptionalFiles = None,
    schema: Annotated[bool, typer.Option("--schema", help="Print the JSON Schema of manifests.")] = False,
    kind: Annotated[
        str, typer.Option(metavar="KIND", help="Kind for --schema: job, testbed, batchjob or scheduling.")
    ] = "job",
    output: Output = Format.TABLE,
) -> None:
    """Check manifest files without a cluster. The exit code is 0 if all of them are valid, else 2.

    Each problem is printed with its field, its value and a fix. Whether dependencies exist and nodes are large enough
    depends on the cluster: check that with `shunter plan FILE`.

    \b
    shunter validate job.yaml
    shunter validate jobs/*.yaml
    shunter validate --schema > job.schema.json
    shunter validate --schema --kind testbed
    """
    if schema:
        print_document(_schema(kind), Format.YAML if output is Format.YAML else Format.JSON)
        return
    checked = [_check(file) for file in chosen_files(paths, files)]
    if output is not Format.TABLE:
        print_document({"items": [report for report, _ in checked]}, output)
    else:
        for report, labels in checked:
            _print_report(report, labels)
    raise typer.Exit(SUCCESS if all(report.valid for report, _ in checked) else USAGE_ERROR)


def _schema(kind: str) -> dict[str, Any]:
    from shunter.model.job.manifests import job_schema
    from shunter.model.objects.object_manifests import object_schema, parse_kind

    return job_schema() if kind.lower() in ("job", "jobs") else object_schema(parse_kind(kind, "--kind"))


def _check(file: str) -> tuple[FileReport, list[str]]:
    """The report, and a label for each document."""
    from shunter.model.files.mixed_files import split
    from shunter.model.objects.objects import KINDS

    try:
        documents = read_file(file)
    except Invalid as error:
        return FileReport(name=file, valid=False, jobs=0, problems=list(error.problems)), []
    jobs, objects = split(documents)
    if not any(
        document.get("kind") in KINDS for document in documents
    ):  # a document of an unknown kind is checked as a Job
        jobs, objects = replace(jobs, documents=documents), replace(objects, documents=())
    problems = _problems(jobs, objects)
    counts = {"jobs": len(jobs.documents), "objects": len(objects.documents)}
    return FileReport(name=file, valid=not problems, problems=problems, **counts), document_labels([(file, documents)])


def _problems(jobs: FilePart, objects: FilePart) -> list[Problem]:
    from shunter.model.files.mixed_files import read_parts
    from shunter.model.job.manifests import JobReader, validate_documents
    from shunter.model.objects.object_manifests import object_problems, read_objects
    from shunter.planning.filter.cel import parse_constraint, parse_job_match

    if not jobs.documents:
        return object_problems(objects.documents)
    if not objects.documents:
        return validate_documents(jobs.documents, check_constraint=parse_constraint, check_job_match=parse_job_match)
    reader = JobReader(parse_constraint, parse_job_match)
    try:
        read_parts(jobs, partial(reader.read_all, default_namespace=None, make_name=str), objects, read_objects)
    except Invalid as error:
        return list(error.problems)
    return []


def _print_report(report: FileReport, labels: list[str]) -> None:
    if report.valid:
        found = [plural(count, word) for count, word in ((report.jobs, "job"), (report.objects, "object")) if count]
        print_text(f"{report.name}: valid, {', '.join(found)}")
    for problem in with_locations(map(name_all_kinds, report.problems), labels):
        print_text(f"{report.name}: {problem}", "", 2, sys.stderr)
