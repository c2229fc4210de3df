"""Streams as conversations: a job until it ends, the output of a task, the events of the cluster, files.

A stream that breaks resumes where it stopped: it repeats nothing and leaves nothing out. Called by both clients.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from shunter.model.rest.cluster_views import ClusterInfo, EventView
from shunter.model.rest.job_views import FollowLine, JobView
from shunter.sdk.calls.requests import Query, TaskKey, job_path, path_with, submit_request
from shunter.sdk.core import Core
from shunter.sdk.errors import ConnectionLost, Rejected, StreamEnded
from shunter.sdk.responses import decode
from shunter.sdk.retry import Deadline
from shunter.sdk.transport.steps import Conversation, Emit, Read, Request

ALL_NAMESPACES = "*"
LOG_CHUNK_BYTES = 2**20
EVENT_STREAM = ("Accept", "text/event-stream")

ProcessEvents = Callable[[list[bytes]], Conversation[bool]]  # of server-sent messages; returns whether it is done


@dataclass(slots=True)
class Ended:
    """How a followed job ended. `exit_code` is that of its only task; None for arrays, and if the task has none."""

    view: JobView
    created: bool
    exit_code: int | None


def follow_submit(
    core: Core, manifest: Mapping[str, Any], mode: str, progress: Progress | None = None
) -> Conversation[Ended]:
    """Submits and follows in one request. Emits FollowLines: the job once it is committed, then what `mode` selects."""
    request = submit_request(manifest, core.namespace, core.new_key(), follow=mode)
    return _follow(core, request, mode, progress or Progress(Deadline(core.clock)))


def follow_job(core: Core, reference: str, namespace: str, mode: str, timeout_s: float | None) -> Conversation[Ended]:
    """Follows a job that exists. Raises TimeoutError."""
    progress = Progress(Deadline.after(core.clock, timeout_s))
    return _follow(core, _follow_request(reference, namespace, mode), mode, progress)


def _follow_request(reference: str, namespace: str, mode: str) -> Request:
    return Request("GET", job_path(reference, namespace, "/follow", [("mode", mode)]))


def _follow(core: Core, request: Request, mode: str, progress: Progress) -> Conversation[Ended]:
    patience = core.patience()
    while True:
        response = yield from core.exchange(request, stream=True, patience=patience, deadline=progress.deadline)
        progress.created = progress.created or response.status == 201
        try:
            while data := (yield Read(progress.deadline.left_s())):
                for line in progress.lines(data):
                    patience.reset()
                    core.note_version(str(line.version or ""))
                    yield Emit(line)
        except ConnectionLost:
            pass  # the same as a stream that ends too early: go on with the next one
        if progress.end is not None:
            return Ended(progress.end, progress.created, progress.exit_code)
        if progress.job is not None:
            request = _follow_request(f"id:{progress.job.id}", progress.job.namespace, mode)
        progress.restart()
        yield from core.back_off(StreamEnded("the connection ended before the job did"), patience, progress.deadline)


@dataclass(slots=True)
class Progress:
    """What has been seen of a followed job, over all its streams. Between two lines, the caller may set another
    deadline."""

    deadline: Deadline
    job: JobView | None = None
    end: JobView | None = None
    exit_code: int | None = None
    created: bool = False
    _partial: bytes = b""
    _received_bytes: dict[str, int] = field(default_factory=lambda: defaultdict(int))  # bytes of output, by stream
    _bytes_to_skip: dict[str, int] = field(default_factory=dict)

    def restart(self) -> None:
        """Prepares for another stream, which repeats the output from its beginning: skip what was received."""
        self._partial = b""
        self._bytes_to_skip = dict(self._received_bytes)

    def lines(self, data: bytes) -> list[FollowLine]:
        """Returns the lines that these bytes complete and that are new."""
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

    def request(self, query: Query) -> Request:
        parameters = [("stream", self.stream), *query]
        return Request("GET", job_path(self.reference, self.namespace, "/logs", parameters, self.task))


def read_log(core: Core, selector: LogSelector) -> Conversation[bool]:
    """Emits the output of a task so far, in chunks; returns whether the log limit cut something out of it."""
    offset = 0
    truncated = False
    while True:
        query = [("offset", offset), ("limit", LOG_CHUNK_BYTES), ("attempt", selector.attempt)]
        response = yield from core.exchange(selector.request(query))
        truncated = truncated or response.headers.get("x-log-truncated", "").lower() == "true"
        if response.body:
            yield Emit(response.body)
        offset += len(response.body)
        if len(response.body) < LOG_CHUNK_BYTES:
            return truncated


def follow_log(core: Core, selector: LogSelector) -> Conversation[bool]:
    """Emits the output of a task as it is written, until the task ends."""
    offset = 0
    patience = core.patience()
    while True:
        request = selector.request([("offset", offset), ("attempt", selector.attempt), ("follow", True)])
        response = yield from core.exchange(request, stream=True, patience=patience)
        try:
            while data := (yield Read()):
                patience.reset()
                offset += len(data)
                yield Emit(data)
            if core.managers > 1:  # to learn the version: the head of the answer is older than the end of the task
                query = [("offset", offset), ("limit", 1), ("attempt", selector.attempt)]
                with suppress(Rejected):
                    yield from core.exchange(selector.request(query))
            return response.headers.get("x-log-truncated", "").lower() == "true"
        except ConnectionLost as error:
            yield from core.back_off(error, patience, Deadline(core.clock))


def follow_events(core: Core, namespace: str | None, job: str | None, after: str | None) -> Conversation[None]:
    """Emits events as they are committed, without end."""
    if after is None:  # where to resume if the stream breaks before its first event
        cluster = yield from core.fetch(Request("GET", "/cluster"), ClusterInfo)
        after = str(cluster.state_version)
    yield from read_events(core, events_path(core, namespace, job), after, Deadline(core.clock), _emit_events)


def read_events(core: Core, path: str, after: str, deadline: Deadline, process: ProcessEvents) -> Conversation[None]:
    """Passes all events after a position to `process`, as they arrive together, until it returns True. Raises
    TimeoutError."""
    patience = core.patience()
    while True:
        request = Request("GET", path_with(path, [("after", after), ("follow", True)]), (EVENT_STREAM,))
        yield from core.exchange(request, stream=True, patience=patience, deadline=deadline)
        partial = b""
        try:
            while data := (yield Read(deadline.left_s())):
                patience.reset()
                *messages, partial = (partial + data).replace(b"\r\n", b"\n").split(b"\n\n")
                for message in messages:
                    after = _position(message) or after
                core.note_version(after.partition("-")[0])
                if (yield from process(messages)):
                    return
        except ConnectionLost:
            pass
        yield from core.back_off(StreamEnded("the stream of events ended"), patience, deadline)


def _emit_events(messages: list[bytes]) -> Conversation[bool]:
    for message in messages:
        if (event := parse_event(message)) is not None:
            yield Emit(event)
    return False


def events_path(core: Core, namespace: str | None, job: str | None, newest_first: bool = False) -> str:
    """Events are those of all namespaces unless one is given; the name of a job is that of a job in one namespace."""
    effective_namespace = namespace or (core.namespace if job else ALL_NAMESPACES)
    order = "newest" if newest_first else None
    return path_with("/events", [("namespace", effective_namespace), ("job", job), ("order", order)])


def parse_event(message: bytes) -> EventView | None:
    """The event in a server-sent message; None for a comment, which only keeps the connection alive."""
    data = [line[5:].lstrip() for line in message.split(b"\n") if line.startswith(b"data:")]
    return decode(b"\n".join(data), EventView) if data else None


def _position(message: bytes) -> str | None:
    """Where to resume after this message; one without an event has it too, if the server ends the stream."""
    return next((line[3:].strip().decode() for line in message.split(b"\n") if line.startswith(b"id:")), None)


def read_file(core: Core, path: str) -> Conversation[None]:
    """Emits the chunks of a file."""
    yield from core.exchange(Request("GET", path), stream=True)
    while data := (yield Read()):
        yield Emit(data)
