"""The commands about queues: queues; queue show, set, pause, resume, purge, delete."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from shunter.cli.completion import complete_queues
from shunter.cli.connection import open_client
from shunter.cli.options import Format, Output
from shunter.cli.registry import SingleObjectGroup, plain_typer
from shunter.cli.render.tables import DELETED, Column, plural, print_document, print_items, print_result, print_table
from shunter.cli.text import print_text
from shunter.model.errors import Invalid, NotFound, Problem
from shunter.model.rest.admin_views import QueueView
from shunter.sdk.client import Client

queue = plain_typer(
    cls=SingleObjectGroup,
    no_args_is_help=True,
    help="Show, limit, pause, purge or delete a queue.\n\n\b\nshunter queue set film --running-max 10",
)
Name = Annotated[str, typer.Argument(metavar="QUEUE", help="Name of the queue.", autocompletion=complete_queues)]


def queues(output: Output = Format.TABLE) -> None:
    """List queues with their queued tasks, running tasks and rules.

    A job names its queue in its manifest (queue: film) or with `run --queue`. Otherwise it is in the queue `default`.

    \b
    shunter queues
    """
    with open_client() as client:
        found = client.queues()
    if output is not Format.TABLE:
        print_items(found, output)
        return
    titles = ["NAME", "STATE", "QUEUED", "RUNNING", "RUNNING MAX", "QUEUED MAX", "ORDER"]
    left = ("NAME", "STATE", "ORDER")
    columns = [Column(title, title not in left, drop=title == "ORDER") for title in titles]
    print_table(columns, map(_row, found), state_column=1)


@queue.command("show")
def show(name: Name, output: Output = Format.TABLE) -> None:
    """Show one queue.

    \b
    shunter queue show film
    """
    with open_client() as client:
        _print(client.queue(name), output)


@queue.command("set")
def change(
    name: Name,
    running_max: Annotated[
        int | None,
        typer.Option("--running-max", min=0, metavar="N", help="Maximum number of running tasks; 0 means no limit."),
    ] = None,
    queued_max: Annotated[
        int | None,
        typer.Option(
            "--queued-max",
            min=0,
            metavar="N",
            help="Maximum number of queued tasks; more are rejected. 0 means no limit.",
        ),
    ] = None,
    strict: Annotated[
        bool | None,
        typer.Option("--strict/--fair", help="Start jobs strictly in the order of submission, or share fairly."),
    ] = None,
    output: Output = Format.TABLE,
) -> None:
    """Set rules of a queue. Rules that are not given do not change.

    \b
    shunter queue set film --running-max 10 --queued-max 1000
    shunter queue set night --strict
    """
    rules: dict[str, Any] = {"running_max": running_max, "queued_max": queued_max, "strict": strict}
    if all(value is None for value in rules.values()):
        fix = "give --running-max, --queued-max, --strict or --fair"
        raise Invalid([Problem("set", "no rule is given", fix=fix)])
    with open_client() as client:
        _print(client.update_queue(name, rules), output)


@queue.command("pause")
def pause(name: Name, output: Output = Format.TABLE) -> None:
    """Pause a queue: no new tasks start. Running tasks continue, queued tasks stay queued.

    \b
    shunter queue pause film
    """
    with open_client() as client:
        _require_known(client, name)
        found = client.update_queue(name, {"paused": True})
    print_result(f"{found.name} paused: {found.queued:,} queued, {found.running:,} running", found, output)


@queue.command("resume")
def resume(name: Name, output: Output = Format.TABLE) -> None:
    """Resume a paused queue.

    \b
    shunter queue resume film
    """
    with open_client() as client:
        _require_known(client, name)
        found = client.update_queue(name, {"paused": False})
    print_result(f"{found.name} resumed: {found.queued:,} queued, {found.running:,} running", found, output)


@queue.command("purge")
def purge(name: Name, output: Output = Format.TABLE) -> None:
    """Cancel all queued tasks of a queue. Running tasks continue.

    \b
    shunter queue purge film
    """
    with open_client() as client:
        _require_known(client, name)
        count = client.purge_queue(name)
    print_result(f"{name} purged: {plural(count, 'task')} cancelled", {"name": name, "count": count}, output)


@queue.command("delete")
def delete(name: Name, output: Output = Format.TABLE) -> None:
    """Delete the rules of a queue. Its tasks stay, and may start.

    \b
    shunter queue delete film
    """
    with open_client() as client:
        client.delete_queue(name)
    print_result(f"rules of {name} removed; its tasks continue", {"name": name, "action": DELETED}, output)


def _require_known(client: Client, name: str) -> None:
    """Every name may be a queue, so a mistyped one would do nothing. Raises NotFound."""
    if all(each.name != name for each in client.queues()):
        fix = f"`shunter queues` lists all; `shunter queue set {name}` makes it"
        raise NotFound(f"queue '{name}' does not exist; {fix}")


def _print(found: QueueView, output: Format) -> None:
    if output is not Format.TABLE:
        print_document(found, output)
        return
    rules = [f"at most {found.running_max:,} running"] if found.running_max else []
    rules += [f"at most {found.queued_max:,} queued"] if found.queued_max else []
    rules += ["strict order"] if found.strict else []
    rules += ["paused"] if found.paused else []
    counts = f"{found.queued:,} queued, {found.running:,} running"
    print_text(f"{found.name}: {counts}; {', '.join(rules) or 'no rules'}")


def _row(view: QueueView) -> list[str]:
    return [
        view.name,
        "paused" if view.paused else "open",
        f"{view.queued:,}",
        f"{view.running:,}",
        f"{view.running_max:,}" if view.running_max else "-",
        f"{view.queued_max:,}" if view.queued_max else "-",
        "strict" if view.strict else "fair",
    ]
