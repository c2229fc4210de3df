"""The commands for service and system jobs: update, scale, rollback and restart."""

from __future__ import annotations

import time
from typing import Annotated

import typer

from shunter.cli.connection import open_client
from shunter.cli.exit_codes import JOB_FAILED, SUCCESS, print_notice, print_warning
from shunter.cli.follow import PendingNotice
from shunter.cli.manifest_files import FilePath, OptionalFile, chosen_file, read_file
from shunter.cli.options import Format, JobName, JobOrTask, Namespace, Output, current_task
from shunter.cli.render.job_status import describe_end, describe_trouble, is_in_trouble, is_up
from shunter.cli.render.tables import print_document
from shunter.cli.text import print_text
from shunter.model.errors import Invalid, Problem
from shunter.model.job.spec import NAMESPACE_DEFAULT
from shunter.model.rest.job_views import JobView
from shunter.sdk.client import Job

POLL_INTERVAL_S = 0.5
STARTING_STATES = ("waiting", "queued", "assigned", "stopping")  # of tasks: it is not known yet what becomes of them

Wait = Annotated[
    bool, typer.Option("--wait", help="Wait until all instances are healthy; the exit code is 1 if that fails.")
]


def update(
    path: FilePath = None,
    file: OptionalFile = None,
    node: Annotated[
        str | None, typer.Option("--node", metavar="NODE", help="Replace only instances on this node.")
    ] = None,
    wait: Wait = False,
    namespace: Namespace = NAMESPACE_DEFAULT,
    output: Output = Format.TABLE,
) -> None:
    """Update a running service or system job to a new spec, step by step.

    The rollout follows `update` of the manifest: a new instance must be healthy before the old one stops. If the
    rollout fails, the job rolls back to its last stable version.

    \b
    shunter update web.yaml --wait
    shunter update web.yaml --node worker-3
    """
    manifests = read_file(chosen_file(path, file))
    if len(manifests) != 1:
        fix = "use `shunter submit` for files with several jobs"
        raise Invalid([Problem("FILE", "must contain one job", f"{len(manifests)} documents", fix)])
    metadata = manifests[0].get("metadata") or {}
    name = str(metadata.get("name") or "")
    if not name:
        raise Invalid([Problem("metadata.name", "is missing", fix="add the name of the job to update")])
    with open_client(str(metadata.get("namespace") or namespace)) as client:
        job = client.job(name).update(manifests[0], node)
        target = f"to version {job.view.version}"
        _report_change(job, f"{name} is updating {target}", f"{name} updated {target}", wait, output)


def scale(
    name: JobName,
    counts: Annotated[
        list[str],
        typer.Argument(metavar="[GROUP=]N...", help="Number of instances; per group if the job has several groups."),
    ],
    wait: Wait = False,
    namespace: Namespace = NAMESPACE_DEFAULT,
    output: Output = Format.TABLE,
) -> None:
    """Change the number of instances of a service. New instances get the next indexes; the highest indexes stop first.

    \b
    shunter scale web 5
    shunter scale shop front=3 back=8
    """
    wanted: dict[str, int] = {}
    for word in counts:
        group, _, count = word.rpartition("=")
        if not (count.isascii() and count.isdigit()):
            raise Invalid([Problem("N", "must be a number", word, "write it as 5 or GROUP=5")])
        wanted[group] = int(count)
    with open_client(namespace) as client:
        _report_change(client.job(name).scale(wanted), f"{name} is scaling", f"{name} scaled", wait, output)


def rollback(
    name: JobName, wait: Wait = False, namespace: Namespace = NAMESPACE_DEFAULT, output: Output = Format.TABLE
) -> None:
    """Roll a service or system job back to its last stable version; if that one is running, to the one before it.

    The number of instances does not change.

    \b
    shunter rollback web --wait
    """
    with open_client(namespace) as client:
        job = client.job(name).roll_back()
        reason = (job.view.update and job.view.update.reason) or "rolled back"
        target = reason.partition(" by ")[0]  # the user knows who asked for it
        _report_change(job, f"{name} is rolling back", f"{name} {target}", wait, output)


def restart(
    target: JobOrTask, wait: Wait = False, namespace: Namespace = NAMESPACE_DEFAULT, output: Output = Format.TABLE
) -> None:
    """Restart all instances of a service or system job, step by step; or one instance.

    Instances that were stopped or have failed start again.

    \b
    shunter restart web
    shunter restart web/2
    """
    name, task = current_task(target)
    with open_client(namespace) as client:
        _report_change(client.job(name).restart(task), f"{target} is restarting", f"{target} restarted", wait, output)


def _report_change(job: Job, ongoing: str, done: str, wait: bool, output: Format) -> None:
    """Print `ongoing`, or wait for the change and print `done`."""
    if output is Format.TABLE and not wait:
        print_text(ongoing)
        return
    code = wait_until_settled(job, done) if wait else SUCCESS
    if output is not Format.TABLE:
        print_document(job.view, output)
    if wait:
        raise typer.Exit(code)


def wait_until_settled(job: Job, done: str) -> int:
    """Wait until all instances of a long-running job are healthy, or its rollout failed. Returns the exit code."""
    version, trouble, pending = job.view.version, "", PendingNotice()
    while not job.ended and not _has_settled(job.view):
        if (found := describe_trouble(job.view)) and found != trouble:
            trouble = found
            print_notice(found)
        time.sleep(POLL_INTERVAL_S)
        job.refresh()
        pending.look(job)
    return _print_outcome(job.view, done, version)


def _has_settled(view: JobView) -> bool:
    """Whether all instances are healthy, or some of them never will be."""
    update = view.update
    if update is None or update.status == "stalled" or is_up(view):
        return True
    return (
        "failed" in view.counts and is_in_trouble(view) and not any(state in view.counts for state in STARTING_STATES)
    )


def _print_outcome(view: JobView, done: str, version: int) -> int:
    if view.ended_at:
        has_succeeded = view.state == "succeeded"
        (print_notice if has_succeeded else print_warning)(describe_end(view))
        return SUCCESS if has_succeeded else JOB_FAILED
    update = view.update
    if update is not None and is_up(view) and view.version == version:
        print_notice(f"{done}: {update.healthy}/{update.wanted} healthy")
        return SUCCESS
    reason = (update.reason if update is not None else None) or view.reason
    if view.version != version and reason:
        print_warning(f"{view.name} was {reason}")
    else:
        state = view.state if update is None else update.status
        print_warning(f"{view.name} is {state}" + (f": {reason}" if reason else ""))
    return JOB_FAILED
