"""The command `run`: a command on the cluster as if it ran here, or an array of it with its progress."""

from __future__ import annotations

import os
import sys
from typing import Annotated

import typer

from shunter.cli.connection import open_client
from shunter.cli.exits import DONE, INTERRUPTED, JOB_FAILED, tell
from shunter.cli.following import follow_submit
from shunter.cli.options import Namespace, pairs
from shunter.cli.progress import Progress
from shunter.model.errors import Invalid, Problem
from shunter.model.jobs import COUNT_MAX, NAMESPACE_DEFAULT
from shunter.model.views import FollowLine
from shunter.sdk.client import Client
from shunter.sdk.manifests import Manifest, job_manifest

SIGNALLED = 128  # exit codes from here on mean that a signal ended the task

Words = list[str] | None


def run(
    command: Annotated[list[str], typer.Argument(metavar="COMMAND...", help="The program and its arguments.")],
    name: Annotated[
        str | None, typer.Option(metavar="NAME", help="Name of the job; default: one made of the command.")
    ] = None,
    count: Annotated[int, typer.Option("--count", min=1, max=COUNT_MAX, metavar="N", help="Run it so many times.")] = 1,
    cpu: Annotated[str | None, typer.Option(metavar="CORES", help="Cores for each task: 2, 500m. Default: 1.")] = None,
    memory: Annotated[
        str | None, typer.Option(metavar="AMOUNT", help="Memory for each task, which limits it: 256Mi.")
    ] = None,
    disk: Annotated[str | None, typer.Option(metavar="AMOUNT", help="Disk for each task: 1Gi.")] = None,
    gpu: Annotated[int | None, typer.Option(min=0, metavar="N", help="GPUs for each task.")] = None,
    resource: Annotated[
        Words, typer.Option(metavar="KEY=N", help="A countable for each task: licence=1. May be repeated.")
    ] = None,
    env: Annotated[
        Words,
        typer.Option(
            "--env", "-e", metavar="KEY[=VALUE]", help="A variable; KEY alone passes yours on. May be repeated."
        ),
    ] = None,
    dir: Annotated[
        str | None, typer.Option("--dir", "-w", metavar="FOLDER", help="Folder to run in. Default: this one.")
    ] = None,
    timeout: Annotated[str | None, typer.Option(metavar="TIME", help="End a task after this time: 90s, 1h30m.")] = None,
    priority: Annotated[int | None, typer.Option(metavar="N", help="More urgent jobs have more. Default: 50.")] = None,
    restart: Annotated[
        str | None, typer.Option(metavar="POLICY", help="never (default), on-failure, on-failure:5 or always.")
    ] = None,
    datacenter: Annotated[Words, typer.Option(metavar="NAME", help="Only there. May be repeated.")] = None,
    constraint: Annotated[
        Words, typer.Option(metavar="RULE", help="Only on nodes for which this holds: \"node.labels.disk == 'ssd'\".")
    ] = None,
    label: Annotated[Words, typer.Option(metavar="KEY=VALUE", help="A label of the job. May be repeated.")] = None,
    namespace: Namespace = NAMESPACE_DEFAULT,
    detach: Annotated[bool, typer.Option("--detach", "-d", help="Print the job's name and return.")] = False,
) -> None:
    """Run a command on the cluster, in this folder, and wait for it.

    One task: its output comes out here, and its exit code is the exit code (128+N for signal N, 125 where Shunter
    itself failed). With --count: a progress bar, then a summary; the exit code is 1 unless all succeeded.
    Ctrl-C ends the job gracefully, a second one at once.

    \b
    shunter run -- echo hello
    shunter run --count 10000 --cpu 1 -- /bin/true
    shunter run --memory 2Gi --timeout 10m --env SEED=7 -- python train.py
    shunter run --detach --name nightly -- ./backup.sh
    """
    options = {
        "name": name, "count": count, "cpu": cpu, "memory": memory, "disk": disk,
        "resources": _countables(gpu, resource),
        "env": _environment(env), "dir": dir or os.getcwd(), "timeout": timeout, "priority": priority,  # noqa: PTH109
        "restart": restart, "datacenters": datacenter, "constraints": constraint, "labels": pairs(label, "--label"),
    }  # fmt: skip
    with open_client(namespace) as client:
        manifest = job_manifest(command, options)
        if detach:
            print(client.submit(manifest).name)
            return
        raise typer.Exit(_run_task(client, manifest) if count == 1 else _run_array(client, manifest, count))


def _countables(gpu: int | None, words: Words) -> dict[str, int | str]:
    """Counts as numbers; what is none is left for the cluster to refuse, with all other problems."""
    found = {key: int(value) if value.isdecimal() else value for key, value in pairs(words, "--resource").items()}
    return found if gpu is None else {"gpu": gpu, **found}


def _environment(words: Words) -> dict[str, str]:
    """KEY=VALUE as given, KEY with the value it has here."""
    found = {}
    for word in words or ():
        key, equals, value = word.partition("=")
        if not equals and key not in os.environ:
            raise Invalid([Problem("--env", "is not set here", word, f"write it as {word}=VALUE")])
        found[key] = value if equals else os.environ[key]
    return found


def _run_task(client: Client, manifest: Manifest) -> int:
    """The task's output as it comes; comes to its exit code."""
    end, interrupted = follow_submit(client, manifest, "logs", _print_log)
    view, code = end.end, end.exit_code
    assert view is not None
    is_its_own = code is not None and code < SIGNALLED and view.reason == f"exit code {code}"
    if view.reason and view.state != "succeeded" and not interrupted and not is_its_own:
        tell(f"{view.name} {view.state}: {view.reason}")
    if code:
        return code
    return DONE if view.state == "succeeded" else INTERRUPTED if interrupted else JOB_FAILED


def _print_log(line: FollowLine) -> None:
    if line.log is not None:
        stream = sys.stderr if line.log.stream == "stderr" else sys.stdout
        stream.buffer.write(line.log.data)
        stream.buffer.flush()


def _run_array(client: Client, manifest: Manifest, count: int) -> int:
    """A progress bar, then a summary; comes to 0 if all tasks succeeded."""
    with Progress(count) as progress:
        end, _ = follow_submit(client, manifest, "progress", progress.take)
    assert end.end is not None
    print(progress.summary(end.end))
    return DONE if end.end.state == "succeeded" else JOB_FAILED
