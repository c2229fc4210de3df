"""The commands for Testbeds, BatchJobs and Schedulings: apply, get, delete, watch; batchjob reset."""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Iterator
from datetime import datetime
from functools import partial
from typing import Annotated

import msgspec
import typer

from shunter.cli.commands import plain_typer
from shunter.cli.connection import open_client
from shunter.cli.exits import DONE, JOB_FAILED, WRONG_USE, tell
from shunter.cli.holders import ACQUIRE_STATE, ended_holders, jobs_of_it, what_it_keeps
from shunter.cli.last_words import last_words
from shunter.cli.manifest_files import located, places_of, read_file, read_files
from shunter.cli.object_options import AnyKind, AnyName, Kind, complete_objects, kind_of
from shunter.cli.object_tables import line_of, print_objects, print_past, state_of
from shunter.cli.options import Format, Namespace, Output
from shunter.cli.printing import coloured, print_document, print_items, telling
from shunter.cli.submit import wait_for_runs
from shunter.model.errors import Conflict, Invalid, NotFound, Problem
from shunter.model.jobs import NAMESPACE_DEFAULT
from shunter.model.object_views import AppliedView, ObjectView, WatchLine
from shunter.sdk.client import Client
from shunter.sdk.manifests import Manifest
from shunter.sdk.objects import ALL_NAMESPACES, document_of, unfold

LOOK_EVERY_S = 0.2
TELL_AFTER_S = 2.0
DELETING = "deleting"
DONE_STATES = ("CompletedState", "FinishedState")
FAILED_STATE = "FailedState"
JOB, TEMPLATE = "Job", "Template"
TEMPLATE_FIELDS = {"schedule", "parameters"}  # of a Job that is kept, for a clock or dispatches to run

batchjob = plain_typer(no_args_is_help=True)

Files = Annotated[
    list[str],
    typer.Option("--file", "-f", metavar="FILE", help="YAML or JSON, any documents; - reads stdin. May be repeated."),
]


def apply(
    files: Files,
    wait: Annotated[
        bool, typer.Option("--wait", help="Wait until its Schedulings and Jobs are done; code 1 if one fails.")
    ] = False,
    namespace: Namespace = NAMESPACE_DEFAULT,
    output: Output = Format.TABLE,
) -> None:
    """Apply manifests of Testbeds, BatchJobs, Schedulings and Jobs: all of them, or none if one is refused.

    What is not there is created, what says something else is changed, the rest stays as it is. A manifest that names a
    resourceVersion is refused if the object was changed since. Jobs are submitted, in the same step.

    \b
    shunter apply -f testbed.yaml
    shunter apply -f jobs.yaml -f scheduling.yaml --wait
    shunter get testbed bench -o yaml | shunter apply -f -
    """
    found = [(file, unfold(documents)) for file, documents in read_files(files)]
    with open_client(namespace) as client:
        try:
            applied = client.apply([document for _, documents in found for document in documents])
        except Invalid as error:
            raise Invalid(located(error.problems, places_of(found))) from error
        if output is not Format.TABLE:
            print_items(applied, output)
        else:
            for each in applied:
                _tell_applied(each, namespace)
        if wait:
            codes = [_wait_for(client, each) for each in applied]
            runs = [each.job for each in applied if each.job is not None and each.job.run]
            raise typer.Exit(max([*codes, wait_for_runs(client, runs)]))


def _tell_applied(applied: AppliedView, namespace: str) -> None:
    name = applied.name if applied.namespace == namespace else f"{applied.namespace}/{applied.name}"
    print(applied.kind, name, applied.action, flush=True)
    for line in applied.object.status.get("unusedFields", []) if applied.object else []:
        tell(f"{name}: {line}")


def _wait_for(client: Client, applied: AppliedView) -> int:
    """Until a Scheduling is completed or has failed; comes to the exit code. Others have no end."""
    if applied.kind != "Scheduling" or applied.object is None:
        return DONE
    _tell_waiting(client, applied.object)
    for found in _seen(client, applied.object):
        if found.type == "DELETED":
            tell(f"{applied.name} was deleted")
            return JOB_FAILED
        state = state_of(found.object)
        if state in DONE_STATES:
            return DONE
        if state == FAILED_STATE:
            tell(f"{applied.name} failed: {'; '.join(found.object.status.get('problems', []))}")
            for job in jobs_of_it(client, found.object):
                if words := last_words(client, job):
                    tell("\n  ".join(words))
            return JOB_FAILED
    raise AssertionError("a watch has no end")


