"""Manifests on the client's side: made from the arguments of `run`, or read from files. The cluster checks them.

Called by both clients and the CLI.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypedDict

from shunter.model.documents import TEXT_SIZE_MAX, parse_documents
from shunter.model.resources import STANDARD
from shunter.sdk.errors import Invalid, Problem

API_VERSION = "shunter.dev/v1"
UNLIMITED = "unlimited"

Manifest = Mapping[str, Any]
Source = Manifest | str | Path
Quantity = str | int | float


class RunOptions(TypedDict, total=False):
    """What may be said about a run beside its command; None is the same as not said. Further fields of a Job's spec
    are passed on as they are."""

    name: str | None  # default: made of the command by the cluster
    count: int
    cpu: Quantity | None
    memory: Quantity | None
    disk: Quantity | None
    resources: Mapping[str, Quantity] | None  # countables: {"gpu": 1}
    env: Mapping[str, str] | None
    dir: str | Path | None  # default: a fresh folder that goes away with the task
    labels: Mapping[str, str] | None
    timeout: str | float | Mapping[str, Any] | None
    priority: int | None
    restart: str | Mapping[str, Any] | None  # never, on-failure, on-failure:5, always, or a whole mapping
    datacenters: Sequence[str] | None
    constraints: Sequence[str] | None
    type: str | None


def job_manifest(command: Sequence[str], options: Mapping[str, Any]) -> dict[str, Any]:
    """A Job that runs `command`. The cluster names it where it has no name."""
    if isinstance(command, str) or not command:
        fix = 'write it as a list: ["echo", "hello"]'
        raise Invalid([Problem("command", "must be a list of words, at least one", command, fix)])
    words = [str(word) for word in command]
    said = {key: value for key, value in options.items() if value is not None}
    metadata = {key: said.pop(key) for key in ("name", "labels") if key in said}
    resources = {resource: said.pop(resource) for resource in STANDARD if resource in said}
    if resources := {**said.pop("resources", {}), **resources}:
        said["resources"] = resources
    if isinstance(said.get("restart"), str):
        said["restart"] = _restart(said["restart"])
    if "dir" in said:
        said["dir"] = os.path.abspath(said["dir"])  # noqa: PTH100
    return {"apiVersion": API_VERSION, "kind": "Job", "metadata": metadata, "spec": {"command": words, **said}}


def read_manifest(source: Source) -> Manifest:
    """The only document of a source. Raises Invalid."""
    manifests = read_manifests(source)
    if len(manifests) > 1:
        fix = "submit them together with submit_many"
        raise Invalid([Problem("manifest", f"one was asked for, {len(manifests)} were found", fix=fix)])
    return manifests[0]


def read_manifests(source: Source) -> list[Manifest]:
    """The documents of a file, of YAML or JSON text, or the one that is given as a mapping. Text is told from a path
    by its line break or its brace. Raises Invalid."""
    if isinstance(source, Mapping):
        return [source]
    if isinstance(source, str) and ("\n" in source or source.lstrip().startswith("{")):
        return parse_manifests(source)
    try:
        with open(source, "rb") as file:
            text = file.read(TEXT_SIZE_MAX + 1)
    except OSError as error:
        raise Invalid([Problem("file", f"cannot be read: {error.strerror}", str(source))]) from error
    return parse_manifests(text)


def parse_manifests(text: str | bytes) -> list[Manifest]:
    """The documents of a YAML or JSON text. Raises Invalid."""
    documents = parse_documents(text)
    fix = "begin with apiVersion, kind, metadata and spec"
    problems = [
        Problem(f"document {number}", "is not a manifest", document, fix)
        for number, document in enumerate(documents, 1)
        if not isinstance(document, Mapping)
    ]
    if problems:
        raise Invalid(problems)
    return [document for document in documents if isinstance(document, Mapping)]


def _restart(text: str) -> dict[str, Any]:
    policy, colon, most = text.partition(":")
    if not colon:
        return {"policy": policy}
    if most != UNLIMITED and not (most.isascii() and most.isdigit()):
        raise Invalid([Problem("restart", "must end in a number", text, "write it as on-failure:5")])
    return {"policy": policy, "max": most if most == UNLIMITED else int(most)}
