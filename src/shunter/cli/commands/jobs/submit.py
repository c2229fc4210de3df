"""The command `submit`: the jobs of a manifest file."""

from __future__ import annotations

from typing import Annotated

import typer

from shunter.cli.commands.jobs.stop import wait_for
from shunter.cli.commands.services import wait_until_settled
from shunter.cli.connection import open_client
from shunter.cli.manifest_files import File, read_file
from shunter.cli.options import Format, Namespace, Output
from shunter.cli.render.tables import print_items
from shunter.model.errors import Invalid, Problem
from shunter.model.job.spec import LONG_RUNNING, NAMESPACE_DEFAULT
from shunter.model.objects.objects import KINDS
from shunter.model.rest.job_views import SubmittedJob
from shunter.sdk.client import Client
from shunter.sdk.manifests import Manifest


def submit(
    file: File,
    wait: Annotated[
        bool, typer.Option("--wait", help="Wait until all of them have ended; services: until they run well.")
    ] = False,
    namespace: Namespace = NAMESPACE_DEFAULT,
    output: Output = Format.TABLE,
) -> None:
    """Submit the jobs of a manifest file: all of them, or none if one is refused.

    A job that is unfinished and says the same stays as it is ("unchanged"); a service or system job that says something
    else is updated, step by step (shunter job NAME shows how far it is). With --wait, the exit code is 1 unless all
    succeeded; what never ends is waited for until it runs well.

    \b
    shunter submit -f job.yaml
    cat jobs.json | shunter submit -f - --wait
    """
    manifests = read_file(file)
    refuse_objects(manifests, file)
    with open_client(namespace) as client:
        submitted = _submit(client, manifests)
        if output is not Format.TABLE:
            print_items(submitted, output)
        else:
            for each in submitted:
                print(each.name, _outcome(each), flush=True)
        if wait:
            raise typer.Exit(wait_for_runs(client, [each for each in submitted if each.run]))


def refuse_objects(manifests: list[Manifest], file: str) -> None:
    for number, manifest in enumerate(manifests):
        if manifest.get("kind") in KINDS:
            field = f"items[{number}].kind" if len(manifests) > 1 else "kind"
            fix = f"use: shunter apply -f {file}"
            raise Invalid([Problem(field, "is applied, not submitted", manifest["kind"], fix)])


def wait_for_runs(client: Client, runs: list[SubmittedJob]) -> int:
    """For the end of what ends; for what lasts, until it runs well. Comes to the exit code."""
    jobs = [client.job(f"id:{each.id}", each.namespace) for each in runs]
    long_running = [job for job in jobs if job.view.type in LONG_RUNNING]
    code = wait_for([job for job in jobs if job.view.type not in LONG_RUNNING])
    for job in long_running:
        code = wait_until_settled(job, f"{job.name} is there") or code
    return code


def _outcome(job: SubmittedJob) -> str:
    """A run of 0 is none: the job is kept, for a clock or dispatches to run."""
    if not job.created:
        return "is updated" if job.updated else "unchanged"
    return "submitted" if job.run else "kept"


def _submit(client: Client, manifests: list[Manifest]) -> list[SubmittedJob]:
    if len(manifests) > 1 or _is_long_running(manifests[0]):
        return client.submit_many(manifests)
    job = client.submit(manifests[0])
    view = job.view
    return [SubmittedJob(name=view.name, namespace=view.namespace, id=view.id, run=view.run, created=job.created)]


def _is_long_running(manifest: Manifest) -> bool:
    """Whether submitting it again may be an update, which only the answer for many tells."""
    spec = manifest.get("spec")
    return isinstance(spec, dict) and spec.get("type") in LONG_RUNNING
