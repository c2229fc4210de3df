"""Templates, queues and dead letters as REST answers show them."""

from __future__ import annotations

import msgspec

from shunter.model.rest.job_views import SubmittedJob


class TemplateView(msgspec.Struct, kw_only=True):
    """A job with a schedule or parameters, which starts runs by schedule or dispatch."""

    name: str
    namespace: str
    id: int
    state: str  # scheduled | dispatchable | paused
    type: str
    count: int
    command: list[str]
    user: str
    labels: dict[str, str]
    set_at: str
    cron: str | None = None
    timezone: str | None = None
    overlap: str | None = None
    catch_up: str | None = None
    next_at: str | None = None
    required: list[str] = []  # parameters that a dispatch must give
    optional: dict[str, str] = {}  # optional parameters with their defaults
    payload: str | None = None  # optional | required | forbidden
    last_run: int | None = None
    last_state: str | None = None
    unfinished: int = 0  # runs
    skipped_at: str | None = None  # time and reason of the last skipped firing
    skipped_because: str | None = None


class TemplatePage(msgspec.Struct):
    items: list[TemplateView]
    next: str | None
    total: int


class QueueView(msgspec.Struct, kw_only=True):
    """A queue. A limit of null means no limit."""

    name: str
    queued: int  # tasks that could start
    running: int  # tasks on nodes
    paused: bool
    strict: bool
    running_max: int | None = None
    queued_max: int | None = None


class QueuePage(msgspec.Struct):
    items: list[QueueView]
    next: str | None
    total: int


class DeadView(msgspec.Struct, kw_only=True):
    """A task that failed after its last restart."""

    name: str  # JOB@RUN/INDEX, or JOB@RUN/GROUP/INDEX
    number: int
    namespace: str
    job: str
    run: int
    group: str
    index: int
    exit_code: int | None
    reason: str
    at: str


class DeadPage(msgspec.Struct):
    items: list[DeadView]
    next: str | None
    total: int


class Replayed(msgspec.Struct):
    """The runs that a replay started; `left` counts letters of jobs that have not ended or are no longer in history."""

    items: list[SubmittedJob]
    left: int = 0


class Purged(msgspec.Struct):
    count: int
