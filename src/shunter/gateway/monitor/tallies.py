"""What analytics counts: of ended jobs, and of the cluster. Tallies of neighbours in time can be added up, which makes
them rollups. Pure; used by `analytics` and `rollup_recorder`.

Times are counted in buckets of a tenth of a power of ten, so that a percentile is right within an eighth."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from datetime import datetime
from itertools import accumulate

import msgspec

from shunter.model.rest.job_views import JobView
from shunter.model.rest.monitor.analytics_views import Distribution

KEYS_MAX = 200  # users, reasons or nodes of one tally
OTHERS = "others"
SMALLEST_S = 0.001
BUCKETS_PER_POWER = 10
BUCKET_MAX = 120
BOUNDS_S = (0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0, 300.0, 1_000.0, 3_000.0, 10_000.0, 30_000.0, 100_000.0)
_FIRST_FAILURE = re.compile(r"; first failure: task [^:]*: (.+)", re.DOTALL)
STATES = ("succeeded", "failed", "cancelled")


class Times(msgspec.Struct, array_like=True):
    """How often times fell into which bucket, and the largest."""

    buckets: dict[int, int] = {}
    largest_s: float = 0.0

    def add(self, seconds: float) -> None:
        bucket = bucket_of(seconds)
        self.buckets[bucket] = self.buckets.get(bucket, 0) + 1
        self.largest_s = max(self.largest_s, seconds)

    def merge(self, other: Times) -> None:
        for bucket, count in other.buckets.items():
            self.buckets[bucket] = self.buckets.get(bucket, 0) + count
        self.largest_s = max(self.largest_s, other.largest_s)

    def percentile(self, share: float) -> float | None:
        """The middle of the bucket that it falls into; never above the largest."""
        ordered = sorted(self.buckets.items())
        total = sum(count for _, count in ordered)
        for (bucket, _), reached in zip(ordered, accumulate(count for _, count in ordered), strict=True):
            if reached >= share * total:
                return round(min(middle_of(bucket), self.largest_s), 3)
        return None

    def distribution(self) -> Distribution:
        counts = [0] * (len(BOUNDS_S) + 1)
        for bucket, count in self.buckets.items():
            middle = middle_of(bucket)
            counts[sum(bound <= middle for bound in BOUNDS_S)] += count
        largest = round(self.largest_s, 3) if self.buckets else None
        return Distribution(
            p50=self.percentile(0.5), p95=self.percentile(0.95), max=largest, bounds=list(BOUNDS_S), buckets=counts
        )


class JobTally(msgspec.Struct, array_like=True):
    """Counts of the ended jobs of one namespace. `users` and `reasons`: jobs, tasks and failed jobs; `nodes`: failed
    attempts."""

    states: list[int] = msgspec.field(default_factory=lambda: [0, 0, 0])
    tasks: int = 0
    deadlines_missed: int = 0
    wait: Times = msgspec.field(default_factory=Times)  # from the submit to the first start
    run: Times = msgspec.field(default_factory=Times)  # from the first start to the end
    users: dict[str, list[int]] = {}
    reasons: dict[str, list[int]] = {}
    nodes: dict[str, int] = {}

    @property
    def jobs(self) -> int:
        return sum(self.states)

    def add(self, view: JobView, ended_s: float) -> None:
        if view.state in STATES:
            self.states[STATES.index(view.state)] += 1
        self.tasks += view.count
        self.deadlines_missed += view.terms is not None and view.terms.deadline_missed
        has_failed = view.state == "failed"
        counts = [1, view.count, int(has_failed)]
        add_counts(self.users, {view.user: counts})
        if has_failed:
            add_counts(self.reasons, {common_reason(view.reason): counts})
        if view.started_at:
            started_s = seconds_of(view.started_at)
            self.wait.add(max(0.0, started_s - seconds_of(view.submitted_at)))
            self.run.add(max(0.0, ended_s - started_s))

    def merge(self, other: JobTally) -> None:
        self.states = [one + more for one, more in zip(self.states, other.states, strict=True)]
        self.tasks += other.tasks
        self.deadlines_missed += other.deadlines_missed
        self.wait.merge(other.wait)
        self.run.merge(other.run)
        add_counts(self.users, other.users)
        add_counts(self.reasons, other.reasons)
        add_failures(self.nodes, other.nodes)


class ClusterTally(msgspec.Struct, array_like=True):
    """Sums over samples. Shares are of the capacity of the nodes that take work."""

    samples: int = 0
    cpu: float = 0.0  # reserved
    memory: float = 0.0
    busy: float = 0.0  # measured share of the processors
    stranded: float = 0.0  # share of the cpus that is free while tasks wait
    running: float = 0.0  # tasks
    waiting: float = 0.0

    def merge(self, other: ClusterTally) -> None:
        for name in self.__struct_fields__:
            setattr(self, name, getattr(self, name) + getattr(other, name))

    def mean(self, name: str) -> float | None:
        return round(getattr(self, name) / self.samples, 4) if self.samples else None


class Rollup(msgspec.Struct, omit_defaults=True):
    """What happened from `start` on, for as long as a row of its tier takes."""

    start: int  # seconds since 1970
    cluster: ClusterTally = msgspec.field(default_factory=ClusterTally)
    jobs: dict[str, JobTally] = {}  # by namespace

    def merge(self, other: Rollup) -> None:
        self.cluster.merge(other.cluster)
        for namespace, tally in other.jobs.items():
            self.jobs.setdefault(namespace, JobTally()).merge(tally)


def common_reason(reason: str | None) -> str:
    """What jobs have in common that failed for the same reason: without the numbers of their tasks."""
    if not reason:
        return "no reason"
    found = _FIRST_FAILURE.search(reason)
    return found[1] if found else reason


def add_counts(counts: dict[str, list[int]], more: Mapping[str, list[int]]) -> None:
    for key, values in more.items():
        name = key if key in counts or len(counts) < KEYS_MAX else OTHERS
        known = counts.get(name, [0] * len(values))
        counts[name] = [one + another for one, another in zip(known, values, strict=True)]


def add_failures(counts: dict[str, int], more: Mapping[str, int]) -> None:
    for key, count in more.items():
        name = key if key in counts or len(counts) < KEYS_MAX else OTHERS
        counts[name] = counts.get(name, 0) + count


def bucket_of(seconds: float) -> int:
    if seconds <= SMALLEST_S:
        return 0
    return min(BUCKET_MAX, 1 + int(BUCKETS_PER_POWER * math.log10(seconds / SMALLEST_S)))


def middle_of(bucket: int) -> float:
    return SMALLEST_S if bucket == 0 else float(SMALLEST_S * 10 ** ((bucket - 0.5) / BUCKETS_PER_POWER))


def seconds_of(at: str) -> float:
    return datetime.fromisoformat(at).timestamp()


_encoder, _decoder = msgspec.json.Encoder(), msgspec.json.Decoder(Rollup)


def encode_rollup(rollup: Rollup) -> bytes:
    return _encoder.encode(rollup)


def decode_rollups(rows: Iterable[bytes]) -> list[Rollup]:
    """Rows that are cut off or damaged are skipped."""
    found = []
    for row in rows:
        try:
            found.append(_decoder.decode(row))
        except msgspec.MsgspecError:
            continue
    return found
