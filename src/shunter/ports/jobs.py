"""What a transport may ask about jobs and their tasks: the Protocols of `gateway.jobs`, `services`, `tasks`, `streams`
and `explain`. Implemented in `gateway/`, always on behalf of one caller.

Calls raise only the errors of `model.errors`. They return only committed state.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from shunter.model.job.arrays import IndexRange
from shunter.model.objects.object_meta import ObjectName
from shunter.model.rest.cluster_views import EventView
from shunter.model.rest.job_views import AttemptPage, FollowLine, JobPage, JobView, SubmittedJob, TaskPage, TaskView
from shunter.model.rest.log_views import JobLogLine
from shunter.model.rest.plan_views import PlanView, WhyView
from shunter.ports.admin import EventPosition
from shunter.ports.objects import Applied
from shunter.ports.principals import JobReference, TaskReference

NEWEST = "newest"
JOB_ORDERS = (NEWEST, "oldest", "name", "priority")  # others than the newest: of unfinished jobs alone


@dataclass(frozen=True, slots=True)
class JobQuery:
    """Newest first. `namespace` None means all namespaces; `after` is the cursor of the page before."""

    namespace: str | None
    states: tuple[str, ...] = ()
    labels: tuple[tuple[str, str], ...] = ()
    limit: int = 100
    after: str | None = None
    text: str = ""  # in the name
    queue: str | None = None
    user: str | None = None
    type: str | None = None
    since_ms: int | None = None  # submitted since then
    sort: str = NEWEST

    @property
    def is_search(self) -> bool:
        """Whether it asks for something that has no index."""
        return bool(self.text or self.queue or self.user or self.type or self.since_ms or self.sort != NEWEST)


@dataclass(frozen=True, slots=True)
class Suggestion:
    """One that `why` made, by its field and values."""

    field: str
    before: Any
    after: Any


@dataclass(frozen=True, slots=True)
class TaskQuery:
    """Selects tasks, which are listed by group and index. `all` also lists replaced tasks, before the others."""

    states: tuple[str, ...] = ()
    limit: int = 1000
    after: str | None = None
    all: bool = False


@dataclass(frozen=True, slots=True)
class LogQuery:
    """A slice of one task's output. `attempt` None means the latest attempt that has started."""

    stream: str = "stdout"  # stdout | stderr
    offset: int = 0
    size_max: int = 2**20
    attempt: int | None = None


@dataclass(frozen=True, slots=True)
class LogChunk:
    """`next_offset` is where the next chunk begins. `eof`: the attempt has ended, and this is the end of its output.
    `truncated`: the log limit removed a part of the output."""

    data: bytes
    next_offset: int
    eof: bool
    truncated: bool = False


@dataclass(frozen=True, slots=True)
class JobLogQuery:
    """The output of many tasks of a job: of these groups, indexes and states, where given. `tail`: the last lines of
    each stream of each task. `grep`: only lines with this text. `since_ms`: without tasks that ended earlier."""

    follow: bool = False
    tail: int | None = None
    grep: str | None = None
    since_ms: int | None = None
    groups: tuple[str, ...] = ()
    indexes: tuple[IndexRange, ...] = ()
    states: tuple[str, ...] = ()
    streams: tuple[str, ...] = ("stdout", "stderr")


@dataclass(frozen=True, slots=True)
class JobNews:
    """News of a watched job, exactly one of: the job as it is (first), a change, its end (last). `position` is to
    resume after it."""

    position: str
    job: JobView | None = None
    change: EventView | None = None
    end: JobView | None = None


