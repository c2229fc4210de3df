"""The command that stops clusters. `shunter.app` does the work."""

from __future__ import annotations

import os
import sys
from typing import Annotated

import typer

from shunter.cli.render.tables import plural
from shunter.model.errors import Invalid, Problem

NODES_SHOWN_MAX = 5


def down(
    leave_running: Annotated[
        bool, typer.Option("--leave-running", help="Leave tasks running; the next start finds them again.")
    ] = False,
    cluster: Annotated[
        bool,
        typer.Option("--cluster", help="Stop all other workers and managers of the cluster too, after a confirmation."),
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask for confirmation.")] = False,
) -> None:
    """Stop the manager of this machine, and the worker that 'shunter up' started with it.

    Nothing is lost: tasks of that worker stop gracefully and are queued again. Workers that joined the manager keep
    their tasks running and wait until the manager is back; --cluster stops them too, and all other managers. It names
    what it could not stop, and its exit status is then 1.

    \b
    shunter down
    shunter down --cluster            stop all workers of the cluster
    """
    from shunter.app.down import other_nodes, stop_cluster

    if cluster and leave_running:
        fix = "leave one of them out: without --cluster, the other workers keep their tasks running"
        raise Invalid([Problem("--cluster", "cannot be combined with --leave-running", None, fix)])
    if cluster and "SHUNTER_URL" in os.environ and "SHUNTER_HOME" not in os.environ:
        fix = "unset it, or set SHUNTER_HOME to the home of one of the cluster's managers"
        raise Invalid([Problem("SHUNTER_URL", "does not say which cluster to stop: SHUNTER_HOME does", None, fix)])
    if cluster and not yes:
        _confirm_cluster_stop(other_nodes())
    not_stopped = stop_cluster(leave_running, is_whole_cluster=cluster)
    for each in not_stopped or ():
        print(f"not stopped: {each}", file=sys.stderr)
    if not_stopped:
        raise typer.Exit(1)
    print("no cluster is running" if not_stopped is None else "cluster stopped")


def _confirm_cluster_stop(nodes: list[str]) -> None:
    if not nodes:
        return
    shown = ", ".join(nodes[:NODES_SHOWN_MAX]) + (", ..." if len(nodes) > NODES_SHOWN_MAX else "")
    workers = f"{plural(len(nodes), 'other worker')}: {shown}"
    if not sys.stdin.isatty():
        fix = "repeat the command with --yes"
        raise Invalid([Problem("--cluster", f"would stop {workers}", None, fix)])
    typer.confirm(f"This stops {workers} too. Continue?", abort=True, err=True)