def _tell_waiting(client: Client, each: ObjectView) -> None:
    """If it cannot start at once: for whom or what it waits, and who must be deleted for that."""
    if state_of(each) == ACQUIRE_STATE and each.status.get("waitsFor"):
        tell(f"{each.name} waits for {each.status['waitsFor']}")
        for other in ended_holders(client, each):
            tell(f"{other.name} has ended; {what_it_keeps(other)}")


def _seen(client: Client, each: ObjectView) -> Iterator[WatchLine]:
    return client.watch(each.kind, each.name, each.namespace, present=True)


def get(
    kind: Kind,
    name: AnyName = None,
    past: Annotated[bool, typer.Option("--past", help="Deleted Schedulings, and what they did.")] = False,
    namespace: Namespace = NAMESPACE_DEFAULT,
    output: Output = Format.TABLE,
) -> None:
    """List Testbeds, BatchJobs or Schedulings, or show one in a line. Namespace '*' means all.

    As YAML or JSON it is all that is known of them, and can be applied again.

    \b
    shunter get testbeds
    shunter get bj spark-crawler -o yaml
    shunter get schedulings --past
    """
    found_kind = kind_of(kind)
    with open_client(namespace) as client:
        if past:
            _get_past(client, found_kind, name, output)
            return
        found = client.objects(found_kind) if name is None else [client.get(found_kind, name)]
    if output is Format.TABLE:
        print_objects(found_kind, found, spaces=namespace == ALL_NAMESPACES)
    elif name is not None:
        print_document(document_of(found[0]), output)
    else:
        print_items(map(document_of, found), output)


def _get_past(client: Client, kind: str, name: str | None, output: Format) -> None:
    if kind != "Scheduling":
        raise Invalid([Problem("--past", "is for schedulings only", kind, "use: shunter get schedulings --past")])
    found = client.past_schedulings(name)
    if output is Format.TABLE:
        print_past(found)
    else:
        print_items(found, output)


def delete(
    kind: Annotated[str | None, typer.Argument(metavar="[KIND", help="testbed, batchjob or scheduling.")] = None,
    names: Annotated[
        list[str] | None,
        typer.Argument(metavar="NAME...]", help="Names of the objects.", autocompletion=complete_objects),
    ] = None,
    files: Annotated[
        list[str] | None, typer.Option("--file", "-f", metavar="FILE", help="Delete what this file describes.")
    ] = None,
    wait: Annotated[bool, typer.Option("--wait", help="Wait until they are gone.")] = False,
    namespace: Namespace = NAMESPACE_DEFAULT,
    output: Output = Format.TABLE,
) -> None:
    """Delete Testbeds, BatchJobs or Schedulings. What they hold is released first. Those of a file go one by one.

    Deleting a Scheduling ends its applications; its jobs are ready again once all processes are gone. A Testbed in use
    goes when its executors have ended. Jobs of a file are stopped; those that a clock or dispatches run are forgotten.

    \b
    shunter delete scheduling first
    shunter delete -f scheduling.yaml
    """
    targets = _named(kind, names or [], namespace) + _described(files or [], namespace)
    if not targets:
        raise typer.BadParameter("name what to delete, like: shunter delete scheduling first", param_hint="KIND NAME")
    code = DONE
    with open_client(namespace) as client, telling(output) as tell_of:
        for target in targets:
            try:
                outcome = _delete(client, target, wait or bool(files))
            except (NotFound, Conflict) as error:
                tell(f"error: {error.detail}")
                code = WRONG_USE
                continue
            document = dict(zip(("kind", "name", "namespace", "action"), (*target, outcome), strict=True))
            until = "; it goes when what runs in it has ended" if outcome == DELETING else ""
            tell_of(f"{target[0]} {target[1]} {outcome}{until}", partial(dict, document))
    raise typer.Exit(code)


Target = tuple[str, str, str]  # kind, name, namespace


def _delete(client: Client, target: Target, waits: bool) -> str:
    """What comes next in a file is used by what has just been asked to go, so that is waited for."""
    kind, name, namespace = target
    if kind == TEMPLATE:
        with open_client(namespace) as there:
            there.delete_template(name)
        return "deleted"
    if kind == JOB:
        job = client.job(name, namespace)
        job.stop()
        if waits:
            job.wait()
        return "stopped"
    client.delete(*target)
    if waits:
        _wait_until_gone(client, target)
    return "deleted" if waits or not _is_there(client, target) else DELETING


