"""The commands get, watch and batchjob reset, for Testbeds, BatchJobs and Schedulings."""

from __future__ import annotations

import sys
from datetime import datetime
from functools import partial
from typing import Annotated

import msgspec
import typer

from shunter.cli.commands.objects.object_options import AnyKind, AnyName, Kind, NameOfKind, kind_of
from shunter.cli.connection import open_client
from shunter.cli.options import Format, Namespace, Output
from shunter.cli.registry import plain_typer
from shunter.cli.render.object_tables import print_objects, print_past, state_of, summary_line
from shunter.cli.render.tables import coloured, print_document, print_items, report_each
from shunter.model.errors import Invalid, Problem
from shunter.model.job.spec import NAMESPACE_DEFAULT
from shunter.model.rest.object_views import WatchLine
from shunter.sdk.calls.objects import ALL_NAMESPACES, document_of
from shunter.sdk.client import Client

batchjob = plain_typer(no_args_is_help=True)


def get(
    kind: Kind,
    name: AnyName = None,
    past: Annotated[bool, typer.Option("--past", help="List deleted Schedulings with their results.")] = False,
    namespace: Namespace = NAMESPACE_DEFAULT,
    output: Output = Format.TABLE,
) -> None:
    """List Testbeds, BatchJobs or Schedulings, or show one of them. Namespace '*' means all.

    YAML and JSON output contains the whole object, and can be applied again.

    \b
    shunter get testbeds
    shunter get bj spark-crawler -o yaml
    shunter get schedulings --past
    """
    found_kind = kind_of(kind, "list" if name is None else "show", name)
    with open_client(namespace) as client:
        if past:
            _get_past(client, found_kind, name, output)
            return
        found = client.objects(found_kind) if name is None else [client.get(found_kind, name)]
    if output is Format.TABLE:
        print_objects(found_kind, found, show_namespace=namespace == ALL_NAMESPACES)
    elif name is not None:
        print_document(document_of(found[0]), output)
    else:
        print_items(map(document_of, found), output)


def _get_past(client: Client, kind: str, name: str | None, output: Format) -> None:
    if kind != "Scheduling":
        raise Invalid([Problem("--past", "works only for schedulings", kind, "use: shunter get schedulings --past")])
    found = client.past_schedulings(name)
    if output is Format.TABLE:
        print_past(found)
    else:
        print_items(found, output)


def watch(
    kind: AnyKind = None,
    name: NameOfKind = None,
    after: Annotated[
        int | None, typer.Option(metavar="VERSION", min=0, help="Show only changes after this resourceVersion.")
    ] = None,
    namespace: Namespace = NAMESPACE_DEFAULT,
    output: Output = Format.TABLE,
) -> None:
    """Watch Testbeds, BatchJobs and Schedulings: print each object, then each change, until Ctrl-C.

    The command reconnects if the cluster restarts. Namespace '*' means all.

    \b
    shunter watch
    shunter watch schedulings
    shunter watch testbed bench --output json     print one JSON object per line
    """
    with open_client(namespace) as client:
        lines = client.watch(None if kind is None else kind_of(kind), name, after=after, present=after is None)
        for line in lines:
            if output is Format.TABLE:
                print(_live(line, show_namespace=namespace == ALL_NAMESPACES), flush=True)
            else:
                sys.stdout.write(msgspec.json.encode({"type": line.type, "object": line.object}).decode() + "\n")
                sys.stdout.flush()


def _live(line: WatchLine, *, show_namespace: bool) -> str:
    each = line.object
    name = f"{each.namespace}/{each.name}" if show_namespace else each.name
    state = coloured(state_of(each))
    now = datetime.now().astimezone().strftime("%H:%M:%S")
    return f"{now}  {line.type:<8}  {each.kind:<10}  {name}  {state}  {summary_line(each)}".rstrip()


@batchjob.callback()
def _batchjob() -> None:
    """Reset failed BatchJobs.

    \b
    shunter batchjob reset spark-crawler
    """


@batchjob.command("reset")
def reset(
    names: Annotated[list[str], typer.Argument(metavar="NAME...", help="Names of failed BatchJobs.")],
    namespace: Namespace = NAMESPACE_DEFAULT,
    output: Output = Format.TABLE,
) -> None:
    """Set failed BatchJobs back to Ready, after you fixed the cause of the failure.

    To release a BatchJob that a Scheduling still claims, delete the Scheduling. A BatchJob that has not failed does not
    change.

    \b
    shunter batchjob reset spark-crawler
    """
    with open_client(namespace) as client, report_each(output) as report:
        for name in names:
            before, found = client.get("BatchJob", name), client.reset(name)
            note = ": nothing to reset" if found.resource_version == before.resource_version else ""
            report(f"{name} is {state_of(found)}{note}", partial(document_of, found))
