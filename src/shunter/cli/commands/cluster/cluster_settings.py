"""The commands cluster and cluster set."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from shunter.cli.commands.cluster.nodes import share
from shunter.cli.connection import open_client
from shunter.cli.options import Format, Output, pairs
from shunter.cli.registry import plain_typer
from shunter.cli.render.tables import age, format_counts, print_document, print_facts
from shunter.model.job.spec import LICENCE_PREFIX
from shunter.model.rest.cluster_views import ClusterInfo

NO_LICENCE = "none"

cluster = plain_typer(invoke_without_command=True)


@cluster.callback()
def show(context: typer.Context, output: Output = Format.TABLE) -> None:
    """Show the cluster: its nodes, jobs, resources and settings. Or change settings while it runs.

    \b
    shunter cluster
    shunter cluster set heartbeat=2s
    """
    if context.invoked_subcommand is None:
        with open_client() as client:
            _print(client.cluster(), output)


@cluster.command("set")
def change(
    settings: Annotated[
        list[str],
        typer.Argument(
            metavar="KEY=VALUE...",
            help="heartbeat: duration or auto. preemption: 1 to 100, off or auto. reserve_after, hold_after: duration, "
            "off or auto. licence/NAME: count or none. policy, fallback: name of a policy. lease: duration or auto. "
            "flight: on or off.",
        ),
    ],
    output: Output = Format.TABLE,
) -> None:
    """Change settings of the running cluster.

    Settings survive restarts and override config.toml.

    preemption: how much higher the priority of a task must be to preempt other tasks. reserve_after: how long a task
    waits before it gets a reservation. hold_after: how long a task waits, if the end of running tasks is unknown,
    before room is held for it. licence/NAME: number of licences in the cluster, which tasks request as resources
    (run --resource licence/matlab=1). lease: how long an external scheduler may be silent before the fallback policy
    takes over.

    \b
    shunter cluster set heartbeat=2s
    shunter cluster set heartbeat=auto        choose it by the number of nodes
    shunter cluster set preemption=off        preempt no tasks
    shunter cluster set reserve_after=5m      let smaller tasks overtake for up to 5 minutes
    shunter cluster set licence/matlab=5      let at most 5 tasks use it at once
    shunter cluster set licence/matlab=none   remove it
    shunter cluster set policy=remote:mine fallback=bin-pack lease=5s
    shunter cluster set flight=off            record no decisions
    """
    with open_client() as client:
        _print(client.update_cluster(_patch(pairs(settings, "set"))), output)


def _patch(settings: dict[str, str]) -> dict[str, Any]:
    """The body of the request. The cluster rejects values that are not numbers."""
    patch: dict[str, Any] = {key: value for key, value in settings.items() if not key.startswith(LICENCE_PREFIX)}
    licences = {
        key.removeprefix(LICENCE_PREFIX): None if value == NO_LICENCE else int(value) if value.isdecimal() else value
        for key, value in settings.items()
        if key.startswith(LICENCE_PREFIX)
    }
    return patch | ({"licences": licences} if licences else {})


def _print(found: ClusterInfo, output: Format) -> None:
    if output is not Format.TABLE:
        print_document(found, output)
        return
    facts = [
        ("up", f"{age(found.started_at)}, since {found.started_at}"),
        ("nodes", format_counts(found.nodes)),
        ("jobs", format_counts(found.jobs)),
        ("tasks", format_counts(found.tasks)),
        ("reserved", ", ".join(f"{name} {share(found, name)}" for name in found.capacity)),
        ("licences", ", ".join(f"{name} {each.used} of {each.total} used" for name, each in found.licences.items())),
        ("policy", found.policy),
        ("preemption", found.preemption),
        ("reserve after", found.reserve_after),
        ("hold after", found.hold_after),
        ("fallback", found.fallback),
        ("lease", found.lease),
        ("flight recorder", found.flight),
        ("heartbeat", f"every {round(found.heartbeat_s, 2):g} s"),
    ]
    print_facts(f"{found.name}, version {found.version}" + (", simulated" if found.simulated else ""), facts)
