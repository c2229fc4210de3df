"""The command stop."""

from __future__ import annotations

from functools import partial
from typing import Annotated

import typer

from shunter.cli.completion import complete_jobs
from shunter.cli.connection import open_client
from shunter.cli.options import Format, Namespace, Output, current_task
from shunter.cli.render.tables import report_each
from shunter.model.errors import Invalid, Problem
from shunter.model.job.spec import NAMESPACE_DEFAULT
from shunter.model.rest.job_views import JobView, TaskView
from shunter.model.signals import SIGNALS
from shunter.sdk.client import Job

Targets = Annotated[
    list[str],
    typer.Argument(metavar="JOB[/[GROUP/]INDEX]...", help="Jobs, or single tasks.", autocompletion=complete_jobs),
]


def stop(
    targets: Targets,
    now: Annotated[bool, typer.Option("--now", help="Kill without a grace period.")] = False,
    signal: Annotated[
        str | None,
        typer.Option(metavar="NAME", help=f"Signal to send instead of TERM: {', '.join(SIGNALS)}."),
    ] = None,
    namespace: Namespace = NAMESPACE_DEFAULT,
    output: Output = Format.TABLE,
) -> None:
    """Stop jobs, or single tasks: send TERM to running tasks, and kill them after their grace period.

    Tasks that have ended do not change. A stopped instance of a service stays down until `shunter restart`.

    \b
    shunter stop render
    shunter stop render/17          stop only this task
    shunter stop --now render fetch
    shunter stop --signal INT render
    """
    signal_name = None if signal is None else signal.upper().removeprefix("SIG")
    if signal_name is not None and signal_name not in SIGNALS:
        raise Invalid([Problem("--signal", "signal is not supported", signal, f"use {', '.join(SIGNALS)}")])
    wanted = [current_task(target) for target in targets]
    with open_client(namespace) as client, report_each(output) as report:
        for (name, task), target in zip(wanted, targets, strict=True):
            job = client.job(name)
            job.stop(index=task, now=now, signal=signal_name)
            outcome = f"has already ended ({job.state})" if job.ended else "is stopping"
            report(f"{target} {outcome}", partial(_refreshed_view, job, task))


def _refreshed_view(job: Job, task: str | None) -> JobView | TaskView:
    return job.refresh().view if task is None else job.task(task)
