"""Arguments of the commands about Testbeds, BatchJobs and Schedulings: kinds and names, with shell completion."""

from __future__ import annotations

import os
from typing import Annotated

import typer

from shunter.cli.completion import COMPLETIONS_MAX
from shunter.model.errors import Invalid, Problem, ShunterError
from shunter.model.objects.objects import KINDS, PLURALS, TESTBED

# Kinds that users of kubectl may try here; each has its own command.
OTHER_COMMANDS = {
    "job": {"list": "jobs", "show": "job {name}", "delete": "stop {name}", "edit": "submit"},
    "node": {"list": "nodes", "show": "node show {name}", "edit": "node label {name}"},
    "event": {"list": "events"},
    "queue": {
        "list": "queues",
        "show": "queue show {name}",
        "delete": "queue delete {name}",
        "edit": "queue set {name}",
    },
}
KIND_HELP = "testbed (tb), batchjob (bj) or scheduling (sched)."


def complete_kinds(incomplete: str) -> list[str]:
    return [word for word in (*map(str.lower, KINDS), *PLURALS) if word.startswith(incomplete.lower())]


def complete_objects(ctx: typer.Context, incomplete: str) -> list[str]:
    """Names of objects of the kind typed before."""
    return _names(ctx.params.get("kind"), incomplete)


def complete_testbeds(incomplete: str) -> list[str]:
    return _names(TESTBED, incomplete)


def _names(kind: str | None, incomplete: str) -> list[str]:
    from shunter.sdk.client import connect

    try:
        with connect(namespace=os.environ.get("SHUNTER_NAMESPACE", "default"), patience_s=0) as client:
            names = [each.name for each in client.objects(kind)]
            return [name for name in names if name.startswith(incomplete)][:COMPLETIONS_MAX]
    except ShunterError:
        return []


Kind = Annotated[str, typer.Argument(metavar="KIND", help=KIND_HELP, autocompletion=complete_kinds)]
AnyKind = Annotated[
    str | None, typer.Argument(metavar="[KIND", help=KIND_HELP + " Default: all.", autocompletion=complete_kinds)
]
Name = Annotated[str, typer.Argument(metavar="NAME", help="Name of the object.", autocompletion=complete_objects)]
AnyName = Annotated[
    str | None, typer.Argument(metavar="[NAME]", help="Name of one object.", autocompletion=complete_objects)
]
NameOfKind = Annotated[  # after AnyKind, whose bracket it closes
    str | None, typer.Argument(metavar="[NAME]]", help="Name of one object.", autocompletion=complete_objects)
]


def kind_of(word: str, action: str = "list", name: str | None = None) -> str:
    """The kind with this name. Raises Invalid, with the closest match or the right command to list, show, edit or
    delete it."""
    from shunter.model.objects.object_manifests import parse_kind

    commands = OTHER_COMMANDS.get(word.lower().removesuffix("s"))
    if commands is not None:
        command = commands.get(action, commands["list"]).format(name=name or "NAME")
        raise Invalid([Problem("KIND", "has its own command", word, f"use: shunter {command}")])
    return parse_kind(word, "KIND")