def _named(kind: str | None, names: list[str], namespace: str) -> list[Target]:
    if kind is not None and not names:
        raise typer.BadParameter(f"name which {kind} to delete", param_hint="NAME")
    return [(kind_of(kind), name, namespace) for name in names] if kind is not None else []


def _described(files: list[str], namespace: str) -> list[Target]:
    """The last document first: what stands later may use what stands before it."""
    documents = unfold([document for file in files for document in read_file(file)])
    return [_target(document, namespace) for document in reversed(documents)]


def _target(document: Manifest, namespace: str) -> Target:
    metadata = document.get("metadata")
    if not isinstance(metadata, dict) or not isinstance(metadata.get("name"), str):
        raise Invalid([Problem("metadata.name", "is missing", fix="add name")])
    kind, spec = str(document.get("kind")), document.get("spec")
    if kind == JOB:
        kind = TEMPLATE if isinstance(spec, dict) and spec.keys() & TEMPLATE_FIELDS else JOB
    else:
        kind = kind_of(kind)
    return kind, metadata["name"], metadata.get("namespace") or namespace


def _wait_until_gone(client: Client, target: Target) -> None:
    """What takes longer than a moment is told, so that nobody wonders."""
    tells_at = time.monotonic() + TELL_AFTER_S
    while _is_there(client, target):
        if time.monotonic() >= tells_at:
            tell(f"{target[0]} {target[1]} goes when what runs in it has ended; this waits for it")
            tells_at = math.inf
        time.sleep(LOOK_EVERY_S)


def _is_there(client: Client, target: Target) -> bool:
    try:
        client.get(*target)
    except NotFound:
        return False
    return True


def watch(
    kind: AnyKind = None,
    name: AnyName = None,
    after: Annotated[
        int | None, typer.Option(metavar="VERSION", min=0, help="Changes behind this resourceVersion only.")
    ] = None,
    namespace: Namespace = NAMESPACE_DEFAULT,
    output: Output = Format.TABLE,
) -> None:
    """Watch Testbeds, BatchJobs and Schedulings change, until Ctrl-C: first what is there, then each change.

    It goes on by itself when the cluster restarts. Namespace '*' means all.

    \b
    shunter watch
    shunter watch schedulings
    shunter watch testbed bench --output json     one JSON object a line
    """
    with open_client(namespace) as client:
        lines = client.watch(None if kind is None else kind_of(kind), name, after=after, present=after is None)
        for line in lines:
            if output is Format.TABLE:
                print(_live(line, spaces=namespace == ALL_NAMESPACES), flush=True)
            else:
                sys.stdout.write(msgspec.json.encode({"type": line.type, "object": line.object}).decode() + "\n")
                sys.stdout.flush()


def _live(line: WatchLine, *, spaces: bool) -> str:
    each = line.object
    name = f"{each.namespace}/{each.name}" if spaces else each.name
    state = coloured(state_of(each))
    now = datetime.now().astimezone().strftime("%H:%M:%S")
    return f"{now}  {line.type:<8}  {each.kind:<10}  {name}  {state}  {line_of(each)}".rstrip()


@batchjob.callback()
def _batchjob() -> None:
    """Step in on BatchJobs.

    \b
    shunter batchjob reset spark-crawler
    """


@batchjob.command("reset")
def reset(
    names: Annotated[list[str], typer.Argument(metavar="NAME...", help="Failed BatchJobs.")],
    namespace: Namespace = NAMESPACE_DEFAULT,
    output: Output = Format.TABLE,
) -> None:
    """Bring failed BatchJobs back to Ready, once what made them fail is mended.

    A job that a Scheduling still claims is released by deleting the Scheduling. One that has not failed stays as it is.

    \b
    shunter batchjob reset spark-crawler
    """
    with open_client(namespace) as client, telling(output) as tell_of:
        for name in names:
            before, found = client.get("BatchJob", name), client.reset(name)
            said = " already: nothing to reset" if found.resource_version == before.resource_version else ""
            tell_of(f"{name} is {state_of(found)}{said}", partial(document_of, found))
