"""The command wait, and how other commands wait for a run."""

from __future__ import annotations

import math
import time
from collections.abc import Iterable
from typing import Annotated

import typer

from shunter.cli.completion import complete_jobs
from shunter.cli.connection import open_client
from shunter.cli.exit_codes import JOB_FAILED, SUCCESS, print_notice, print_warning
from shunter.cli.follow import PendingNotice
from shunter.cli.options import Format, Namespace, Output, duration_s
from shunter.cli.render.job_status import describe_end, describe_health, is_up
from shunter.cli.render.progress import Progress
from shunter.cli.render.tables import print_document, print_items
from shunter.model.job.spec import LONG_RUNNING, NAMESPACE_DEFAULT
from shunter.sdk.client import Job

Jobs = Annotated[
    list[str],
    typer.Argument(
        metavar="JOB...", help="Jobs: NAME (the newest run), NAME@RUN or id:NUMBER.", autocompletion=complete_jobs
    ),
]

LOOK_INTERVAL_S = 2.0  # between looks at a job that is waited for


def wait(
    names: Jobs,
    timeout: Annotated[str | None, typer.Option(metavar="TIME", help="Maximum time to wait: 90s, 1h30m.")] = None,
    namespace: Namespace = NAMESPACE_DEFAULT,
    output: Output = Format.TABLE,
) -> None:
    """Wait until jobs have ended, and show their progress. The exit code is 0 if all succeeded, else 1.

    A service runs until it is stopped: the command says when it is up or in trouble, and keeps waiting. To wait only
    until it is up, use `shunter submit --wait`.

    \b
    shunter wait render
    shunter wait render fetch --timeout 10m
    shunter wait render --output json           print the ended job
    """
    timeout_s = duration_s(timeout, "--timeout")
    with open_client(namespace) as client:
        jobs = [client.job(name) for name in names]
        code = wait_for(jobs, timeout_s)
        if output is not Format.TABLE:
            print_items((job.view for job in jobs), output)
        raise typer.Exit(code)


def wait_for(jobs: Iterable[Job], timeout_s: float | None = None) -> int:
    """Wait for jobs to end, and print how each of them ended. Returns the exit code."""
    code = SUCCESS
    deadline_s = None if timeout_s is None else time.monotonic() + timeout_s
    for job in jobs:
        if not job.ended:
            _wait(job, deadline_s)
        if job.state == "succeeded":
            print_notice(describe_end(job.view))
        else:
            code = JOB_FAILED
            print_warning(describe_end(job.view))
    return code


def print_run(job: Job, wait: bool, output: Format) -> None:
    """Print a new run: NAME@RUN, or the whole view; with `wait`, the view after the run has ended."""
    if output is Format.TABLE:
        print(f"{job.name}@{job.view.run}", flush=True)
    code = wait_for([job]) if wait else SUCCESS
    if output is not Format.TABLE:
        print_document(job.view, output)
    raise typer.Exit(code)


def _wait(job: Job, deadline_s: float | None) -> None:
    """Say meanwhile how far the job is, or why it stays pending; of a long-running job, whether it is healthy."""
    health, pending = "", PendingNotice()
    with Progress(job.view.count, job.name) as progress:
        while not job.ended:
            if job.view.type in LONG_RUNNING and (found := describe_health(job.view)) != health:
                health = found
                print_notice(f"{found}; it runs until it is stopped" if is_up(job.view) else found)
            left_s = math.inf if deadline_s is None else max(0.0, deadline_s - time.monotonic())
            try:
                job.wait(min(left_s, LOOK_INTERVAL_S))
                return
            except KeyboardInterrupt:
                print_notice(f"{job.name} continues; stop it with `shunter stop {job.name}`")
                raise
            except TimeoutError:
                if left_s <= LOOK_INTERVAL_S:
                    message = f"{job.name} has not ended within the timeout; it continues to run"
                    raise TimeoutError(message) from None
            job.refresh()
            pending.look(job)
            if job.view.type not in LONG_RUNNING:
                progress.show(job.view.counts)
