# Generated from async_job.py: change that file, then run `make client`.
"""A job as the blocking client returns it, with every verb for a single job. Created by `client`."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Literal, NamedTuple, overload

from shunter.model.rest.job_views import AttemptPage, AttemptView, FollowLine, JobView, TaskPage, TaskView
from shunter.model.rest.metric_views import MetricsView
from shunter.model.rest.monitor.usage_views import JobUsageView
from shunter.model.rest.monitor.views import JobManifest, TaskMap, Timeline
from shunter.model.rest.plan_views import SuggestionView, WhyView
from shunter.sdk.calls.follow import Ended, LogSelector, Progress, follow_job, follow_log, read_log
from shunter.sdk.calls.requests import Query, TaskKey, Time, job_path, json_request, task_fields, window_query
from shunter.sdk.calls.texts import TextLines, last_lines, task_key
from shunter.sdk.calls.wait import JOB_ENDS, SUCCEEDED, describe_timeout, job_name
from shunter.sdk.errors import JobFailed, ShunterError
from shunter.sdk.manifests import Source, read_manifest
from shunter.sdk.retry import Deadline
from shunter.sdk.transport.steps import Conversation, Request

if TYPE_CHECKING:
    from shunter.sdk.client import Client

TASK_PAGE_MAX = 10_000


class Following(NamedTuple):
    """A stream of a job that `run` began, for `wait` to read on."""

    lines: Generator[FollowLine, None, Ended]
    progress: Progress


class Job:
    """One run of a job, as last seen; `refresh` and `wait` update it. `view` has everything that is known about it."""

    def __init__(
        self,
        client: Client,
        view: JobView,
        created: bool = False,
        exit_code: int | None = None,
        *,
        updated: bool = False,
        following: Following | None = None,
    ) -> None:
        self._client = client
        self.view = view
        self.created = created
        self.updated = updated
        self.exit_code = view.exit_code if exit_code is None else exit_code
        self._following = [] if following is None else [following]  # a list, because threads take it by `pop`

    def __repr__(self) -> str:
        return f"<Job {self.name}@{self.view.run} {self.state}>"

    @property
    def name(self) -> str:
        return self.view.name

    @property
    def namespace(self) -> str:
        return self.view.namespace

    @property
    def id(self) -> int:
        return self.view.id

    @property
    def run(self) -> int:
        return self.view.run

    @property
    def state(self) -> str:
        return self.view.state

    @property
    def counts(self) -> dict[str, int]:
        return self.view.counts

    @property
    def ended(self) -> bool:
        return self.state in JOB_ENDS

    def refresh(self) -> Job:
        return self._fetch_view(Request("GET", self._path()))

    def wait(self, timeout: float | None = None, *, check: bool = False) -> Job:
        """Return when the job has ended. With `check`, raise JobFailed if it did not succeed. After `timeout` seconds,
        raise TimeoutError; the job continues."""
        try:
            if (following := self._take_following()) is not None:
                following.progress.deadline = Deadline.after(self._client._core.clock, timeout)
                for _ in following.lines:
                    pass
                assert following.progress.end is not None, "the stream goes on to the end of the job"
                self.view, self.exit_code = following.progress.end, following.progress.exit_code
            else:
                ended = self._client._perform(self._follow("end", timeout))
                self.view, self.exit_code = ended.view, ended.exit_code
        except TimeoutError as error:
            raise TimeoutError(describe_timeout([job_name(self.view)], 1, timeout)) from error
        if check:
            self._check()
        return self

    def result(self, timeout: float | None = None) -> str:
        """Wait until the job has succeeded, and return what its tasks wrote to stdout, in the order of their indexes.
        Raises JobFailed and TimeoutError."""
        self.wait(timeout, check=True)
        lines = list(self.logs())
        return "".join(lines)

    def _check(self) -> None:
        """Raise JobFailed unless the job, which has ended, succeeded."""
        if self.state == SUCCEEDED:
            return
        task, stderr = None, ""
        with suppress(ShunterError):  # the failure matters more than its output
            for task in self.tasks(states=["failed"], limit=1):
                stderr = last_lines(self.logs(task_key(task), "stderr"))
        exit_code = self.exit_code if task is None else task.exit_code
        raise JobFailed(job_name(self.view), self.state, self.view.reason or "", exit_code, stderr)

    def _take_following(self) -> Following | None:
        try:
            return self._following.pop()
        except IndexError:  # asked this way, because another thread may have taken it
            return None

    def _stop_following(self) -> None:
        if (following := self._take_following()) is not None:
            following.lines.close()

    def follow(self, mode: str = "progress") -> Generator[FollowLine, None, Ended]:
        """Lines about the job until it has ended; `mode` is end, progress or logs (of one-task jobs)."""
        return self._client._transport.stream(self._follow(mode, None))

    def stop(self, *, index: TaskKey | None = None, now: bool = False, signal: str | None = None) -> None:
        """Stop the job, or one of its tasks (an index, or "GROUP/INDEX"): gracefully, with a signal like "INT" instead
        of TERM, or with `now` at once. Returns when that is under way."""
        path = self._path("", [("now", now or None), ("signal", signal)], index)
        self._client._perform(self._client._core.send(Request("DELETE", path)))

    def hold(self) -> Job:
        """Stop new tasks of the job from starting until it is released; running tasks continue."""
        return self._fetch_view(json_request("POST", self._path("/hold")))

    def release(self) -> Job:
        """Let a held job continue."""
        return self._fetch_view(json_request("POST", self._path("/release")))

    def retry(self, *, failed: bool = False) -> Job:
        """Start a new run of this finished one: all of it, or only the tasks that did not succeed."""
        path = self._path("/retry", [("failed", failed or None)])
        request = json_request("POST", path, key=self._client._core.new_key())
        return Job(self._client, self._client._fetch(request, JobView), True)

    def update(self, manifest: Source, node: str | None = None) -> Job:
        """Give a service or system job another spec; with `node`, replace only the instances there."""
        return self._fetch_view(json_request("PUT", self._path("", [("node", node)]), read_manifest(manifest)))

    def scale(self, counts: int | Mapping[str, int]) -> Job:
        """Give a service another count; by group if it has several."""
        by_group = {"": counts} if isinstance(counts, int) else dict(counts)
        return self._fetch_view(json_request("POST", self._path("/scale"), {"counts": by_group}))

    def roll_back(self) -> Job:
        """Roll back to the last stable version, or from a stable version to the one before."""
        return self._fetch_view(Request("POST", self._path("/rollback"), repeatable=False))

    def restart(self, index: TaskKey | None = None) -> Job:
        """Replace all instances of a service or system job, or one, by fresh ones."""
        fields = {} if index is None else task_fields(index)
        return self._fetch_view(json_request("POST", self._path("/restart"), fields, repeatable=False))

    def move(self, index: TaskKey, node: str) -> Job:
        """Move a task to this node."""
        path = self._path("/move", task=index)
        return self._fetch_view(json_request("POST", path, {"node": node}, repeatable=False))

    def tasks(self, *, states: Iterable[str] = (), limit: int | None = None, all: bool = False) -> Iterator[TaskView]:
        """Tasks by index, read page by page as you iterate. `all`: before them, the replaced tasks of a service, whose
        names end in ~PIECE."""
        path = self._path("/tasks", [*(("state", state) for state in states), ("all", all or None)])
        return self._client._pages(path, TaskPage, limit, page_max=TASK_PAGE_MAX)

    def apply_suggestion(self, suggestion: SuggestionView) -> Job:
        """Make a change that `why` has suggested. A batch job that has not started is replaced by a new run, which is
        the answer."""
        body = {"field": suggestion.field, "before": suggestion.before, "after": suggestion.after}
        view = self._client._fetch(json_request("POST", self._path("/suggestions"), body), JobView)
        return Job(self._client, view)

    def manifest(self, version: int | None = None) -> JobManifest:
        """The manifest of the job; of a service also of an earlier version."""
        request = Request("GET", self._path("/manifest", [("version", version)]))
        return self._client._fetch(request, JobManifest)

    def task_map(
        self, *, cells: int | None = None, group: str | None = None, first: int | None = None, last: int | None = None
    ) -> TaskMap:
        """The states of very many tasks, counted in cells of neighbours."""
        query = [("cells", cells), ("group", group), ("first", first), ("last", last)]
        return self._client._fetch(Request("GET", self._path("/task-map", query)), TaskMap)

    def timeline(self, *, steps: int | None = None, limit: int | None = None) -> Timeline:
        """How many attempts ran over time, and up to `limit` of them: what failed first, then the longest."""
        return self._client._fetch(
            Request("GET", self._path("/timeline", [("steps", steps), ("limit", limit)])), Timeline
        )

    def usage(self) -> JobUsageView:
        """What its ended attempts used, by group, with a suggestion for the next request."""
        return self._client._fetch(Request("GET", self._path("/usage")), JobUsageView)

    def task(self, index: TaskKey) -> TaskView:
        return self._client._fetch(Request("GET", self._path(task=index)), TaskView)

    def attempts(self, index: TaskKey = 0) -> list[AttemptView]:
        page = self._client._fetch(Request("GET", self._path("/attempts", task=index)), AttemptPage)
        return page.items

    def metrics(
        self, index: TaskKey = 0, start: Time | None = None, stop: Time | None = None, *, step: str | None = None
    ) -> MetricsView:
        """What a task and its node used; from the task's start to its end, unless you give another window."""
        path = self._path("/metrics", window_query(start, stop, step), index)
        return self._client._fetch(Request("GET", path), MetricsView)

    def why(self, index: TaskKey | None = None) -> WhyView:
        """Why the job, or one of its tasks, is in the state it is in."""
        return self._client._fetch(Request("GET", self._path("/why", task=index)), WhyView)

    @overload
    def logs(
        self, index: None = None, stream: str = "stdout", follow: bool = False, attempt: int | None = None
    ) -> Iterator[str]: ...

    @overload
    def logs(
        self, index: TaskKey, stream: str = "stdout", follow: Literal[False] = False, attempt: int | None = None
    ) -> bytes: ...

    @overload
    def logs(
        self, index: TaskKey, stream: str = "stdout", *, follow: Literal[True], attempt: int | None = None
    ) -> Iterator[bytes]: ...

    def logs(
        self, index: TaskKey | None = None, stream: str = "stdout", follow: bool = False, attempt: int | None = None
    ) -> Iterator[str] | bytes | Iterator[bytes]:
        """What all tasks wrote to `stream` (stdout or stderr), line by line as text, one task after the other. With an
        index, the bytes that this task wrote; with `follow`, in chunks, as it writes them, to its end."""
        if index is None:
            return self._all_logs(stream, follow, attempt)
        selector = LogSelector(self._reference, self.view.namespace, index, stream, attempt)
        if follow:
            return self._client._transport.stream(follow_log(self._client._core, selector))
        return self._whole_log(selector)

    def _all_logs(self, stream: str, follow: bool, attempt: int | None) -> Iterator[str]:
        read = follow_log if follow else read_log
        for task in self.tasks():
            selector = LogSelector(self._reference, self.view.namespace, task_key(task), stream, attempt)
            text = TextLines()
            for chunk in self._client._transport.stream(read(self._client._core, selector)):
                for line in text.lines(chunk):
                    yield line
            for line in text.rest():
                yield line

    def _whole_log(self, selector: LogSelector) -> bytes:
        call = read_log(self._client._core, selector)
        chunks = list(self._client._transport.stream(call))
        return b"".join(chunks)

    def _fetch_view(self, request: Request) -> Job:
        self.view = self._client._fetch(request, JobView)
        return self

    @property
    def _reference(self) -> str:
        return f"id:{self.view.id}"

    def _path(self, subpath: str = "", query: Query = (), task: TaskKey | None = None) -> str:
        return job_path(self._reference, self.view.namespace, subpath, query, task)

    def _follow(self, mode: str, timeout_s: float | None) -> Conversation[Ended]:
        return follow_job(self._client._core, self._reference, self.view.namespace, mode, timeout_s)
