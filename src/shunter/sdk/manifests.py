"""Builds manifests from the arguments of `run`, or reads them from files. The cluster validates them.

Called by both clients and the CLI."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from pathlib import Path, PurePath
from typing import Any, TypedDict

from shunter.model.files.yaml_reader import TEXT_SIZE_MAX, parse_documents
from shunter.model.resources import STANDARD
from shunter.sdk.errors import Invalid, Problem
from shunter.sdk.shorthands import expand

API_VERSION = "shunter.dev/v1"

Manifest = Mapping[str, Any]
Source = Manifest | str | Path
Quantity = str | int | float


class RunOptions(TypedDict, total=False):
    """Options of a run besides its command; None is the same as leaving one out. Other fields of a Job's spec are
    passed on as they are."""

    # the job
    name: str | None  # default: the cluster derives one from the command
    labels: Mapping[str, str] | None
    type: str | None  # batch (default), service, system, sysbatch
    # what to run
    env: Mapping[str, str] | None
    dir: str | Path | None  # default: a fresh folder, removed with the task
    stdin: str | bytes | None  # what each task reads from standard input
    stdout: str | Path | None  # a file with %j %g %i %a, relative to dir, instead of the captured log
    stderr: str | Path | None
    user: str | int | None
    image: str | None  # a container instead of a process; the command replaces its entry point
    args: Sequence[str] | None  # for the entry point of an image
    mounts: Sequence[str | Mapping[str, Any]] | None  # SOURCE:TARGET[:ro]
    ports: Sequence[str | Mapping[str, Any]] | None  # NAME, NAME=PORT, NAME=HOST:PORT
    network: str | None
    health: Sequence[Mapping[str, Any]] | None
    # how often
    count: int | None
    array: str | Sequence[int] | None  # 1-100:2, with %4 for four at once
    entries: Sequence[str] | None  # one task for each, as SHUNTER_ENTRY
    parallel_max: int | None
    failures_max: int | None
    gang: bool | None
    # what it needs, and where
    cpu: Quantity | None
    memory: Quantity | None
    disk: Quantity | None
    resources: Mapping[str, Quantity] | None  # countables: {"gpu": 1}
    exclusive: bool | None
    datacenters: Sequence[str] | None
    constraints: Sequence[str] | None
    isolation: str | None
    # when, and what follows
    priority: int | None
    queue: str | None
    after: Sequence[str | Mapping[str, str]] | None  # JOB, or JOB:finished
    start_at: str | float | datetime | timedelta | None
    deadline: str | float | datetime | timedelta | None
    estimate: str | float | None
    timeout: str | float | Mapping[str, Any] | None
    restart: str | Mapping[str, Any] | None  # never, on-failure, on-failure:5, always, or a whole mapping
    retries: int | None  # the same as restart on-failure:N
    hold: bool | None


OPTIONS = frozenset(RunOptions.__annotations__)
MISSPELT_CUTOFF = 0.75  # what is less similar may be a field that a newer cluster knows
_MEANT = {
    "cpus": "did you mean cpu?",
    "cores": "did you mean cpu?",
    "mem": "did you mean memory?",
    "ram": "did you mean memory?",
    "gpu": 'write resources={"gpu": 1}',
    "gpus": 'write resources={"gpu": 1}',
    "cwd": "did you mean dir?",
    "environment": "did you mean env?",
    "tasks": "did you mean count?",
}


def job_manifest(command: Sequence[str], options: Mapping[str, Any]) -> dict[str, Any]:
    """A Job that runs `command`. The cluster names it if it has no name. Only an image may go without a command."""
    fields = {key: value for key, value in options.items() if value is not None}
    _check_command(command, "image" in fields)
    _check_options(fields)
    words = [str(word) for word in command]
    fields = expand(fields)
    metadata = {key: fields.pop(key) for key in ("name", "labels") if key in fields}
    resources = {resource: fields.pop(resource) for resource in STANDARD if resource in fields}
    if resources := {**fields.pop("resources", {}), **resources}:
        fields["resources"] = resources
    spec = {"command": words, **fields} if words else fields
    return {"apiVersion": API_VERSION, "kind": "Job", "metadata": metadata, "spec": spec}


def _check_command(command: object, has_image: bool) -> None:
    fix = 'write it as a list: ["echo", "hello"]'
    if callable(command):
        name = getattr(command, "__name__", type(command).__name__)
        fix = 'write the command as a list: ["python3", "script.py"]'
        raise Invalid([Problem("command", "run takes a list of strings, not a Python function", name, fix)])
    if isinstance(command, str | bytes | Mapping) or not isinstance(command, Iterable):
        raise Invalid([Problem("command", "must be a list of strings", command, fix)])
    if not (command or has_image):
        raise Invalid([Problem("command", "must be a list with at least one item", command, fix)])
    for number, word in enumerate(command):
        if not isinstance(word, str | int | float | PurePath):
            raise Invalid([Problem(f"command[{number}]", "must be a string", str(word), fix)])


def _check_options(fields: Mapping[str, Any]) -> None:
    """Refuse what looks like a misspelt option. The cluster refuses what is left, but it does not know the options."""
    unknown = [name for name in fields if name not in OPTIONS]
    if not unknown:
        return
    from shunter.model.job.job_fields import SPEC  # loaded only here, to keep the client's start short
    from shunter.model.schema.problems import did_you_mean

    meant = {name: _MEANT.get(name) or did_you_mean(name, OPTIONS, MISSPELT_CUTOFF) for name in unknown}
    misspelt = {name: fix for name, fix in meant.items() if fix and name not in SPEC.fields}
    problems = [Problem(name, "is not an option of run", fix=fix) for name, fix in misspelt.items()]
    if problems:
        raise Invalid(problems)


def read_manifest(source: Source) -> Manifest:
    """The only document of a source. Raises Invalid."""
    manifests = read_manifests(source)
    if len(manifests) > 1:
        fix = "submit them together with submit_many"
        raise Invalid([Problem("manifest", f"must have exactly one manifest, but has {len(manifests)}", fix=fix)])
    return manifests[0]


def read_manifests(source: Source) -> list[Manifest]:
    """The documents of a file or of YAML or JSON text; a mapping is one document. Text has a line break or begins with
    a brace, else it is a path. Raises Invalid."""
    if isinstance(source, Mapping):
        return [source]
    if not isinstance(source, str | Path):
        raise Invalid([Problem("manifest", "must be a mapping, a path, or YAML or JSON text", str(source))])
    if isinstance(source, str) and ("\n" in source or source.lstrip().startswith("{")):
        return parse_manifests(source)
    try:
        with open(source, "rb") as file:
            text = file.read(TEXT_SIZE_MAX + 1)
    except OSError as error:
        raise Invalid([Problem("file", f"cannot be read: {error.strerror}", str(source))]) from error
    return parse_manifests(text)


def each_manifest(sources: Source | Iterable[Manifest]) -> Iterable[Manifest]:
    """The documents of one source, or manifests as they are. Raises Invalid."""
    return read_manifests(sources) if isinstance(sources, Mapping | str | Path) else sources


def parse_manifests(text: str | bytes) -> list[Manifest]:
    """The documents of a YAML or JSON text. Raises Invalid."""
    documents = parse_documents(text)
    fix = "start with apiVersion, kind, metadata and spec"
    problems = [
        Problem(f"document {number}", "is not a manifest", document, fix)
        for number, document in enumerate(documents, 1)
        if not isinstance(document, Mapping)
    ]
    if problems:
        raise Invalid(problems)
    return [document for document in documents if isinstance(document, Mapping)]
