"""What people and programs see of the cluster: the shapes of REST answers, shared by the API, the SDK and the CLI.

Times are ISO-8601 in UTC; what is not known yet is null.
"""

from __future__ import annotations

from typing import Any

import msgspec


class TaskView(msgspec.Struct, kw_only=True):
    name: str  # JOB/INDEX, or JOB/GROUP/INDEX
    index: int
    state: str
    attempt: int
    group: str = "main"
    array_index: int | None = None  # what SHUNTER_TASK_INDEX says, where an array counts otherwise than from 0
    entry: str | None = None  # what SHUNTER_ENTRY says
    ports: dict[str, int] = {}  # name -> host port, of what runs
    healthy: bool | None = None  # what its checks say while it runs; None without checks
    node: str | None = None
    exit_code: int | None = None
    started_at: str | None = None
    ended_at: str | None = None
    reason: str | None = None  # why it failed, was lost, or waits
    restarts: int = 0
    lost: int = 0
    current: bool | None = None  # whether it follows the present version; null for what is never updated


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
    """What a job or a group waits for, or has waited for."""

    name: str  # of the job, with its run, or of the group
    when: str  # succeeded | finished | failed
    otherwise: str  # cancel | run
    open: bool  # it is still waited for
    outcome: str | None = None  # of a job: how it ended. Null: it had not when the waiting was over, or is yet to end


class GroupView(msgspec.Struct, kw_only=True):
    name: str
    count: int
    counts: dict[str, int]
    command: list[str] = []
    image: str | None = None
    resources: dict[str, str] = {}
    after: list[EdgeView] = []  # other groups of the job


class JobTerms(msgspec.Struct, kw_only=True):
    """What of a job is not plain: when it may start, by when it shall be done, what it waits for."""

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
    """How far a service or system job has come with its present version."""

    status: str  # starting | steady | updating | rolling back | restarting | stalled
    wanted: int  # instances
    updated: int  # of them, those that follow the present version
    healthy: int  # of them, of whatever version
    reason: str | None = None
    began_at: str | None = None
    good_version: int | None = None  # the last one by which all of it ran well


def describe_end_state(state: str) -> str:
    """`has succeeded`, `has failed`, `was cancelled`; of a template, `is paused` and the like."""
    if state == "cancelled":
        return "was cancelled"
    return f"has {state}" if state in ("succeeded", "failed") else f"is {state}"


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
    update: UpdateView | None = None  # null for what runs once


class SubmittedJob(msgspec.Struct, kw_only=True):
    """One line of the answer to a submit; not created means that the same key, or an unchanged job, was found; or, if
    updated, a service or system job that has another spec now."""

    name: str
    namespace: str
    id: int
    run: int
    created: bool
    updated: bool = False


class SubmittedJobs(msgspec.Struct):
    items: list[SubmittedJob]


class ProgressView(msgspec.Struct):
    state: str
    counts: dict[str, int]


class LogView(msgspec.Struct):
    stream: str
    data: bytes  # base64 in JSON


class FollowLine(msgspec.Struct, kw_only=True, omit_defaults=True):
    """One line of a followed job: exactly one of job (first), progress, log, end (last; with the only task's code)."""

    job: JobView | None = None
    progress: ProgressView | None = None
    log: LogView | None = None
    end: JobView | None = None
    exit_code: int | None = None


class NodeView(msgspec.Struct, kw_only=True):
    name: str
    id: int
    state: str
    eligible: bool
    reason: str | None
    datacenter: str
    labels: dict[str, str]
    attributes: dict[str, str]
    capacity: dict[str, str]
    reserved: dict[str, str]
    tasks: int  # assigned and running
    role: str = "worker"
    heard_at: str | None = None
    stats: dict[str, Any] | None = None
    stats_stale: bool = False


class TaskStatsView(msgspec.Struct, kw_only=True):
    name: str  # JOB/INDEX
    namespace: str
    index: int
    attempt: int
    cpu_s: float
    memory_bytes: int
    processes: int


class NodeStatsView(msgspec.Struct, kw_only=True):
    """A node's machine and its running tasks, fresh from the worker."""

    name: str
    at: str
    machine: dict[str, Any]
    tasks: list[TaskStatsView]


