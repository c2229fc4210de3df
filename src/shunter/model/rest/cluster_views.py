"""The cluster as REST answers show it: its settings and totals, its policies, its events."""

from __future__ import annotations

import msgspec


class StoppingView(msgspec.Struct, omit_defaults=True):
    """The answer to a request to stop."""

    status: str
    not_stopped: list[str] = []  # workers and managers of the whole cluster, with the reason of each


class LicenceView(msgspec.Struct, kw_only=True):
    total: int
    used: int


class ClusterInfo(msgspec.Struct, kw_only=True):
    name: str
    version: str  # of the software
    state_version: int
    epoch: int
    policy: str
    heartbeat_s: float  # current heartbeat interval
    started_at: str
    simulated: bool
    nodes: dict[str, int]  # by state
    jobs: dict[str, int]  # unfinished ones, by state
    tasks: dict[str, int]  # of unfinished jobs, by state
    capacity: dict[str, str]  # of nodes that are not down
    reserved: dict[str, str]
    licences: dict[str, LicenceView] = {}
    preemption: str = "auto"  # how much higher a priority must be to preempt; auto: the policy's default
    reserve_after: str = "auto"  # how long a single task waits before it gets a reservation
    hold_after: str = "auto"  # how long an item waits before room is held for it without a known start time
    fallback: str = ""  # policy used while an external scheduler is silent
    lease: str = "auto"  # how long an external scheduler may be silent
    flight: str = "on"  # whether every decision is recorded


class PolicyView(msgspec.Struct, kw_only=True):
    name: str
    kind: str  # policy | score | filter | remote (an external scheduler) | shadow
    source: str  # built in, the package that brings it, or how an external one is doing
    active: bool
    error: str | None = None  # why it cannot be used, or what went wrong when it was used last
    failures: int = 0
    state: str | None = None  # of a scheduler outside of rounds: connected, silent or overruled
    refusals: int = 0  # items of its decisions that were refused
    last_refusal: str | None = None


class PolicyPage(msgspec.Struct):
    items: list[PolicyView]
    next: str | None
    total: int


class EventView(msgspec.Struct, kw_only=True, omit_defaults=True):
    """One event: one per range of tasks and transition, not per task. `id` orders all events and resumes a stream."""

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
    run: int | None = None  # of the job


class EventPage(msgspec.Struct):
    items: list[EventView]
    next: str | None
    total: int
