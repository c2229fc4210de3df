"""The command `delete`: deletes Testbeds, BatchJobs and Schedulings by name, or all objects of a file."""

from __future__ import annotations

import math
import time
from functools import partial
from typing import Annotated

import typer

from shunter.cli.commands.objects.object_options import complete_objects, kind_of
from shunter.cli.connection import open_client
from shunter.cli.exit_codes import SUCCESS, USAGE_ERROR, print_error, print_notice
from shunter.cli.manifest_files import read_file
from shunter.cli.options import Format, Namespace, Output
from shunter.cli.render.tables import report_each
from shunter.model.errors import Conflict, Invalid, NotFound, Problem
from shunter.model.job.spec import NAMESPACE_DEFAULT
from shunter.sdk.calls.objects import expand_lists
from shunter.sdk.client import Client
from shunter.sdk.manifests import Manifest

POLL_INTERVAL_S = 0.2
NOTICE_AFTER_S = 2.0
DELETING = "deleting"
JOB, TEMPLATE = "Job", "Template"
TEMPLATE_FIELDS = {"schedule", "parameters"}  # a Job with one of these fields is a template
Target = tuple[str, str, str]  # kind, name, namespace


def delete(
    kind: Annotated[str | None, typer.Argument(metavar="[KIND", help="testbed, batchjob or scheduling.")] = None,
    names: Annotated[
        list[str] | None,
        typer.Argument(metavar="NAME...]", help="Names of the objects.", autocompletion=complete_objects),
    ] = None,
    files: Annotated[
        list[str] | None,
        typer.Option("--file", "-f", metavar="FILE", help="Delete all objects of this file. May be repeated."),
    ] = None,
    wait: Annotated[bool, typer.Option("--wait", help="Wait until the objects are deleted.")] = False,
    namespace: Namespace = NAMESPACE_DEFAULT,
    output: Output = Format.TABLE,
) -> None:
    """Delete Testbeds, BatchJobs or Schedulings. Objects of a file are deleted one by one, the last one first.

    Deleting a Scheduling stops its applications; its BatchJobs are ready again when all processes have ended. A Testbed
    in use is deleted when its executors have ended. Jobs of a file are stopped; templates of a file are deleted.

    \b
    shunter delete scheduling first
    shunter delete -f scheduling.yaml
    """
    targets = _targets_by_name(kind, names or [], namespace) + _targets_from_files(files or [], namespace)
    if not targets:
        raise typer.BadParameter(
            "no object given; write for example: shunter delete scheduling first", param_hint="KIND NAME"
        )
    code = SUCCESS
    with open_client(namespace) as client, report_each(output) as report:
        for target in targets:
            try:
                outcome = _delete(client, target, wait or bool(files))
            except (NotFound, Conflict) as error:
                print_error(error.detail)
                code = USAGE_ERROR
                continue
            document = dict(zip(("kind", "name", "namespace", "action"), (*target, outcome), strict=True))
            note = ": waiting for its running tasks to end" if outcome == DELETING else ""
            report(f"{target[0]} {target[1]} {outcome}{note}", partial(dict, document))
    raise typer.Exit(code)


def _delete(client: Client, target: Target, should_wait: bool) -> str:
    """Delete one object. For a file, wait for it: the next object to delete may be in use by this one."""
    kind, name, namespace = target
    if kind == TEMPLATE:
        with open_client(namespace) as namespace_client:
            namespace_client.delete_template(name)
        return "deleted"
    if kind == JOB:
        job = client.job(name, namespace)
        job.stop()
        if should_wait:
            job.wait()
        return "stopped"
    client.delete(*target)
    if should_wait:
        _wait_until_deleted(client, target)
    return "deleted" if should_wait or not _exists(client, target) else DELETING


def _targets_by_name(kind: str | None, names: list[str], namespace: str) -> list[Target]:
    if kind is not None and not names:
        raise typer.BadParameter(f"no name given; name the {kind} to delete", param_hint="NAME")
    return [(kind_of(kind, "delete", name), name, namespace) for name in names] if kind is not None else []


def _targets_from_files(files: list[str], namespace: str) -> list[Target]:
    """The last document first: later documents may use earlier ones."""
    documents = expand_lists([document for file in files for document in read_file(file)])
    return [_target(document, namespace) for document in reversed(documents)]


def _target(document: Manifest, namespace: str) -> Target:
    metadata = document.get("metadata")
    if not isinstance(metadata, dict) or not isinstance(metadata.get("name"), str):
        raise Invalid([Problem("metadata.name", "is missing", fix="add the name of the object")])
    kind, spec = str(document.get("kind")), document.get("spec")
    if kind == JOB:
        kind = TEMPLATE if isinstance(spec, dict) and spec.keys() & TEMPLATE_FIELDS else JOB
    else:
        kind = kind_of(kind)
    return kind, metadata["name"], metadata.get("namespace") or namespace


def _wait_until_deleted(client: Client, target: Target) -> None:
    """Wait, with a notice if it takes longer than a moment."""
    notice_at = time.monotonic() + NOTICE_AFTER_S
    while _exists(client, target):
        if time.monotonic() >= notice_at:
            print_notice(f"waiting for {target[0]} {target[1]}: it is deleted when its running tasks have ended")
            notice_at = math.inf
        time.sleep(POLL_INTERVAL_S)


def _exists(client: Client, target: Target) -> bool:
    try:
        client.get(*target)
    except NotFound:
        return False
    return True