class EventView(msgspec.Struct, kw_only=True, omit_defaults=True):
    """One line of history: one per range and move, never one per task. `id` orders all events and resumes a stream."""

    id: str  # VERSION-N
    at: str
    type: str  # job.submitted, tasks.started, node.down, ... as in the event catalogue
    name: str
    namespace: str | None = None
    job: str | None = None
    group: str | None = None  # where the job has several
    tasks: str | None = None  # "3" or "0-99"
    node: str | None = None
    attempt: int | None = None
    state: str | None = None
    exit_code: int | None = None
    reason: str | None = None


class ReasonView(msgspec.Struct, kw_only=True):
    text: str
    nodes: int
    examples: list[str] = []


class SuggestionView(msgspec.Struct, kw_only=True):
    """One change that would start the job now; the planner was asked. `field` is that of the manifest, or of the thing
    outside it that would have to change (`node.NAME.cordoned`, `queue.NAME.running_max`)."""

    field: str
    before: Any
    after: Any  # null: without it
    text: str
    nodes: int = 0  # on which a task would fit then
    starts: int = 0  # tasks that would start at once
    preempts: int = 0  # tasks of others that would have to end first


class StartView(msgspec.Struct, kw_only=True):
    """When the next task is expected to start; no time means that nobody can say. `basis` tells what it rests on."""

    at: str | None
    basis: str


class WhyView(msgspec.Struct, kw_only=True):
    name: str
    state: str
    sentence: str
    counts: dict[str, int]
    reasons: list[ReasonView] = []
    suggestions: list[SuggestionView] = []  # the smallest change first
    start: StartView | None = None


class PlannedPlacementView(msgspec.Struct, kw_only=True):
    node: str
    count: int
    group: str = "main"


class PlannedJobView(msgspec.Struct, kw_only=True):
    """What would become of one job of a plan."""

    name: str
    namespace: str
    verdict: str  # starts | waits | updates | unchanged | kept
    sentence: str
    count: int
    starts: int
    waits: int
    placements: list[PlannedPlacementView] = []
    reasons: list[ReasonView] = []


class PlannedPreemptionView(msgspec.Struct, kw_only=True):
    name: str  # the job whose tasks would end
    namespace: str
    node: str
    count: int


class PlanView(msgspec.Struct, kw_only=True):
    """What submitting these jobs would do now. Nothing was done."""

    starts: bool  # everything would start
    sentence: str
    state_version: int
    policy: str
    jobs: list[PlannedJobView]
    preemptions: list[PlannedPreemptionView] = []


class PolicyView(msgspec.Struct, kw_only=True):
    name: str
    kind: str  # policy | score | filter | remote (an external scheduler) | shadow
    source: str  # built in, the package that brings it, or how an external one is doing
    active: bool
    error: str | None = None  # why it cannot be used, or what went wrong when it was used last
    failures: int = 0


class PolicyPage(msgspec.Struct):
    items: list[PolicyView]
    next: str | None
    total: int


class LicenceView(msgspec.Struct, kw_only=True):
    total: int
    used: int


class ClusterInfo(msgspec.Struct, kw_only=True):
    name: str
    version: str  # of the software
    state_version: int
    epoch: int
    policy: str
    heartbeat_s: float  # how often a node is heard of, at present
    started_at: str
    simulated: bool
    nodes: dict[str, int]  # by state
    jobs: dict[str, int]  # unfinished ones, by state
    tasks: dict[str, int]  # of unfinished jobs, by state
    capacity: dict[str, str]
    reserved: dict[str, str]
    licences: dict[str, LicenceView] = {}
    preemption: str = "auto"  # how much higher a priority must be to end others' tasks; auto is the default, or off
    reserve_after: str = "auto"  # how long a single task waits before it gets a reservation; likewise
    hold_after: str = "auto"  # how long before room is held of which nobody knows when it is enough; likewise
    fallback: str = ""  # who decides while an external scheduler is silent
    lease: str = "auto"  # how long one may be silent
    flight: str = "on"  # whether every decision is recorded


class JobPage(msgspec.Struct):
    items: list[JobView]
    next: str | None
    total: int


class TaskPage(msgspec.Struct):
    items: list[TaskView]
    next: str | None
    total: int


class AttemptPage(msgspec.Struct):
    items: list[AttemptView]
    next: str | None
    total: int


class NodePage(msgspec.Struct):
    items: list[NodeView]
    next: str | None
    total: int


class EventPage(msgspec.Struct):
    items: list[EventView]
    next: str | None
    total: int
