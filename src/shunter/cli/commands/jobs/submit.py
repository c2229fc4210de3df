"""The command `submit`: submits the jobs of a manifest file."""

from __future__ import annotations

from typing import Annotated

import typer

from shunter.cli.commands.jobs.wait import wait_for
from shunter.cli.commands.services import wait_until_settled
from shunter.cli.connection import open_client
from shunter.cli.manifest_files import (
    FilePath,
    OptionalFile,
    chosen_file,
    document_labels,
    name_all_kinds,
    read_file,
    with_locations,
)
from shunter.cli.options import Format, Namespace, Output
from shunter.cli.output_mode import mode
from shunter.cli.render.tables import format_local_time, print_items
from shunter.cli.text import print_text
from shunter.model.errors import Invalid, Problem
from shunter.model.job.spec import LONG_RUNNING, NAMESPACE_DEFAULT
from shunter.model.objects.objects import KINDS
from shunter.model.rest.job_views import SubmittedJob
from shunter.sdk.client import Client
from shunter.sdk.manifests import Manifest


def submit(
    path: FilePath = None,
    file: OptionalFile = None,
    wait: Annotated[
        bool, typer.Option("--wait", help="Wait until all jobs have ended, and services are healthy.")
    ] = False,
    namespace: Namespace = NAMESPACE_DEFAULT,
    output: Output = Format.TABLE,
) -> None:
    """Submit the jobs of a manifest file: all of them, or none if one is rejected.

    An unfinished job with the same spec is left unchanged. A service or system job with another spec gets a rolling
    update; `shunter job NAME` shows its progress. With --wait, the exit code is 1 unless all jobs succeeded and all
    services are healthy.

    \b
    shunter submit job.yaml
    cat jobs.json | shunter submit -f - --wait
    """
    file = chosen_file(path, file)
    manifests = read_file(file)
    refuse_objects(manifests, file)
    with open_client(namespace) as client:
        try:
            submitted = _submit(client, manifests)
        except Invalid as error:
            raise Invalid(
                with_locations(map(name_all_kinds, error.problems), document_labels([(file, manifests)]))
            ) from error
        if output is not Format.TABLE:
            print_items(submitted, output)
        else:
            for each in submitted:
                print_text(each.name if mode.is_quiet else _describe_outcome(each))
        if wait:
            raise typer.Exit(wait_for_runs(client, [each for each in submitted if each.run]))


def refuse_objects(manifests: list[Manifest], file: str) -> None:
    for number, manifest in enumerate(manifests):
        if manifest.get("kind") in KINDS:
            field = f"items[{number}].kind" if len(manifests) > 1 else "kind"
            fix = f"use: shunter apply -f {file}"
            raise Invalid([Problem(field, "cannot be submitted", manifest["kind"], fix)])


def wait_for_runs(client: Client, runs: list[SubmittedJob]) -> int:
    """Wait until batch jobs have ended and long-running jobs are healthy. Returns the exit code."""
    jobs = [client.job(f"id:{each.id}", each.namespace) for each in runs]
    long_running = [job for job in jobs if job.view.type in LONG_RUNNING]
    code = wait_for([job for job in jobs if job.view.type not in LONG_RUNNING])
    for job in long_running:
        code = wait_until_settled(job, f"{job.name} is up") or code
    return code


def _describe_outcome(job: SubmittedJob) -> str:
    """Run 0 means a template: the cluster saved it and runs it by its schedule or by dispatch."""
    if not job.created:
        return f"{job.name} {'updated' if job.updated else 'unchanged'}"
    return f"{job.name} submitted" if job.run else f"{job.name}: {_describe_template(job)}"


def _describe_template(job: SubmittedJob) -> str:
    with open_client(job.namespace) as namespace_client:
        next_at = namespace_client.template(job.name).next_at
    if next_at is None:
        return f"template saved, run it with `shunter dispatch {job.name}`"
    return f"schedule saved, next run {format_local_time(next_at)}"


def _submit(client: Client, manifests: list[Manifest]) -> list[SubmittedJob]:
    in_bulk = len(manifests) > 1 or _is_long_running(manifests[0])
    jobs = client.submit_many(manifests) if in_bulk else [client.submit(manifests[0])]
    return [
        SubmittedJob(
            name=job.name, namespace=job.namespace, id=job.id, run=job.run, created=job.created, updated=job.updated
        )
        for job in jobs
    ]


def _is_long_running(manifest: Manifest) -> bool:
    """Whether submitting it may update a job; only the answer to `submit_many` says so."""
    spec = manifest.get("spec")
    return isinstance(spec, dict) and spec.get("type") in LONG_RUNNING
