"""The output of all tasks of a job, as REST streams it: pieces of output, and at the end what is not there."""

from __future__ import annotations

import msgspec


class TaskLogView(msgspec.Struct, kw_only=True):
    """Whole lines of one stream of one attempt; a very long line comes in pieces."""

    task: str  # its name: JOB/INDEX, or JOB/GROUP/INDEX
    group: str
    index: int
    attempt: int
    stream: str
    offset: int  # in the output as written: where these lines begin,
    next: int  # and where the next ones do
    data: bytes  # base64 in JSON


class LogGap(msgspec.Struct, kw_only=True):
    """Tasks of which output is not there, and why."""

    reason: str
    tasks: int
    names: list[str]  # the first of them


class JobLogEnd(msgspec.Struct, kw_only=True):
    tasks: int  # whose output was read
    left_out: list[LogGap] = []  # because of the request, or because it is not written yet
    missing: list[LogGap] = []  # it was written, and cannot be read: lost with a node, deleted


class JobLogLine(msgspec.Struct, kw_only=True, omit_defaults=True):
    """One line of the stream: either `log`, or `end` (last). Without `end`, the stream was cut short. `version`, with
    `end`: of the state at that moment."""

    log: TaskLogView | None = None
    end: JobLogEnd | None = None
    version: int | None = None
