"""The commands that end jobs or wait for their end: stop, wait."""

from __future__ import annotations

import time
from collections.abc import Iterable
from functools import partial
from typing import Annotated

import typer

from shunter.cli.completion import complete_jobs
from shunter.cli.connection import open_client
from shunter.cli.exit_codes import JOB_FAILED, SUCCESS, print_notice
from shunter.cli.options import Format, Namespace, Output, duration_s, job_and_task
from shunter.cli.render.tables import print_document, print_items, report_each
from shunter.model.errors import Invalid, Problem
from shunter.model.job.spec import NAMESPACE_DEFAULT
from shunter.model.rest.job_views import JobView, TaskView, describe_end_state
from shunter.model.signals import SIGNALS
from shunter.sdk.client import Job

Targets = Annotated[
    list[str],
    typer.Argument(metavar="JOB[/[GROUP/]INDEX]...", help="Jobs, or tasks of them.", autocompletion=complete_jobs),
]
Jobs = Annotated[list[str], typer.Argument(metavar="JOB...", help="Jobs.", autocompletion=complete_jobs)]


def stop(
    targets: Targets,
    now: Annotated[bool, typer.Option("--now", help="Kill at once, without a grace period.")] = False,
    signal: Annotated[
        str | None,
        typer.Option(metavar="NAME", help=f"Send this instead of TERM: {', '.join(SIGNALS)}."),
    ] = None,
    namespace: Namespace = NAMESPACE_DEFAULT,
    output: Output = Format.TABLE,
) -> None:
    """End jobs, or single tasks of them: what runs is asked to end, and killed after its grace period.

    What has ended already stays as it is. One instance of a service stays down until it is restarted: shunter restart.

    \b
    shunter stop render
    shunter stop render/17          only this task
    shunter stop --now render fetch
    shunter stop --signal INT render
    """
    signal_name = None if signal is None else signal.upper().removeprefix("SIG")
    if signal_name is not None and signal_name not in SIGNALS:
        raise Invalid([Problem("--signal", "is not a signal that tasks may get", signal, f"use {', '.join(SIGNALS)}")])
    wanted = [job_and_task(target) for target in targets]
    with open_client(namespace) as client, report_each(output) as report:
        for (name, task), target in zip(wanted, targets, strict=True):
            job = client.job(name)
            job.stop(index=task, now=now, signal=signal_name)
            outcome = f"{describe_end_state(job.state)} already" if job.ended else "is ending"
            report(f"{target} {outcome}", partial(_refreshed_view, job, task))


def _refreshed_view(job: Job, task: str | None) -> JobView | TaskView:
    return job.refresh().view if task is None else job.task(task)


def wait(
    names: Jobs,
    timeout: Annotated[str | None, typer.Option(metavar="TIME", help="Give up after this time: 90s, 1h30m.")] = None,
    namespace: Namespace = NAMESPACE_DEFAULT,
    output: Output = Format.TABLE,
) -> None:
    """Wait until jobs have ended. The exit code is 0 if all succeeded, else 1.

    \b
    shunter wait render
    shunter wait render fetch --timeout 10m
    shunter wait render --output json           how it ended
    """
    timeout_s = duration_s(timeout, "--timeout")
    with open_client(namespace) as client:
        jobs = [client.job(name) for name in names]
        code = wait_for(jobs, timeout_s)
        if output is not Format.TABLE:
            print_items((job.view for job in jobs), output)
        raise typer.Exit(code)


def wait_for(jobs: Iterable[Job], timeout_s: float | None = None) -> int:
    """Wait for jobs to end, telling those that did not succeed; comes to the exit code."""
    code = SUCCESS
    deadline_s = None if timeout_s is None else time.monotonic() + timeout_s
    for job in jobs:
        if not job.ended:
            _wait(job, deadline_s)
        if job.state != "succeeded":
            code = JOB_FAILED
            print_notice(f"{job.name} {job.state}" + (f": {job.view.reason}" if job.view.reason else ""))
    return code


def print_run(job: Job, wait: bool, output: Format) -> None:
    """A run that was started: NAME@RUN at once, or all of it, as it ended where that is waited for."""
    if output is Format.TABLE:
        print(f"{job.name}@{job.view.run}", flush=True)
    code = wait_for([job]) if wait else SUCCESS
    if output is not Format.TABLE:
        print_document(job.view, output)
    raise typer.Exit(code)


def _wait(job: Job, deadline_s: float | None) -> None:
    left_s = None if deadline_s is None else max(0.0, deadline_s - time.monotonic())
    try:
        job.wait(left_s)
    except TimeoutError:
        raise TimeoutError(f"{job.name} has not ended in the time given; it goes on") from None
