"""The commands about the cluster as a whole: cluster, cluster set."""

from __future__ import annotations

from typing import Annotated

import typer

from shunter.cli.commands import plain_typer
from shunter.cli.connection import open_client
from shunter.cli.nodes import share
from shunter.cli.options import Format, Output, pairs
from shunter.cli.printing import age, counted, print_document, print_facts
from shunter.model.views import ClusterInfo

cluster = plain_typer(invoke_without_command=True)


@cluster.callback()
def show(context: typer.Context, output: Output = Format.TABLE) -> None:
    """Show the whole cluster: its nodes, work, resources and settings. Or change settings while it runs.

    \b
    shunter cluster
    shunter cluster set heartbeat=2s
    """
    if context.invoked_subcommand is None:
        with open_client() as client:
            _print(client.cluster(), output)


@cluster.command("set")
def change(
    settings: Annotated[list[str], typer.Argument(metavar="KEY=VALUE...", help="heartbeat: a time like 2s, or auto.")],
    output: Output = Format.TABLE,
) -> None:
    """Change settings of the running cluster. They hold until its manager restarts; config.toml holds for good.

    \b
    shunter cluster set heartbeat=2s
    shunter cluster set heartbeat=auto     follow the number of nodes again
    """
    with open_client() as client:
        _print(client.update_cluster(pairs(settings, "set")), output)


def _print(found: ClusterInfo, output: Format) -> None:
    if output is not Format.TABLE:
        print_document(found, output)
        return
    facts = [
        ("up", f"{age(found.started_at)}, since {found.started_at}"),
        ("nodes", counted(found.nodes)),
        ("jobs", counted(found.jobs)),
        ("tasks", counted(found.tasks)),
        ("reserved", ", ".join(f"{name} {share(found, name)}" for name in found.capacity)),
        ("policy", found.policy),
        ("heartbeat", f"every {found.heartbeat_s:g} s"),
    ]
    print_facts(f"{found.name}, version {found.version}" + (", simulated" if found.simulated else ""), facts)
