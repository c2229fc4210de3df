"""Waits for many jobs: one list of their states, then one stream of events. Called by both clients.

No request is made per job: pages of a thousand jobs say which of them have ended, and events say it of the others."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import TypeVar

from msgspec.structs import replace

from shunter.model.job.spec import BATCH, PRIORITY_DEFAULT
from shunter.model.lifecycles import JOB
from shunter.model.rest.cluster_views import ClusterInfo, EventView
from shunter.model.rest.job_views import JobPage, JobView, SubmittedJob
from shunter.sdk.calls.follow import ALL_NAMESPACES, parse_event, read_events
from shunter.sdk.calls.requests import path_with
from shunter.sdk.core import PAGE_MAX, Core
from shunter.sdk.errors import Conflict, Gone, Invalid, NotFound, Problem
from shunter.sdk.responses import decode
from shunter.sdk.retry import Deadline
from shunter.sdk.transport.steps import Conversation, Emit, Request

T = TypeVar("T")

SUCCEEDED = "succeeded"
JOB_ENDS = frozenset(state.wire_name for state in JOB.terminal_states)
JOBS_NAMED_MAX = 3  # in the text of a time-out

_JOB_END_TYPES = frozenset(f"job.{state}" for state in JOB_ENDS)
_TASK_END_TYPES = frozenset(f"tasks.{state}" for state in JOB_ENDS)  # tasks end like jobs
_EVENT_LINES = tuple(f"event: {each}\n".encode() for each in (*_JOB_END_TYPES, *_TASK_END_TYPES))
_Run = tuple[str | None, str | None, int | None]  # namespace, name, run


def wait_for_ends(core: Core, views: Iterable[JobView], timeout_s: float | None) -> Conversation[None]:
    """Emits lists of the views of jobs that ended together, in the order of their ends, until all have ended. Raises
    TimeoutError. An event does not count the tasks of an array that did not succeed: its view has no counts."""
    wait = _Wait(core, {view.id: view for view in views}, Deadline.after(core.clock, timeout_s))
    for view in wait.unfinished.values():
        if not view.run:
            raise Conflict(f"{view.name} is a template, which does not end; wait for a job of client.dispatch")
    try:
        while wait.unfinished:
            try:
                yield from wait.run()
            except Gone:
                pass  # events since the position were dropped from history: list the jobs again
    except TimeoutError as error:
        names = [job_name(view) for view in wait.unfinished.values()]
        raise TimeoutError(describe_timeout(names, wait.total, timeout_s)) from error


def job_list(jobs: Iterable[T]) -> list[T]:
    """Raises Invalid if these are no Jobs."""
    if hasattr(jobs, "view"):
        raise Invalid([Problem("jobs", "must be a list of Jobs", str(jobs), "write [job], or job.wait()")])
    found = list(jobs)
    for job in [jobs] if isinstance(jobs, str) else found:
        if not hasattr(job, "view"):
            raise Invalid([Problem("jobs", "must be a list of Jobs", str(job), f"get one with client.job({job!r})")])
    return found


def submitted_view(job: SubmittedJob) -> JobView:
    """What the answer to a submit of many jobs tells about one."""
    return JobView(
        name=job.name, namespace=job.namespace, id=job.id, run=job.run, state=job.state or "pending", type=BATCH,
        count=job.count or 1, counts={}, priority=PRIORITY_DEFAULT, submitted_at="",
    )  # fmt: skip


def describe_timeout(names: list[str], total: int, timeout_s: float | None) -> str:
    seconds = "" if timeout_s is None else f" after {timeout_s:g} s"
    if total == 1:
        return f"timed out{seconds}: job {names[0]} has not ended"
    more = f" and {len(names) - JOBS_NAMED_MAX:,} more" if len(names) > JOBS_NAMED_MAX else ""
    named = ", ".join(names[:JOBS_NAMED_MAX])
    return f"timed out{seconds}: {len(names):,} of {total:,} jobs have not ended: {named}{more}"


def job_name(view: JobView) -> str:
    return f"{view.name}@{view.run}"


class _Wait:
    """The jobs of one call that have not ended."""

    def __init__(self, core: Core, views: dict[int, JobView], deadline: Deadline) -> None:
        self._core, self._deadline = core, deadline
        self.unfinished, self.total = views, len(views)
        self._ids: dict[_Run, int] = {(view.namespace, view.name, view.run): id for id, view in views.items()}
        self._exit_codes: dict[_Run, int | None] = {}  # of tasks that have ended

    def run(self) -> Conversation[None]:
        """The position comes before the list: what ends after the list was read has an event after the position."""
        cluster = yield from self._fetch(Request("GET", "/cluster"), ClusterInfo)
        listed = yield from list_jobs(self._core, list(self.unfinished.values()), self._deadline)
        for id, view in self.unfinished.items():
            if id not in listed:
                raise NotFound(f"job {job_name(view)} has ended and is no longer in history")
        self.unfinished = {id: listed[id] for id in self.unfinished if listed[id].state not in JOB_ENDS}
        if ended := [view for view in listed.values() if view.state in JOB_ENDS]:
            yield Emit(sorted(ended, key=lambda view: (view.ended_at or "", view.id)))
        if self.unfinished:
            path = path_with("/events", [("namespace", namespace_of(self.unfinished.values()))])
            yield from read_events(self._core, path, str(cluster.state_version), self._deadline, self._process)

    def _process(self, messages: list[bytes]) -> Conversation[bool]:
        ended: list[JobView] = []
        is_done = False
        for message in messages:
            if not any(line in message for line in _EVENT_LINES) or (event := parse_event(message)) is None:
                continue
            run: _Run = (event.namespace, event.job, event.run)
            view = self.unfinished.get(self._ids.get(run, 0))
            if event.run is None and event.type in _JOB_END_TYPES:
                is_done = True  # a manager of version 0.1 does not name the run: list the jobs again
            elif view is not None and event.type in _TASK_END_TYPES:
                self._exit_codes[run] = event.exit_code
            elif view is not None:
                del self.unfinished[view.id]
                ended.append(_ended_view(view, event, self._exit_codes.pop(run, None)))
        if ended:
            yield Emit(ended)
        return is_done or not self.unfinished

    def _fetch(self, request: Request, shape: type[T]) -> Conversation[T]:
        response = yield from self._core.exchange(request, deadline=self._deadline)
        return decode(response.body, shape)


def list_jobs(
    core: Core, views: Collection[JobView], deadline: Deadline | None = None
) -> Conversation[dict[int, JobView]]:
    """The jobs among these that the cluster knows, by id. Each page begins at the newest that is still to be found."""
    ids = {view.id for view in views}
    namespace = namespace_of(views)
    found: dict[int, JobView] = {}
    remaining = sorted(ids)
    while remaining:
        size = min(PAGE_MAX, remaining[-1] - remaining[0] + 1)
        query = [("namespace", namespace), ("limit", size), ("after", remaining[-1] + 1)]
        response = yield from core.exchange(Request("GET", path_with("/jobs", query)), deadline=deadline)
        page = decode(response.body, JobPage)
        found |= {view.id: view for view in page.items if view.id in ids}
        oldest_seen = page.items[-1].id if page.items and page.next else 0
        remaining = [id for id in remaining if id < oldest_seen]
    return found


def namespace_of(views: Iterable[JobView]) -> str:
    namespaces = {view.namespace for view in views}
    return namespaces.pop() if len(namespaces) == 1 else ALL_NAMESPACES


def _ended_view(view: JobView, event: EventView, exit_code: int | None) -> JobView:
    """The job as this event says that it ended."""
    state = event.type.removeprefix("job.")
    is_clear = view.count == 1 or state == SUCCEEDED
    return replace(
        view, state=state, counts={state: view.count} if is_clear else {}, ended_at=event.at, reason=event.reason,
        exit_code=exit_code if view.count == 1 else None,
    )  # fmt: skip
