"""The command `events`: past and live events."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from functools import partial
from typing import Annotated

import msgspec
import typer

from shunter.cli.completion import complete_jobs
from shunter.cli.connection import open_client
from shunter.cli.options import Format, Limit, Output
from shunter.cli.render.tables import Column, print_items, print_table
from shunter.model.rest.cluster_views import EventView

EVENTS_SHOWN = 100


def events(
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Print events as they happen, until Ctrl-C.")] = False,
    job: Annotated[
        str | None, typer.Option(metavar="JOB", help="Show only events of this job.", autocompletion=complete_jobs)
    ] = None,
    after: Annotated[
        str | None, typer.Option(metavar="ID", help="Show only events after this one: 42 or 42-3.")
    ] = None,
    limit: Limit = EVENTS_SHOWN,
    namespace: Annotated[
        str | None,
        typer.Option("--namespace", "-n", metavar="NAME", help="Show only events of this namespace. Default: all."),
    ] = None,
    output: Output = Format.TABLE,
) -> None:
    """Print the latest events, oldest first. With --follow, print new events as they happen.

    \b
    shunter events --job render
    shunter events --follow --output json     print one JSON object per line
    shunter events --follow --after 42-3      continue after event 42-3
    """
    with open_client() as client:
        fetch = partial(client.events, job=job, namespace=namespace)
        if follow:
            _print_live(fetch(after=after, follow=True), output)
            return
        if after is not None or not limit:
            found = list(fetch(after=after, limit=limit or None))
        else:
            found = list(fetch(newest_first=True, limit=limit))[::-1]
    if output is not Format.TABLE:
        print_items(found, output)
    else:
        columns = [Column("ID", drop=2), Column("TIME", drop=1), Column("EVENT"), Column("NAME"), Column("DETAILS")]
        print_table(columns, map(_row, found))


def _print_live(found: Iterator[EventView], output: Format) -> None:
    for event in found:
        if output is Format.TABLE:
            print("  ".join(filter(None, _row(event))), flush=True)
        else:
            sys.stdout.write(msgspec.json.encode(event).decode() + "\n")
            sys.stdout.flush()


def _row(event: EventView) -> list[str]:
    facts = [
        event.state,
        f"tasks {event.tasks}" if event.tasks is not None and event.job else None,
        f"on {event.node}" if event.node and event.node != event.name else None,
        f"attempt {event.attempt}" if event.attempt is not None else None,
        f"exit code {event.exit_code}" if event.exit_code is not None else None,
        event.reason,
    ]
    return [event.id, event.at, event.type, event.name, ", ".join(fact for fact in facts if fact)]
