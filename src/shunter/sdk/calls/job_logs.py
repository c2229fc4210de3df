"""The output of all tasks of a job, as a conversation. A followed stream that breaks resumes where it stopped: it
repeats nothing and leaves nothing out. Called by both clients."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from shunter.model.rest.log_views import JobLogLine, TaskLogView
from shunter.sdk.calls.requests import Query, job_path
from shunter.sdk.core import Core
from shunter.sdk.errors import ConnectionLost, StreamEnded
from shunter.sdk.responses import decode
from shunter.sdk.retry import Deadline
from shunter.sdk.transport.steps import Conversation, Emit, Read, Request


@dataclass(frozen=True, slots=True)
class JobLogSelector:
    """Which output of which tasks. Empty means all."""

    reference: str
    namespace: str
    follow: bool = False
    tail: int | None = None
    grep: str | None = None
    other: tuple[tuple[str, object], ...] = ()  # parameters: since, group, index, state, stream

    def request(self, *, is_resumed: bool) -> Request:
        """A stream that resumes skips and selects lines itself, because offsets count all of them."""
        query: Query = [("follow", self.follow or None), *self.other]
        if not is_resumed:
            query = [*query, ("tail", self.tail), ("grep", self.grep)]
        return Request("GET", job_path(self.reference, self.namespace, "/logs", query))


def read_job_logs(core: Core, selector: JobLogSelector) -> Conversation[None]:
    """Emits JobLogLines; the last one has `end`. Raises ConnectionLost if a stream that does not follow breaks."""
    patience, progress = core.patience(), _Progress(selector)
    while True:
        request = selector.request(is_resumed=progress.is_resumed)
        yield from core.exchange(request, stream=True, patience=patience)
        lost: ConnectionLost | None = None
        try:
            while data := (yield Read()):
                for line in progress.lines(data):
                    patience.reset()
                    core.note_version(str(line.version or ""))
                    yield Emit(line)
                    if line.end is not None:
                        return
        except ConnectionLost as error:
            lost = error
        if not selector.follow:
            raise lost or ConnectionLost("the connection ended before the output did; ask again")
        progress.resume()
        failure = StreamEnded("the connection ended before the job did")
        yield from core.back_off(failure, patience, Deadline(core.clock))


@dataclass(slots=True)
class _Progress:
    """What has been seen, over all streams: of each attempt and stream, up to where."""

    selector: JobLogSelector
    is_resumed: bool = False
    _partial: bytes = b""
    _seen: dict[tuple[str, int, str], int] = field(default_factory=dict)

    def resume(self) -> None:
        self._partial, self.is_resumed = b"", True

    def lines(self, data: bytes) -> Iterator[JobLogLine]:
        *whole, self._partial = (self._partial + data).split(b"\n")
        for text in whole:
            if text:
                line = decode(text, JobLogLine)
                if line.log is None or self._accept(line.log):
                    yield line

    def _accept(self, log: TaskLogView) -> bool:
        key = (log.task, log.attempt, log.stream)
        seen = self._seen.get(key, 0)
        self._seen[key] = max(seen, log.next)
        if not self.is_resumed:
            return True
        if log.next <= seen:
            return False
        if log.offset < seen and log.next - log.offset == len(log.data):
            log.data = log.data[seen - log.offset :]
        if self.selector.grep is not None:
            lines = log.data.split(b"\n")
            ends = [b"\n"] * (len(lines) - 1) + [b""]
            wanted = self.selector.grep.encode()
            log.data = b"".join(line + end for line, end in zip(lines, ends, strict=True) if wanted in line)
        return bool(log.data)
