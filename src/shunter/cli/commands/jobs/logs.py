"""The command `logs`: the output of a task."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterable
from typing import Annotated, TextIO

import typer

from shunter.cli.connection import open_client
from shunter.cli.options import JobOrTask, Namespace, first_task, job_and_task
from shunter.model.errors import ShunterError
from shunter.model.job.spec import NAMESPACE_DEFAULT
from shunter.sdk.client import Job


def logs(
    target: JobOrTask,
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Follow the output until the task has ended.")] = False,
    stderr: Annotated[bool, typer.Option("--stderr", help="Print only stderr, to stdout.")] = False,
    stdout: Annotated[bool, typer.Option("--stdout", help="Print only stdout.")] = False,
    attempt: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="Attempt to show. Default: the latest.")
    ] = None,
    namespace: Namespace = NAMESPACE_DEFAULT,
) -> None:
    """Print the output of a task: its stdout to stdout, its stderr to stderr. JOB means its first task.

    \b
    shunter logs render
    shunter logs render/17 --follow
    shunter logs render --stderr | less
    """
    name, task = job_and_task(target)
    with open_client(namespace) as client:
        job = client.job(name)
        index = task or first_task(job)
        if stderr and not stdout:
            _copy(_read_stream(job, index, "stderr", follow, attempt), sys.stdout)
        elif stdout and not stderr:
            _copy(_read_stream(job, index, "stdout", follow, attempt), sys.stdout)
        else:
            _copy_both(job, index, follow, attempt)


def _copy_both(job: Job, index: str, follow: bool, attempt: int | None) -> None:
    """Copy both streams: one after the other, or concurrently with `follow`."""
    if not follow:
        _copy(_read_stream(job, index, "stdout", follow, attempt), sys.stdout)
        _copy(_read_stream(job, index, "stderr", follow, attempt), sys.stderr)
        return
    failures: list[Exception] = []

    def copy_errors() -> None:
        try:
            _copy(_read_stream(job, index, "stderr", follow, attempt), sys.stderr)
        except (ShunterError, OSError) as error:
            failures.append(error)

    stderr_thread = threading.Thread(target=copy_errors, daemon=True)
    stderr_thread.start()
    _copy(_read_stream(job, index, "stdout", follow, attempt), sys.stdout)
    stderr_thread.join()
    if failures:
        raise failures[0]


def _read_stream(job: Job, index: str, stream: str, follow: bool, attempt: int | None) -> Iterable[bytes]:
    if follow:
        return job.logs(index, stream, follow=True, attempt=attempt)
    return [job.logs(index, stream, attempt=attempt)]


def _copy(chunks: Iterable[bytes], stream: TextIO) -> None:
    for chunk in chunks:
        stream.buffer.write(chunk)
        stream.buffer.flush()
