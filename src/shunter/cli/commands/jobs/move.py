"""The command move."""

from __future__ import annotations

from typing import Annotated

import typer

from shunter.cli.completion import complete_jobs
from shunter.cli.connection import open_client
from shunter.cli.options import Format, Namespace, NodeName, Output, current_task
from shunter.cli.render.tables import print_result
from shunter.model.errors import Invalid, Problem
from shunter.model.job.spec import NAMESPACE_DEFAULT


def move(
    target: Annotated[
        str,
        typer.Argument(metavar="JOB/[GROUP/]INDEX", help="Task to move.", autocompletion=complete_jobs),
    ],
    node: NodeName,
    namespace: Namespace = NAMESPACE_DEFAULT,
    output: Output = Format.TABLE,
) -> None:
    """Move a task to another node.

    A service instance starts on the new node before the old one stops. A batch task is stopped and starts again from
    the beginning. A later restart may place the task on any node.

    \b
    shunter move web/2 worker-3
    """
    name, task = current_task(target)
    if task is None:
        raise Invalid([Problem("task", "index is missing", target, "write JOB/0 for the first task")])
    with open_client(namespace) as client:
        view = client.job(name).move(task, node).view
    print_result(f"{target} is moving to {node}", view, output)
