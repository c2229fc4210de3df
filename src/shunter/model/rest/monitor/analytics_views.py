"""What happened over time, as REST answers show it: ended jobs in steps."""

from __future__ import annotations

import msgspec


class Distribution(msgspec.Struct, kw_only=True):
    """The distribution of all values in the window, in seconds; null without values. `buckets[i]` counts values below
    `bounds[i]` that are not below the bound before; the last one has the rest."""

    p50: float | None
    p95: float | None
    max: float | None
    bounds: list[float]
    buckets: list[int]


class Share(msgspec.Struct, kw_only=True):
    """The share of a user, a namespace, a reason of failures, or a node with failures, largest first. A node has no
    jobs, and its tasks are failed attempts of failed jobs."""

    key: str
    jobs: int
    tasks: int
    failed: int  # jobs


class ClusterSeries(msgspec.Struct, kw_only=True):
    """Means of each step, from samples; null without any. The first four are shares of the capacity of nodes that took
    work: `stranded` is what was free of the cpus while tasks waited."""

    cpu: list[float | None]  # reserved
    memory: list[float | None]
    busy: list[float | None]  # measured
    stranded: list[float | None]
    running: list[float | None]  # tasks
    waiting: list[float | None]


class Analytics(msgspec.Struct, kw_only=True):
    """Jobs that ended in a window of time. Series have a value for each step. `partial`: there were more jobs than one
    answer looks at, so that only the newest are counted. Percentiles are right within an eighth."""

    start: str
    stop: str
    step_s: float
    jobs: int
    succeeded: list[int]  # jobs that ended
    failed: list[int]
    cancelled: list[int]
    tasks: list[int]  # of these jobs
    wait_p50_s: list[float | None]  # from the submit to the first start
    wait_p95_s: list[float | None]
    run_p50_s: list[float | None]  # from the first start to the end
    run_p95_s: list[float | None]
    wait: Distribution
    run: Distribution
    users: list[Share]
    namespaces: list[Share]
    failures: list[Share]  # by reason
    nodes: list[Share] = []  # failures by node
    deadlines: list[int] = []  # missed ones
    deadlines_missed: int
    cluster: ClusterSeries | None = None
    partial: bool
    rollups_from: str | None = None  # since when the leader has added up what happens
