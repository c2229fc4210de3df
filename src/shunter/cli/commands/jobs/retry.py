"""The command retry."""

from __future__ import annotations

from typing import Annotated

import typer

from shunter.cli.commands.jobs.wait import print_run
from shunter.cli.connection import open_client
from shunter.cli.options import Format, JobName, Namespace, Output
from shunter.model.job.spec import NAMESPACE_DEFAULT


def retry(
    name: JobName,
    failed: Annotated[bool, typer.Option("--failed", help="Run only tasks that failed or were cancelled.")] = False,
    wait: Annotated[bool, typer.Option("--wait", help="Wait until the run has ended.")] = False,
    namespace: Namespace = NAMESPACE_DEFAULT,
    output: Output = Format.TABLE,
) -> None:
    """Run a finished job again, as a new run of its name. Print NAME@RUN.

    With --failed, tasks keep their indexes, and SHUNTER_TASK_COUNT is the original number of tasks.

    \b
    shunter retry render
    shunter retry render@3 --failed --wait
    """
    with open_client(namespace) as client:
        print_run(client.job(name).retry(failed=failed), wait, output)
