"""Conversations that go on while something happens: a job to its end, a task's output, the cluster's events.

A stream that breaks is taken up where it was left: nothing is shown twice, nothing is left out. Called by both clients.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from shunter.model.rest.views import ClusterInfo, EventView, FollowLine, JobView
from shunter.sdk.calls import requests
from shunter.sdk.calls.requests import TaskKey
from shunter.sdk.core import Core
from shunter.sdk.errors import ConnectionLost, Unavailable
from shunter.sdk.responses import decode
from shunter.sdk.retry import Deadline
from shunter.sdk.transport.steps import Conversation, Emit, Read, Request

ALL_NAMESPACES = "*"
LOG_CHUNK_BYTES = 2**20
RESUME_DELAY_S = 0.2  # a cluster that ends its streams is about to stop: no hurry


@dataclass(slots=True)
class Ended:
    """How a followed job ended; `exit_code` is that of its only task, None for arrays and where there is none."""

    view: JobView
    created: bool
    exit_code: int | None


def follow_submit(core: Core, manifest: Mapping[str, Any], mode: str) -> Conversation[Ended]:
    """Submit and follow in one request. Emits FollowLines: the job once it is committed, then what `mode` asks for."""
    return _follow(core, requests.submit(manifest, core.namespace, core.new_key(), follow=mode), mode, None)


def follow_job(core: Core, reference: str, namespace: str, mode: str, timeout_s: float | None) -> Conversation[Ended]:
    """The same for a job that is there already. Raises TimeoutError."""
    return _follow(core, requests.follow(reference, namespace, mode), mode, timeout_s)


def _follow(core: Core, request: Request, mode: str, timeout_s: float | None) -> Conversation[Ended]:
    deadline = Deadline.after(core.clock, timeout_s)
    patience = core.patience()
    progress = _Progress()
    while True:
        response = yield from core.exchange(request, stream=True, patience=patience, deadline=deadline)
        progress.created = progress.created or response.status == 201
        try:
            while data := (yield Read(deadline.left_s())):
                for line in progress.lines(data):
                    patience.reset()
                    yield Emit(line)
        except ConnectionLost:
            pass  # the same as a stream that ends too early: go on with the next one
        if progress.end is not None:
            return Ended(progress.end, progress.created, progress.exit_code)
        if progress.job is not None:
            request = requests.follow(f"id:{progress.job.id}", progress.job.namespace, mode)
        progress.restart()
        yield from core.back_off(_interrupted("the connection ended before the job did"), patience, deadline)


@dataclass(slots=True)
class _Progress:
    """What has been seen of a followed job, over all its streams."""

    job: JobView | None = None
    end: JobView | None = None
    exit_code: int | None = None
    created: bool = False
    _partial: bytes = b""
    _received_bytes: dict[str, int] = field(default_factory=lambda: defaultdict(int))  # bytes of output, by stream
    _bytes_to_skip: dict[str, int] = field(default_factory=dict)

    def restart(self) -> None:
        """Another stream follows; it tells the output from its beginning, of which so much was shown."""
        self._partial = b""
        self._bytes_to_skip = dict(self._received_bytes)

    def lines(self, data: bytes) -> list[FollowLine]:
        """The lines that are complete and new with these bytes."""
        *whole, self._partial = (self._partial + data).split(b"\n")
        return [line for text in whole if text and self._accept(line := decode(text, FollowLine))]

    def _accept(self, line: FollowLine) -> bool:
        if line.job is not None:
            known, self.job = self.job is not None, line.job
            return not known
        if line.log is not None:
            skipped = min(self._bytes_to_skip.get(line.log.stream, 0), len(line.log.data))
            if skipped:
                self._bytes_to_skip[line.log.stream] -= skipped
                line.log.data = line.log.data[skipped:]
            self._received_bytes[line.log.stream] += len(line.log.data)
            return bool(line.log.data)
        if line.end is not None:
            self.end, self.exit_code = line.end, line.exit_code
        return True


@dataclass(frozen=True, slots=True)
class LogSelector:
    """Which output of which task. `attempt` None means the latest that has started."""

    reference: str
    namespace: str
    task: TaskKey = 0
    stream: str = "stdout"
    attempt: int | None = None


def read_log(core: Core, selector: LogSelector) -> Conversation[bool]:
    """Emits what there is of a task's output, in pieces; comes to whether the log limit cut something out of it."""
    offset = 0
    truncated = False
    while True:
        query = [
            ("stream", selector.stream),
            ("offset", offset),
            ("limit", LOG_CHUNK_BYTES),
            ("attempt", selector.attempt),
        ]
        response = yield from core.exchange(requests.logs(selector.reference, selector.namespace, selector.task, query))
        truncated = truncated or response.headers.get("x-log-truncated", "").lower() == "true"
        if response.body:
            yield Emit(response.body)
        offset += len(response.body)
        if len(response.body) < LOG_CHUNK_BYTES:
            return truncated


def follow_log(core: Core, selector: LogSelector) -> Conversation[bool]:
    """Emits a task's output as it is written, until the task has ended."""
    offset = 0
    patience = core.patience()
    while True:
        query = [("stream", selector.stream), ("offset", offset), ("attempt", selector.attempt), ("follow", True)]
        request = requests.logs(selector.reference, selector.namespace, selector.task, query)
        response = yield from core.exchange(request, stream=True, patience=patience)
        try:
            while data := (yield Read()):
                patience.reset()
                offset += len(data)
                yield Emit(data)
            return response.headers.get("x-log-truncated", "").lower() == "true"
        except ConnectionLost as error:
            yield from core.back_off(error, patience, Deadline(core.clock))


def follow_events(core: Core, namespace: str | None, job: str | None, after: str | None) -> Conversation[None]:
    """Emits events as they are committed, without end."""
    if after is None:  # a place to go on from, should the stream break before its first event
        cluster = yield from core.fetch(requests.cluster(), ClusterInfo)
        after = str(cluster.state_version)
    patience = core.patience()
    effective_namespace = event_namespace(core, namespace, job)
    while True:
        yield from core.exchange(
            requests.follow_events(effective_namespace, job, after), stream=True, patience=patience
        )
        partial = b""
        try:
            while data := (yield Read()):
                patience.reset()
                *messages, partial = (partial + data).replace(b"\r\n", b"\n").split(b"\n\n")
                for event in filter(None, map(_event, messages)):
                    after = event.id
                    yield Emit(event)
        except ConnectionLost:
            pass
        yield from core.back_off(_interrupted("the stream of events ended"), patience, Deadline(core.clock))


def event_namespace(core: Core, namespace: str | None, job: str | None) -> str:
    """Events are those of all namespaces unless one is named; a job has its name in one."""
    return namespace or (core.namespace if job else ALL_NAMESPACES)


def _event(message: bytes) -> EventView | None:
    """The event of one server-sent message; comments, which keep the connection alive, hold none."""
    data = [line[5:].lstrip() for line in message.split(b"\n") if line.startswith(b"data:")]
    return decode(b"\n".join(data), EventView) if data else None


def _interrupted(text: str) -> Unavailable:
    error = Unavailable(text)
    error.retry_after_s = RESUME_DELAY_S
    return error
