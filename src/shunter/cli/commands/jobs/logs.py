"""The command `logs`: the output of a task, or of all tasks of a job."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Annotated, BinaryIO, TextIO
from zlib import crc32

import typer

from shunter.cli.connection import open_client
from shunter.cli.exit_codes import USAGE_ERROR, print_notice, print_warning
from shunter.cli.options import JobOrTask, Namespace, duration_s, first_task, job_and_task
from shunter.cli.text import on_terminal
from shunter.model.errors import Invalid, Problem, ShunterError
from shunter.model.job.spec import NAMESPACE_DEFAULT
from shunter.model.rest.log_views import JobLogEnd, JobLogLine, LogGap, TaskLogView
from shunter.sdk.client import Client, Job

STREAMS = ("stdout", "stderr")
PREFIX_COLOURS = ("36", "33", "32", "35", "34", "96", "93", "92", "95", "94")

UNFINISHED = ("pending", "running")
WAITING = ("waiting", "queued")


def logs(
    target: JobOrTask,
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Follow the output until the end.")] = False,
    tail: Annotated[
        int | None, typer.Option(min=0, metavar="N", help="Print only the last N lines of each stream of each task.")
    ] = None,
    since: Annotated[
        str | None, typer.Option(metavar="TIME", help="Leave out tasks that ended longer ago than this: 90s, 10m, 2h.")
    ] = None,
    grep: Annotated[
        str | None, typer.Option(metavar="TEXT", help="Print only lines that contain this text. It is not a pattern.")
    ] = None,
    group: Annotated[list[str] | None, typer.Option(metavar="GROUP", help="Only this group. May be repeated.")] = None,
    failed: Annotated[bool, typer.Option("--failed", help="Only tasks that failed.")] = False,
    index: Annotated[
        str | None, typer.Option("--index", metavar="INDEXES", help="Only these tasks: 3, 1-9:2 or 1-3,7.")
    ] = None,
    stderr: Annotated[bool, typer.Option("--stderr", help="Print only stderr, to stdout.")] = False,
    stdout: Annotated[bool, typer.Option("--stdout", help="Print only stdout.")] = False,
    attempt: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="Attempt of a task to show. Default: the latest.")
    ] = None,
    namespace: Namespace = NAMESPACE_DEFAULT,
) -> None:
    """Print the output of a task, or of all tasks of a job: stdout to stdout, stderr to stderr.

    If the job has several tasks, each line begins with the name of its task. The exit code is 2 if output is missing,
    for example because a node is down.

    \b
    shunter logs render
    shunter logs render --failed --tail 20
    shunter logs render --follow --grep error
    shunter logs render/17 --stderr | less
    """
    name, task = job_and_task(target)
    streams = _chosen_streams(stdout, stderr)
    selection = Selection(tail, duration_s(since, "--since"), grep, tuple(group or ()), index or None, failed)
    if task is not None and selection.has_tasks:
        raise Invalid([Problem("task", "is one task already", target, f"write {name}, or leave the options out")])
    if attempt is not None and selection != ALL:
        raise Invalid([Problem("--attempt", "must be the only option that selects output", attempt)])
    with open_client(namespace) as client:
        job = client.job(name)
        is_single = task is not None or job.view.count == 1
        if attempt is not None and not is_single:
            fix = f"write {name}/{first_task(job)}"
            raise Invalid([Problem("--attempt", f"must be of one task, and {name} has {job.view.count}", attempt, fix)])
        if is_single and selection == ALL:
            has_output = _copy_task(job, task or first_task(job), streams, follow, attempt)
            if not has_output and attempt is None and job.view.state in UNFINISHED:
                _explain_silence(job, task or first_task(job))
            return
        selection = selection if task is None else selection.of_task(task, target)
        lines = selection.read(client, job, streams, follow)
        if not _print_lines(lines, has_prefix=not is_single, to_stdout=streams == ("stderr",)):
            raise typer.Exit(USAGE_ERROR)


def _chosen_streams(stdout: bool, stderr: bool) -> tuple[str, ...]:
    """Both, if both options or none of them was given."""
    if stdout == stderr:
        return STREAMS
    return ("stdout",) if stdout else ("stderr",)


@dataclass(frozen=True, slots=True)
class Selection:
    """Which tasks, and which lines of their output. All of them by default."""

    tail: int | None = None
    since_s: float | None = None
    grep: str | None = None
    groups: tuple[str, ...] = ()
    index: str | None = None
    is_failed_only: bool = False

    @property
    def has_tasks(self) -> bool:
        """Whether it leaves out tasks by what they are, and not only lines."""
        return bool(self.groups or self.index or self.is_failed_only)

    def of_task(self, task: str, target: str) -> Selection:
        """The same lines of one task: [GROUP/]INDEX."""
        group, _, index = task.rpartition("/")
        if "~" in index:
            raise Invalid([Problem("task", "was replaced: only all of its output can be shown", target)])
        return replace(self, groups=(group,) if group else (), index=index)

    def read(self, client: Client, job: Job, streams: tuple[str, ...], follow: bool) -> Iterator[JobLogLine]:
        since = None if self.since_s is None else datetime.now(UTC) - timedelta(seconds=self.since_s)
        return client.job_logs(
            f"id:{job.view.id}", job.view.namespace, follow=follow, tail=self.tail, since=since, grep=self.grep,
            groups=self.groups, index=self.index, states=("failed",) if self.is_failed_only else (),
            streams=() if streams == STREAMS else streams,
        )  # fmt: skip


ALL = Selection()


def _print_lines(lines: Iterable[JobLogLine], *, has_prefix: bool, to_stdout: bool) -> bool:
    """Returns whether nothing was missing."""
    is_complete = True
    writers = {"stdout": Writer(sys.stdout, has_prefix)}
    writers["stderr"] = writers["stdout"] if to_stdout else Writer(sys.stderr, has_prefix)
    for line in lines:
        if line.log is not None:
            writers[line.log.stream].write(line.log)
        elif line.end is not None:
            for writer in writers.values():
                writer.end_line()
            _print_gaps(line.end)
            is_complete = not line.end.missing
    return is_complete


class Writer:
    """Writes output of tasks to one stream, each line with the name of its task in a colour of its own."""

    def __init__(self, stream: TextIO, has_prefix: bool) -> None:
        self._file: BinaryIO = stream.buffer
        self._has_prefix = has_prefix
        self._has_colours = on_terminal(stream) and not os.environ.get("NO_COLOR")
        self._width = 0
        self._open_task = ""  # whose last line has no newline yet

    def write(self, log: TaskLogView) -> None:
        if not self._has_prefix:
            self._file.write(log.data)
        else:
            self._write_prefixed(log)
        self._file.flush()

    def end_line(self) -> None:
        """Another task writes next: an unfinished line ends here."""
        if self._open_task:
            self._file.write(b"\n")
            self._open_task = ""

    def _write_prefixed(self, log: TaskLogView) -> None:
        prefix = self._prefix(log.task)
        *whole, rest = log.data.split(b"\n")
        if self._open_task != log.task:
            self.end_line()
        for text in [*(line + b"\n" for line in whole), *([rest] if rest else [])]:
            self._file.write(text if self._open_task else prefix + text)
            self._open_task = "" if text.endswith(b"\n") else log.task

    def _prefix(self, task: str) -> bytes:
        self._width = max(self._width, len(task))
        name = task.ljust(self._width)
        if self._has_colours:
            colour = PREFIX_COLOURS[crc32(task.encode()) % len(PREFIX_COLOURS)]
            return f"\x1b[{colour}m{name} |\x1b[0m ".encode()
        return f"{name} | ".encode()


def _print_gaps(end: JobLogEnd) -> None:
    for gap in end.left_out:
        print_notice(f"left out: {_describe(gap)}")
    for gap in end.missing:
        print_warning(f"missing: {_describe(gap)}")


def _describe(gap: LogGap) -> str:
    names = ", ".join(gap.names) + (", …" if gap.tasks > len(gap.names) else "")
    return f"{gap.reason} ({gap.tasks:,} {'task' if gap.tasks == 1 else 'tasks'}: {names})"


def _copy_task(job: Job, index: str, streams: tuple[str, ...], follow: bool, attempt: int | None) -> bool:
    """Copy the output of one task as it is: one stream after the other, or concurrently with `follow`. Returns whether
    there was any."""
    if len(streams) == 1:
        return _copy(_read_stream(job, index, streams[0], follow, attempt), sys.stdout)
    if not follow:
        has_output = _copy(_read_stream(job, index, "stdout", follow, attempt), sys.stdout)
        return _copy(_read_stream(job, index, "stderr", follow, attempt), sys.stderr) or has_output
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
    return True  # it was followed to its end


def _explain_silence(job: Job, index: str) -> None:
    """A task that waits for an attempt shows no output, even if earlier attempts wrote some."""
    view = job.task(index)
    if view.state not in WAITING:
        return
    if not view.attempt:
        print_notice(f"{view.name} has not started yet; `shunter why {view.name}` says why")
        return
    print_notice(
        f"{view.name} waits for its next attempt; to print attempt {view.attempt}:"
        f" `shunter logs {view.name} --attempt {view.attempt}`"
    )


def _read_stream(job: Job, index: str, stream: str, follow: bool, attempt: int | None) -> Iterable[bytes]:
    if follow:
        return job.logs(index, stream, follow=True, attempt=attempt)
    return [job.logs(index, stream, attempt=attempt)]


def _copy(chunks: Iterable[bytes], stream: TextIO) -> bool:
    """Returns whether there was anything to copy."""
    size = 0
    for chunk in chunks:
        size += len(chunk)
        stream.buffer.write(chunk)
        stream.buffer.flush()
    return size > 0
