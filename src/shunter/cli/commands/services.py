"""The commands for jobs that last: update, scale, rollback, restart; and move, for any task."""

from __future__ import annotations

import time
from typing import Annotated

import typer

from shunter.cli.completion import complete_jobs
from shunter.cli.connection import open_client
from shunter.cli.exit_codes import JOB_FAILED, SUCCESS, print_notice
from shunter.cli.manifest_files import File, read_file
from shunter.cli.options import Format, JobName, JobOrTask, Namespace, NodeName, Output, job_and_task
from shunter.cli.render.tables import print_document
from shunter.model.errors import Invalid, Problem
from shunter.model.job.spec import NAMESPACE_DEFAULT
from shunter.model.rest.job_views import JobView
from shunter.sdk.client import Job

POLL_INTERVAL_S = 0.5

Wait = Annotated[bool, typer.Option("--wait", help="Wait until it has settled; the exit code is 1 if it went wrong.")]


def update(
    file: File,
    node: Annotated[
        str | None, typer.Option("--node", metavar="NODE", help="Replace only what runs on this node.")
    ] = None,
    wait: Wait = False,
    namespace: Namespace = NAMESPACE_DEFAULT,
    output: Output = Format.TABLE,
) -> None:
    """Give a service or system job that runs another spec.

    Instances are replaced step by step, as the manifest's `update` says: each new one must be healthy before its
    predecessor ends. Where that goes wrong, the job goes back to its last good version by itself.

    \b
    shunter update -f web.yaml --wait
    shunter update -f web.yaml --node worker-3
    """
    manifests = read_file(file)
    if len(manifests) != 1:
        fix = "use shunter submit for files of several jobs"
        raise Invalid([Problem("--file", "must hold one job", f"{len(manifests)} documents", fix)])
    metadata = manifests[0].get("metadata") or {}
    name = str(metadata.get("name") or "")
    if not name:
        raise Invalid([Problem("metadata.name", "is missing", fix="name the job that is updated")])
    with open_client(str(metadata.get("namespace") or namespace)) as client:
        _report_change(client.job(name).update(manifests[0], node), f"{name} is updated", wait, output)


def scale(
    name: JobName,
    counts: Annotated[list[str], typer.Argument(metavar="[GROUP=]N...", help="How many; by group if it has several.")],
    wait: Wait = False,
    namespace: Namespace = NAMESPACE_DEFAULT,
    output: Output = Format.TABLE,
) -> None:
    """Change how many instances a service has. New ones get the next numbers; the highest numbers go first.

    \b
    shunter scale web 5
    shunter scale shop front=3 back=8
    """
    wanted: dict[str, int] = {}
    for word in counts:
        group, _, count = word.rpartition("=")
        if not (count.isascii() and count.isdigit()):
            raise Invalid([Problem("count", "is not a number", word, "write it as 5 or GROUP=5")])
        wanted[group] = int(count)
    with open_client(namespace) as client:
        _report_change(client.job(name).scale(wanted), f"{name} is scaled", wait, output)


def rollback(
    name: JobName, wait: Wait = False, namespace: Namespace = NAMESPACE_DEFAULT, output: Output = Format.TABLE
) -> None:
    """Go back to an earlier good version of a service or system job: the last one, or from a good one the one before.

    How many instances there are stays as it is.

    \b
    shunter rollback web --wait
    """
    with open_client(namespace) as client:
        _report_change(client.job(name).roll_back(), f"{name} goes back", wait, output)


def restart(
    target: JobOrTask, wait: Wait = False, namespace: Namespace = NAMESPACE_DEFAULT, output: Output = Format.TABLE
) -> None:
    """Replace the instances of a service or system job by fresh ones, step by step; or just one of them.

    An instance that was stopped, or has failed for good, comes back.

    \b
    shunter restart web
    shunter restart web/2
    """
    name, task = job_and_task(target)
    with open_client(namespace) as client:
        _report_change(client.job(name).restart(task), f"{target} is restarted", wait, output)


def move(
    target: Annotated[
        str,
        typer.Argument(metavar="JOB/[GROUP/]INDEX", help="A task.", autocompletion=complete_jobs),
    ],
    node: NodeName,
    namespace: Namespace = NAMESPACE_DEFAULT,
    output: Output = Format.TABLE,
) -> None:
    """Let a task run on a node of your choice.

    A service starts there before it ends where it was. A batch task is stopped and begins anew. If it must be started
    again later, it may go anywhere.

    \b
    shunter move web/2 worker-3
    """
    name, task = job_and_task(target)
    if task is None:
        raise Invalid([Problem("task", "is missing", target, "write JOB/0 for its first task")])
    with open_client(namespace) as client:
        _report_change(client.job(name).move(task, node), f"{target} moves to {node}", False, output)


def _report_change(job: Job, message: str, wait: bool, output: Format) -> None:
    if output is Format.TABLE and not wait:
        print(message)
        return
    code = wait_until_settled(job, message) if wait else SUCCESS
    if output is not Format.TABLE:
        print_document(job.view, output)
    if wait:
        raise typer.Exit(code)


def wait_until_settled(job: Job, message: str) -> int:
    """Wait until all instances of a long-running job run well, or something of it went wrong; comes to the exit
    code."""
    version = job.view.version
    while not job.ended and not _has_settled(job.view):
        time.sleep(POLL_INTERVAL_S)
        job.refresh()
    return _print_outcome(job.view, message, version)


def _has_settled(view: JobView) -> bool:
    """All of it is there, or something of it will never be."""
    update = view.update
    if update is None or update.status == "stalled":
        return True
    return update.status == "steady" and (update.healthy >= update.wanted or "failed" in view.counts)


def _print_outcome(view: JobView, message: str, version: int) -> int:
    update = view.update
    is_healthy = update is not None and update.status == "steady" and update.healthy >= update.wanted
    if is_healthy and view.version == version:
        print_notice(f"{message}, and runs well")
        return SUCCESS
    reason = (update.reason if update is not None else None) or view.reason
    if view.version != version and reason:
        print_notice(f"{view.name} was {reason}")
    else:
        state = view.state if update is None else update.status
        print_notice(f"{view.name} is {state}" + (f": {reason}" if reason else ""))
    return JOB_FAILED
