"""Jobs and tasks as REST answers show them: their state, their groups, the answer to a submit, and a followed job."""

from __future__ import annotations

import msgspec


class TaskView(msgspec.Struct, kw_only=True):
    name: str  # JOB/INDEX, or JOB/GROUP/INDEX
    index: int  # SHUNTER_TASK_INDEX
    state: str
    attempt: int
    group: str = "main"
    array_index: int | None = None  # the same, if its group has an array
    entry: str | None = None  # SHUNTER_ENTRY
    ports: dict[str, int] = {}  # name -> host port, of what runs
    healthy: bool | None = None  # what its checks say while it runs; None without checks
    node: str | None = None
    exit_code: int | None = None
    started_at: str | None = None
    ended_at: str | None = None
    reason: str | None = None  # why it failed, was lost, or waits
    restarts: int = 0
    lost: int = 0
    current: bool | None = None  # whether it has the current version; null for batch jobs


class AttemptView(msgspec.Struct, kw_only=True):
    name: str  # JOB/INDEX#ATTEMPT
    index: int
    attempt: int
    state: str
    node: str | None = None
    exit_code: int | None = None
    started_at: str | None = None
    ended_at: str | None = None
    reason: str | None = None


class EdgeView(msgspec.Struct, kw_only=True):
    """A dependency of a job or a group, met or not."""

    name: str  # of the job, with its run, or of the group
    when: str  # succeeded | finished | failed
    otherwise: str  # cancel | run
    open: bool  # it is still waited for
    outcome: str | None = None  # how the job ended; null if it has not ended


class GroupView(msgspec.Struct, kw_only=True):
    name: str
    count: int
    counts: dict[str, int]
    command: list[str] = []
    image: str | None = None
    resources: dict[str, str] = {}
    after: list[EdgeView] = []  # other groups of the job


class JobTerms(msgspec.Struct, kw_only=True):
    """Terms of a job that are not defaults: start time, deadline, dependencies."""

    queue: str = "default"
    held: bool = False
    start_at: str | None = None
    deadline: str | None = None
    deadline_missed: bool = False
    timeout_s: float | None = None  # of the whole job
    failures_max: int | None = None
    waits_for: list[str] = []  # in words
    after: list[EdgeView] = []  # other jobs


class UpdateView(msgspec.Struct, kw_only=True):
    """Progress of the rollout of a service or system job."""

    status: str  # starting | steady | updating | rolling back | restarting | stalled | crashing | degraded | ended
    wanted: int  # instances
    updated: int  # instances with the current version
    healthy: int  # healthy instances of any version
    reason: str | None = None
    began_at: str | None = None
    good_version: int | None = None  # the last version whose rollout completed
    leaving: int = 0  # tasks that still exist, and are being replaced or removed


class JobView(msgspec.Struct, kw_only=True):
    name: str
    namespace: str
    id: int
    run: int
    state: str
    type: str
    count: int
    counts: dict[str, int]
    priority: int
    submitted_at: str
    started_at: str | None = None
    ended_at: str | None = None
    reason: str | None = None
    labels: dict[str, str] = {}
    user: str = ""
    command: list[str] = []  # of the first group, like the image and the resources
    image: str | None = None  # of what runs in containers
    resources: dict[str, str] = {}
    groups: list[GroupView] = []  # where there are several
    terms: JobTerms | None = None  # null for a plain job
    version: int = 1  # of its spec
    update: UpdateView | None = None  # null for batch jobs
    exit_code: int | None = None  # of the only task of a run that has ended


class TaskPage(msgspec.Struct):
    items: list[TaskView]
    next: str | None
    total: int


class AttemptPage(msgspec.Struct):
    items: list[AttemptView]
    next: str | None
    total: int


class JobPage(msgspec.Struct):
    items: list[JobView]
    next: str | None
    total: int
    partial: bool = False  # a search stopped early: `next` goes on, and `total` counts what was found so far


class SubmittedJob(msgspec.Struct, kw_only=True):
    """The result of one submitted job. Not created: the same key, or an unchanged job, already exists; or, if
    updated, a service or system job has a new spec."""

    name: str
    namespace: str
    id: int
    run: int
    created: bool
    updated: bool = False
    state: str | None = None
    count: int | None = None  # of tasks


class SubmittedJobs(msgspec.Struct):
    items: list[SubmittedJob]


class ProgressView(msgspec.Struct):
    state: str
    counts: dict[str, int]


class LogView(msgspec.Struct):
    stream: str
    data: bytes  # base64 in JSON


class FollowLine(msgspec.Struct, kw_only=True, omit_defaults=True):
    """One line of a followed job: exactly one of job (first), progress, log, end (last; with the only task's code).
    `output_error`, with `end`: why output is missing that was to be followed. `version`: of the state that it shows;
    lines of output have none."""

    job: JobView | None = None
    progress: ProgressView | None = None
    log: LogView | None = None
    end: JobView | None = None
    exit_code: int | None = None
    output_error: str | None = None
    version: int | None = None


def describe_end_state(state: str) -> str:
    """`has succeeded`, `has failed`, `was cancelled`; of a template, `is paused` and the like."""
    if state == "cancelled":
        return "was cancelled"
    return f"has {state}" if state in ("succeeded", "failed") else f"is {state}"