class JobService(Protocol):
    async def submit(self, documents: Sequence[object], *, namespace: str, key: str | None) -> list[SubmittedJob]:
        """Submit all of these decoded manifests or none. `namespace` applies where a manifest names none. The same
        `key` returns the same jobs, with `created` false. Raises Invalid, Conflict, Busy."""
        ...

    async def apply_file(
        self, documents: Sequence[object], *, namespace: str, key: str | None
    ) -> list[SubmittedJob | Applied]:
        """Apply the manifests of one file, jobs and objects: all or none, in one commit. The answers are in the order
        of the file. Jobs are submitted as by `submit`, objects applied as by `objects.apply`."""
        ...

    async def page(self, query: JobQuery) -> JobPage: ...

    async def get(self, job: JobReference) -> JobView: ...

    async def runs(self, job: JobReference, limit: int, after: str | None) -> JobPage:
        """All runs of the job's name, newest first."""
        ...

    async def stop(self, job: JobReference, task: TaskReference | None, now: bool, signal: int = 0) -> None:
        """Stop a job or one of its tasks. `now` skips the grace period; `signal` replaces TERM. A finished job stays as
        it is. A stopped task of a service stays down until it is restarted."""
        ...

    async def hold(self, job: JobReference, is_held: bool) -> JobView:
        """Stop new tasks of a job from starting, or release it. Raises Conflict for a finished job."""
        ...

    async def retry(self, job: JobReference, only_failed: bool, key: str | None) -> JobView:
        """Start a new run of a finished one: all tasks, or those that did not succeed. Raises Conflict."""
        ...


class ServiceJobService(Protocol):
    """Long-running jobs: services and system jobs."""

    async def update(self, job: JobReference, document: object, *, namespace: str, node: str | None) -> JobView:
        """Change the spec of a running job. With a node, only of the instances on it."""
        ...

    async def scale(self, job: JobReference, counts: Mapping[str, int]) -> JobView:
        """Set new counts by group; "" names the only group."""
        ...

    async def roll_back(self, job: JobReference) -> JobView:
        """Roll back to the last stable version, or from a stable version to the one before."""
        ...

    async def restart(self, job: JobReference, task: TaskReference | None) -> JobView:
        """Replace all instances, or one, with fresh ones of the same spec."""
        ...

    async def move(self, job: JobReference, task: TaskReference, node: str) -> JobView:
        """Move a task to this node."""
        ...


class TaskService(Protocol):
    async def page(self, job: JobReference, query: TaskQuery) -> TaskPage: ...

    async def get(self, job: JobReference, task: TaskReference) -> TaskView: ...

    async def attempts(self, job: JobReference, task: TaskReference) -> AttemptPage:
        """Oldest first; the current or last attempt is at the end."""
        ...


class StreamService(Protocol):
    """Logs, and jobs that are followed to their end. Errors of a reference are raised before a stream is returned."""

    async def follow_job(self, job: JobReference, mode: str) -> AsyncGenerator[FollowLine, None]:
        """Lines for mode `end`, `progress` or `logs`: first the job, at once; last its end. A job of several tasks has
        no log lines. If the manager stops, the stream ends without the job's end."""
        ...

    async def watch_job(self, job: JobReference, after: EventPosition | None) -> AsyncGenerator[JobNews, None]:
        """Every change of a run in order, from now on or after the position, until it ends. Raises Gone for a
        position whose events are not stored any more, and Unavailable if the manager stops first."""
        ...

    async def read_log(self, job: JobReference, task: TaskReference, query: LogQuery) -> LogChunk:
        """What is there now, at most `size_max` bytes; empty at the end."""
        ...

    async def follow_log(
        self, job: JobReference, task: TaskReference, query: LogQuery
    ) -> AsyncGenerator[LogChunk, None]:
        """Chunks as they are written, until the task ends. Includes later attempts, unless the query names one. The
        first chunk comes at once, even if it is empty."""
        ...

    async def job_logs(self, job: JobReference, query: JobLogQuery) -> AsyncGenerator[JobLogLine, None]:
        """The output of the latest attempts of many tasks, in whole lines: task by task, or with `follow` as they are
        written, until the job ends. The last line says what was left out and what is missing."""
        ...


class ExplainService(Protocol):
    async def why(self, job: JobReference, task: TaskReference | None = None) -> WhyView:
        """Why a job, or one of its tasks, is in its state. If it waits, also which single changes would start it, and
        when it may start."""
        ...

    async def apply_suggestion(self, job: JobReference, suggestion: Suggestion) -> JobView:
        """Make a change that `why` has suggested. A batch job that has not started is replaced by a new run. Raises
        Conflict if the change would not start the job any more, or if the job has started."""
        ...

    async def why_object(self, kind: str, name: ObjectName) -> WhyView:
        """Why a Testbed, BatchJob or Scheduling is in its state. Raises NotFound."""
        ...

    async def plan(self, documents: Sequence[object], *, namespace: str) -> PlanView:
        """What submitting and applying these manifests would do now, without doing it. Raises what that would."""
        ...
