"""The command `apply`: creates and changes Testbeds, BatchJobs, Schedulings and Jobs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

import typer

from shunter.cli.commands.jobs.submit import wait_for_runs
from shunter.cli.commands.objects.blockers import ACQUIRE_STATE, claimed_jobs, ended_holders, release_hint
from shunter.cli.commands.objects.last_output import last_output
from shunter.cli.connection import open_client
from shunter.cli.exit_codes import JOB_FAILED, SUCCESS, print_notice, print_warning
from shunter.cli.manifest_files import (
    FilePaths,
    OptionalFiles,
    chosen_files,
    document_labels,
    read_files,
    with_locations,
)
from shunter.cli.options import Format, Namespace, Output
from shunter.cli.render.object_tables import state_of
from shunter.cli.render.tables import print_items
from shunter.model.errors import Invalid
from shunter.model.job.spec import NAMESPACE_DEFAULT
from shunter.model.rest.object_views import AppliedView, ObjectView, WatchLine
from shunter.sdk.calls.objects import expand_lists
from shunter.sdk.client import Client

DONE_STATES = ("CompletedState", "FinishedState")
FAILED_STATE = "FailedState"
RUNNING_STATE = "AwaitingCompletionState"
COMPLETED = "Completed"  # of a BatchJob in a Scheduling


def apply(
    paths: FilePaths = None,
    files: OptionalFiles = None,
    wait: Annotated[
        bool,
        typer.Option("--wait", help="Wait until Schedulings and Jobs have ended; the exit code is 1 if one failed."),
    ] = False,
    namespace: Namespace = NAMESPACE_DEFAULT,
    output: Output = Format.TABLE,
) -> None:
    """Apply manifests of Testbeds, BatchJobs, Schedulings and Jobs: all of them, or none if one is rejected.

    New objects are created, changed objects are updated, and other objects stay unchanged. A manifest with a
    resourceVersion is rejected if the object has changed since. Jobs are submitted in the same transaction.

    \b
    shunter apply testbed.yaml
    shunter apply jobs.yaml scheduling.yaml --wait
    shunter get testbed bench -o yaml | shunter apply -f -
    """
    found = [(file, expand_lists(documents)) for file, documents in read_files(chosen_files(paths, files))]
    with open_client(namespace) as client:
        try:
            applied = client.apply([document for _, documents in found for document in documents])
        except Invalid as error:
            raise Invalid(with_locations(error.problems, document_labels(found))) from error
        if output is not Format.TABLE:
            print_items(applied, output)
        else:
            for each in applied:
                _print_applied(each, namespace)
        if wait:
            codes = [_wait_for(client, each) for each in applied]
            runs = [each.job for each in applied if each.job is not None and each.job.run]
            raise typer.Exit(max([*codes, wait_for_runs(client, runs)]))


def _print_applied(applied: AppliedView, namespace: str) -> None:
    name = applied.name if applied.namespace == namespace else f"{applied.namespace}/{applied.name}"
    print(applied.kind, name, applied.action, flush=True)
    for line in applied.object.status.get("unusedFields", []) if applied.object else []:
        print_notice(f"{name}: {line}")


def _wait_for(client: Client, applied: AppliedView) -> int:
    """Wait until a Scheduling has completed or failed. Returns the exit code. Other objects never end."""
    if applied.kind != "Scheduling" or applied.object is None:
        return SUCCESS
    _print_waiting(client, applied.object)
    shown = ""
    for found in _watch_object(client, applied.object):
        if found.type == "DELETED":
            print_warning(f"{applied.name} was deleted")
            return JOB_FAILED
        state = state_of(found.object)
        progress = _describe_progress(found.object)
        if state in DONE_STATES:
            print_notice(f"{applied.name} completed: {progress}")
            return SUCCESS
        if state == FAILED_STATE:
            print_warning(f"{applied.name} failed: {'; '.join(found.object.status.get('problems', []))}")
            for job in claimed_jobs(client, found.object):
                if output_lines := last_output(client, job):
                    print_warning("\n  ".join(output_lines))
            return JOB_FAILED
        if state == RUNNING_STATE and progress != shown:
            print_notice(f"{applied.name} is running: {progress}")
            shown = progress
    raise AssertionError("a watch has no end")


def _describe_progress(scheduling: ObjectView) -> str:
    jobs = scheduling.status.get("jobStates", [])
    done = sum(job["state"] == COMPLETED for job in jobs)
    return f"{done} of {len(jobs)} {'BatchJob' if len(jobs) == 1 else 'BatchJobs'}"


def _print_waiting(client: Client, each: ObjectView) -> None:
    """If a Scheduling cannot start yet, print what it waits for, and which ended Schedulings to delete."""
    if state_of(each) == ACQUIRE_STATE and each.status.get("waitsFor"):
        print_notice(f"{each.name} waits for {each.status['waitsFor']}")
        for other in ended_holders(client, each):
            print_notice(f"{other.name} has ended but {release_hint(other)}")


def _watch_object(client: Client, each: ObjectView) -> Iterator[WatchLine]:
    return client.watch(each.kind, each.name, each.namespace, present=True)
