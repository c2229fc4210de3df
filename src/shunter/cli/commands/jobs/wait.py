"""The command wait, and how other commands wait for a run."""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import Annotated

import typer

from shunter.cli.completion import complete_jobs
from shunter.cli.connection import open_client
from shunter.cli.exit_codes import JOB_FAILED, SUCCESS, print_notice
from shunter.cli.options import Format, Namespace, Output, duration_s
from shunter.cli.render.tables import elapsed_s, format_counts, print_document, print_items
from shunter.model.job.spec import NAMESPACE_DEFAULT
from shunter.model.resources import format_duration
from shunter.model.rest.job_views import JobView
from shunter.sdk.client import Job

Jobs = Annotated[
    list[str],
    typer.Argument(
        metavar="JOB...", help="Jobs: NAME (the newest run), NAME@RUN or id:NUMBER.", autocompletion=complete_jobs
    ),
]


def wait(
    names: Jobs,
    timeout: Annotated[str | None, typer.Option(metavar="TIME", help="Maximum time to wait: 90s, 1h30m.")] = None,
    namespace: Namespace = NAMESPACE_DEFAULT,
    output: Output = Format.TABLE,
) -> None:
    """Wait until jobs have ended. The exit code is 0 if all succeeded, else 1.

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
        if job.state != "succeeded":
            code = JOB_FAILED
        print_notice(_describe_end(job.view))
    return code


def _describe_end(view: JobView) -> str:
    """`render succeeded: 100 succeeded in 1.2s`, or `render failed: exit code 3`."""
    if view.state != "succeeded" and view.reason:
        return f"{view.name} {view.state}: {view.reason}"
    counts = f": {format_counts(view.counts)}" if view.count > 1 else ""
    took_s = elapsed_s(view.started_at, view.ended_at)
    return f"{view.name} {view.state}{counts}" + ("" if took_s is None else f" in {format_duration(took_s)}")


def print_run(job: Job, wait: bool, output: Format) -> None:
    """Print a new run: NAME@RUN, or the whole view; with `wait`, the view after the run has ended."""
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
        raise TimeoutError(f"{job.name} has not ended within the timeout; it continues to run") from None
