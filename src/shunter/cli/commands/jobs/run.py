"""The command `run`: runs a command on the cluster and shows its output, or runs an array and shows its progress."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import Annotated, Any

import typer

from shunter.cli.commands.jobs import run_options as options
from shunter.cli.commands.jobs.run_stdin import read_stdin, warn_about_unread
from shunter.cli.connection import open_client
from shunter.cli.exit_codes import (
    INTERNAL_ERROR,
    INTERRUPTED,
    JOB_FAILED,
    SIGNALLED,
    SUCCESS,
    print_notice,
    print_warning,
)
from shunter.cli.follow import follow_submit
from shunter.cli.manifest_files import refuse_manifest
from shunter.cli.options import Namespace, pairs
from shunter.cli.output_mode import mode
from shunter.cli.render.progress import Progress
from shunter.cli.render.tables import plural
from shunter.cli.text import print_text
from shunter.model.errors import Conflict, ShunterError
from shunter.model.job.arrays import count_indexes, parse_array
from shunter.model.job.spec import NAMESPACE_DEFAULT
from shunter.model.rest.job_views import FollowLine
from shunter.sdk.client import Client
from shunter.sdk.manifests import Manifest, job_manifest

CONTAINER_RUNTIME = "runtime.docker"  # attribute of nodes that run containers; podman's too

Command = Annotated[
    list[str] | None, typer.Argument(metavar="COMMAND...", help="The program and its arguments.", show_default=False)
]


def run(
    command: Command = None,
    env: options.Env = None,
    env_file: options.EnvFile = None,
    dir: options.Dir = None,
    stdout: options.Stdout = None,
    stderr: options.Stderr = None,
    no_stdin: options.NoStdin = False,
    user: options.User = None,
    port: options.Ports = None,
    count: options.Count = None,
    array: options.ArrayText = None,
    each_line: options.EachLine = None,
    parallel_max: options.ParallelMax = None,
    failures_max: options.FailuresMax = None,
    gang: options.Gang = False,
    cpu: options.Cpu = None,
    memory: options.Memory = None,
    disk: options.Disk = None,
    gpu: options.Gpu = None,
    resource: options.Resources = None,
    exclusive: options.Exclusive = False,
    datacenter: options.Datacenters = None,
    constraint: options.Constraints = None,
    isolation: options.Isolation = None,
    priority: options.Priority = None,
    queue: options.Queue = None,
    after: options.After = None,
    start_at: options.StartAt = None,
    deadline: options.Deadline = None,
    estimate: options.Estimate = None,
    timeout: options.Timeout = None,
    queue_timeout: options.QueueTimeout = None,
    job_timeout: options.JobTimeout = None,
    restart: options.Restart = None,
    retries: options.Retries = None,
    hold: options.Hold = False,
    image: options.Image = None,
    keep_entrypoint: options.KeepEntrypoint = False,
    mount: options.Mounts = None,
    network: options.Network = None,
    name: options.Name = None,
    label: options.Labels = None,
    namespace: Namespace = NAMESPACE_DEFAULT,
    detach: options.Detach = False,
) -> None:
    """Run a command on the cluster, in the current directory, and wait until it has ended.

    One task: prints the output of the task and exits with its exit code (128+N for signal N, 125 if Shunter itself
    failed). Several tasks: shows a progress bar and a summary; the exit code is 1 unless all tasks succeeded, and 130
    after Ctrl-C. Ctrl-C, SIGTERM or a closed terminal stops the job gracefully; a second one kills it, and if it has
    not ended 10 s later, the command exits with 130. With --detach, the job continues in the background.

    A single task reads the standard input of this command, up to 1 MiB; the job starts when the input has ended. With
    --no-stdin, it starts at once with empty input.

    If no node has a container runtime, a command with --image ends at once with exit code 125. With --queue-timeout,
    it waits that long for a node that has one.

    \b
    shunter run -- echo hello
    shunter run --count 10000 --cpu 1 -- /bin/true
    shunter run --array 1-100:2%4 --stdout 'out/%i.txt' -- ./simulate.sh
    shunter run --each-line files.txt -- sh -c 'gzip "$SHUNTER_ENTRY"'
    sort names.txt | shunter run -- uniq -c
    shunter run --memory 2Gi --timeout 10m --retries 3 --env SEED=7 -- python train.py
    shunter run --detach --name report --after nightly -- ./report.sh
    shunter run --image busybox --mount .:/work:ro -- ls /work
    """
    lines = options.entries(each_line)
    is_single = array is None and lines is None
    fields: dict[str, Any] = {
        "name": name, "labels": pairs(label, "--label"), "env": options.environment(env, env_file),
        "dir": dir or (None if image else os.getcwd()), "stdout": stdout, "stderr": stderr, "user": user,  # noqa: PTH109
        "image": image, "mounts": mount, "ports": port, "network": network,
        "count": 1 if count is None and is_single else count, "array": array, "entries": lines,
        "parallel_max": parallel_max, "failures_max": failures_max, "gang": gang or None,
        "exclusive": exclusive or None, "cpu": cpu, "memory": memory, "disk": disk,
        "resources": options.countables(gpu, resource),
        "datacenters": datacenter, "constraints": constraint, "isolation": isolation,
        "priority": priority, "queue": queue, "after": after, "start_at": start_at, "deadline": deadline,
        "estimate": estimate, "restart": restart, "retries": retries,
        "timeout": options.timeouts(timeout, queue_timeout, job_timeout), "hold": hold or None,
    }  # fmt: skip
    if not command and not image:
        raise typer.BadParameter("no program given; write for example: shunter run -- echo hello", param_hint="COMMAND")
    words = command or []
    if len(words) == 1 and not image:
        refuse_manifest("COMMAND", words[0], "shunter submit")
    if keep_entrypoint:
        fields["args"], words = words or None, []
    manifest = job_manifest(words, fields)
    tasks = _task_count(count, array, lines)
    has_stdin = not no_stdin and each_line != options.STDIN
    if has_stdin and (data := read_stdin(tasks, has_image=image is not None)) is not None:
        manifest = job_manifest(words, fields | {"stdin": data})
    with open_client(namespace) as client:
        if detach:
            print(client.submit(manifest).name)
            return
        if image is not None:
            _check_runtime(client, manifest, waits=queue_timeout is not None or hold)
        code = _run_task(client, manifest) if tasks == 1 else _run_array(client, manifest, tasks)
    if has_stdin:
        warn_about_unread(tasks, has_image=image is not None)
    raise typer.Exit(code)


def _check_runtime(client: Client, manifest: Manifest, *, waits: bool) -> None:
    """Whoever sits in front of a terminal is told at once that nothing can run a container, with the reasons that `why`
    would give. `waits`: the user said how long, so a notice is enough. Raises Conflict."""
    try:
        nodes = list(client.nodes())
        if not nodes or any(CONTAINER_RUNTIME in node.attributes for node in nodes):
            return
        reasons = [each.text for planned in client.plan(manifest).jobs for each in planned.reasons]
    except ShunterError:
        return  # the submit gets the same error
    if waits:
        print_notice("no node has a container runtime; install Docker or podman on one. Ctrl-C cancels the job.")
        return
    why = f"{reasons[0] if reasons else 'has no container runtime'} ({plural(len(nodes), 'node')})"
    wait = "wait for such a node: with --queue-timeout TIME, or with --detach in the background"
    fix = f"install Docker or podman on a node, or {wait}"
    raise Conflict(f"no node can run {manifest['spec']['image']}: {why}; {fix}")


def _task_count(count: int | None, array: str | None, lines: Sequence[str] | None) -> int:
    if lines:
        return len(lines)
    return count_indexes(parse_array(array).parts) if array else count or 1


def _run_task(client: Client, manifest: Manifest) -> int:
    """Print the output of the task as it arrives. Returns its exit code."""
    end, interrupted = follow_submit(client, manifest, "logs", _print_log)
    view, code = end.end, end.exit_code
    assert view is not None
    is_plain_exit = code is not None and code < SIGNALLED and view.reason == f"exit code {code}"
    if view.reason and view.state != "succeeded" and not interrupted and not is_plain_exit:
        print_warning(f"{view.name} {view.state}: {view.reason}")
    if end.output_error is not None:
        print_warning(f"the output of {view.name} is incomplete: {end.output_error}; try: shunter logs {view.name}")
    if code:
        return code
    if end.output_error is not None and view.state == "succeeded":
        return INTERNAL_ERROR
    return SUCCESS if view.state == "succeeded" else INTERRUPTED if interrupted else JOB_FAILED


def _print_log(line: FollowLine) -> None:
    if line.log is not None:
        stream = sys.stderr if line.log.stream == "stderr" else sys.stdout
        stream.buffer.write(line.log.data)
        stream.buffer.flush()


def _run_array(client: Client, manifest: Manifest, count: int) -> int:
    """Show progress, then a summary. Returns 0 if all tasks succeeded, and 130 after Ctrl-C."""
    with Progress(count) as progress:
        end, interrupted = follow_submit(client, manifest, "progress", progress.on_line)
    assert end.end is not None
    if not mode.is_quiet or end.end.state != "succeeded":
        print_text(progress.summary(end.end))
    if end.end.state != "succeeded" and end.end.reason:
        print_warning(end.end.reason)
    if interrupted:
        return INTERRUPTED
    return SUCCESS if end.end.state == "succeeded" else JOB_FAILED
