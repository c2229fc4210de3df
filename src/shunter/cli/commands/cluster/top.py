"""The command `top`: an overview of the cluster, refreshed every second. One of two modules that use rich."""

from __future__ import annotations

import select
import signal
import sys
import termios
import tty
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, NoReturn

import typer

from shunter.cli.commands.cluster.nodes import format_quantity, visible_node_state
from shunter.cli.commands.jobs.jobs import describe_command, format_done
from shunter.cli.connection import open_client
from shunter.cli.exit_codes import SIGNALLED
from shunter.cli.render.tables import COLOURS, age, format_counts
from shunter.cli.text import on_terminal
from shunter.model.resources import parse_amount
from shunter.model.rest.cluster_views import ClusterInfo
from shunter.model.rest.job_views import JobView
from shunter.model.rest.node_views import NodeView
from shunter.sdk.client import Client

if TYPE_CHECKING:
    from rich.console import Group, RenderableType
    from rich.table import Table

JOBS_SHOWN = 20
NODES_SHOWN = 20
UNFINISHED = ("running", "stopping", "pending")
RICH_COLOURS = {"32": "green", "36": "cyan", "31": "red", "33": "yellow", "2": "dim"}
BAR_WIDTH = 30


def top(
    every: Annotated[float, typer.Option(min=0.1, metavar="SECONDS", help="Refresh interval.")] = 1.0,
    namespace: Annotated[
        str, typer.Option("--namespace", "-n", metavar="NAME", help="Namespace of the jobs; * means all.")
    ] = "*",
) -> None:
    """Watch resources, nodes and unfinished jobs of the cluster. Press q or Ctrl-C to quit.

    If the output is not a terminal, print it once.

    \b
    shunter top
    shunter top --every 5
    """
    from rich.console import Console
    from rich.live import Live

    with open_client(namespace) as client:
        if not (on_terminal(sys.stdout) and sys.stdin.isatty()):
            Console().print(_render(client))
            return
        with _raw_key_input(), Live(_render(client), screen=True, auto_refresh=False) as live:
            while not _key_pressed("q", every):
                live.update(_render(client), refresh=True)


@contextmanager
def _raw_key_input() -> Iterator[None]:
    """Read keys as they are pressed, without waiting for a line, and do not echo them."""
    before = termios.tcgetattr(sys.stdin)
    signal.signal(signal.SIGTERM, _exit)
    tty.setcbreak(sys.stdin)
    try:
        yield
    except KeyboardInterrupt:
        pass
    finally:
        termios.tcsetattr(sys.stdin, termios.TCSADRAIN, before)


def _exit(number: int, _: object) -> NoReturn:
    """Without a handler, the signal would end the process before the terminal is as it was."""
    raise SystemExit(SIGNALLED + number)


def _key_pressed(key: str, within_s: float) -> bool:
    readable_streams, _, _ = select.select([sys.stdin], [], [], within_s)
    return bool(readable_streams) and sys.stdin.read(1) == key


def _render(client: Client) -> Group:
    from rich.console import Group

    jobs = [job.view for job in client.jobs(states=UNFINISHED, limit=JOBS_SHOWN)]
    parts: list[RenderableType] = [_summary(client.cluster()), "", _nodes(client.nodes()), "", _jobs(jobs)]
    return Group(*parts)


def _summary(cluster: ClusterInfo) -> Table:
    from rich.table import Table

    title = f"{cluster.name}: up {age(cluster.started_at)}, policy {cluster.policy}, version {cluster.version}"
    head = Table.grid(padding=(0, 2))
    head.add_row("cluster", title + (", simulated" if cluster.simulated else ""))
    head.add_row("nodes", format_counts(cluster.nodes))
    head.add_row("jobs", format_counts(cluster.jobs))
    head.add_row("tasks", format_counts(cluster.tasks))
    for resource, capacity in cluster.capacity.items():
        reserved = format_quantity(resource, cluster.reserved.get(resource, "0"))
        head.add_row(resource, f"{_bar(cluster, resource)} {reserved} of {format_quantity(resource, capacity)}")
    return head


def _bar(cluster: ClusterInfo, resource: str) -> str:
    capacity = parse_amount(resource, cluster.capacity[resource])
    reserved = parse_amount(resource, cluster.reserved.get(resource, "0"))
    full = round(BAR_WIDTH * reserved / capacity) if capacity else 0
    return "█" * min(full, BAR_WIDTH) + "░" * (BAR_WIDTH - full)


def _nodes(nodes: list[NodeView]) -> Table:
    table = _table("NODE", "STATE", "CPU", "MEMORY", "TASKS", "DATACENTER", "LAST SEEN")
    busiest = sorted(nodes, key=lambda node: (node.state == "ready" and node.eligible, -node.tasks, node.name))
    for node in busiest[:NODES_SHOWN]:
        shares = [
            f"{format_quantity(resource, node.reserved.get(resource, '0'))}/"
            f"{format_quantity(resource, node.capacity[resource])}"
            if resource in node.capacity
            else "-"
            for resource in ("cpu", "memory")
        ]
        table.add_row(
            node.name,
            _coloured_state(visible_node_state(node)),
            *shares,
            str(node.tasks),
            node.datacenter,
            f"{age(node.heard_at)} ago" if node.heard_at else "-",
        )
    if len(nodes) > NODES_SHOWN:
        table.caption = f"{NODES_SHOWN} of {len(nodes):,} nodes"
    return table


def _jobs(jobs: list[JobView]) -> Table:
    from rich.markup import escape

    table = _table("JOB", "STATE", "DONE", "TASKS", "AGE", "COMMAND")
    for job in jobs:
        table.add_row(
            job.name,
            _coloured_state(job.state),
            format_done(job),
            format_counts(job.counts),
            age(job.submitted_at),
            escape(describe_command(job)),
        )
    return table


def _table(*titles: str) -> Table:
    from rich.table import Table

    table = Table(box=None, padding=(0, 2, 0, 0), header_style="bold", caption_justify="left", expand=True)
    for title in titles:  # only the last column shrinks on a narrow terminal
        table.add_column(title, no_wrap=True, overflow="ellipsis", ratio=1 if title == titles[-1] else None)
    return table


def _coloured_state(state: str) -> str:
    colour = RICH_COLOURS.get(COLOURS.get(state, ""))
    return f"[{colour}]{state}[/]" if colour else state
