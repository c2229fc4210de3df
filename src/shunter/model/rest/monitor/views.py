"""What screens show of many jobs, tasks and nodes at once, as REST answers: counts, maps, time lines. Large ones are
columns, so that they stay small."""

from __future__ import annotations

from typing import Any

import msgspec


class JobCount(msgspec.Struct, kw_only=True):
    key: str  # the state, queue, user, type or namespace
    jobs: int
    tasks: dict[str, int] = {}  # of unfinished jobs, by state


class JobCounts(msgspec.Struct, kw_only=True):
    """The largest group first."""

    group_by: str
    items: list[JobCount]
    with_finished: bool  # whether ended jobs are counted as well


class SearchHit(msgspec.Struct, kw_only=True):
    kind: str  # job | node | template | queue | BatchJob | Testbed | Scheduling
    name: str  # of a job: NAME@RUN
    namespace: str | None = None
    state: str | None = None


class SearchPage(msgspec.Struct, kw_only=True):
    """The best matches first. `partial`: not all names of ended jobs were looked at."""

    items: list[SearchHit]
    partial: bool = False


class FailureCount(msgspec.Struct, kw_only=True):
    exit_code: int | None  # null: it never ran, or was lost
    tasks: int
    first: int  # SHUNTER_TASK_INDEX of the first of them
    reason: str | None = None  # of the first of them


class TaskMap(msgspec.Struct, kw_only=True):
    """The states of a group's tasks, in cells of neighbours. `counts` has a column for each state that occurs."""

    name: str
    group: str
    groups: list[str]  # of the job
    total: int  # tasks of the group
    first: int  # positions in the group: from 0
    last: int
    starts: list[int]  # SHUNTER_TASK_INDEX of the first task of each cell
    sizes: list[int]  # tasks of each cell
    counts: dict[str, list[int]]
    failures: list[FailureCount] = []  # the most frequent first
    state_version: int = 0


class Timeline(msgspec.Struct, kw_only=True):
    """The attempts of a job over time. `running` has how many ran in each step. The columns below have single
    attempts: what failed first, then the longest; `total` says how many there are."""

    name: str
    start: str | None
    stop: str | None
    step_s: float
    running: list[int]
    total: int
    indexes: list[int] = []
    groups: list[str] = []
    attempts: list[int] = []
    nodes: list[str] = []
    states: list[str] = []
    started_ms: list[int] = []  # since 1970
    ended_ms: list[int | None] = []


class JobManifest(msgspec.Struct, kw_only=True):
    """The manifest of a job, with the fields that are not defaults. `exact`: a submit of it would be the same job.
    `masked`: the values of its environment are hidden from who may only read."""

    name: str
    namespace: str
    version: int
    versions: list[int]  # that are still known
    manifest: dict[str, Any]
    exact: bool
    masked: bool = False


class NodeMap(msgspec.Struct, kw_only=True):
    """All nodes as columns, by name. Shares are thousandths of the capacity. `states` and `groups` are positions in
    `state_names` and `group_names`."""

    names: list[str]
    states: list[int]
    state_names: list[str]
    groups: list[int]
    group_names: list[str]
    eligible: list[bool]
    tasks: list[int]
    cpu: list[int]  # reserved
    memory: list[int]
    disk: list[int]
    busy: list[int]  # measured share of the processors
    reasons: dict[str, str] = {}  # by name: why a node takes no work
    state_version: int = 0


class NodeTaskPage(msgspec.Struct, kw_only=True):
    items: list[NodeTask]
    next: str | None
    total: int


class NodeTask(msgspec.Struct, kw_only=True):
    name: str
    namespace: str
    job: str  # NAME@RUN
    group: str
    index: int
    attempt: int
    state: str
    started_at: str | None = None
