"""Usage as REST answers show it: what ended attempts used against what was requested, by job, and as sums."""

from __future__ import annotations

import msgspec


class GroupUsageView(msgspec.Struct, kw_only=True):
    """The usage of the attempts of a group that have ended and were measured. Sums are over all of them, `max` is that
    of one attempt. Fields are null where nothing was measured."""

    name: str
    tasks: int
    attempts: int
    requested: dict[str, str] = {}
    suggested: dict[str, str] = {}  # for the next request; empty without measured attempts
    run_s: float = 0.0
    run_max_s: float = 0.0
    cpu_s: float = 0.0
    cores_mean: float | None = None
    cores_max: float | None = None  # the highest mean of an attempt
    memory_p95_bytes: int | None = None  # what 95 % of the attempts did not exceed
    memory_max_bytes: int | None = None
    read_bytes: int = 0
    written_bytes: int = 0


class JobUsageView(msgspec.Struct, kw_only=True):
    name: str
    namespace: str
    id: int
    run: int
    state: str
    user: str
    groups: list[GroupUsageView]


class UsageSum(msgspec.Struct, kw_only=True):
    """The usage of the finished jobs of one user, queue, namespace or tenant."""

    key: str  # empty: none, like the tenant of a namespace that has no owner
    jobs: int = 0
    measured_jobs: int = 0  # those with at least one measured attempt; what follows is about them
    attempts: int = 0
    run_s: float = 0.0
    cpu_s: float = 0.0
    cpu_requested_s: float = 0.0  # the requested cores, times the run time
    memory_max_bytes: int = 0  # of one attempt
    read_bytes: int = 0
    written_bytes: int = 0


class UsageSums(msgspec.Struct, kw_only=True):
    """Most CPU time first. `partial`: only the newest of very many jobs were counted."""

    by: str
    since: str
    items: list[UsageSum]
    partial: bool = False
