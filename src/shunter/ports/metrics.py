"""What nodes and tasks used over a window of time, from a provider: today the samples of our own workers.

Metrics are hints: a provider may lose data and answers with what it has. `MetricService` at the end is the Protocol of
the sub-gateway `metrics`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from shunter.model.objects.object_meta import ObjectName
from shunter.model.rest.metric_views import MetricsView
from shunter.ports.principals import JobReference, TaskReference

MINUTE_S, HOUR_S = 60, 3600  # how long a row of each tier of rollups is
CPU, MEMORY = "cpu_cores", "memory_bytes"
READ, WRITTEN = "io_read_bytes_per_s", "io_write_bytes_per_s"
RECEIVED, SENT = "net_received_bytes_per_s", "net_sent_bytes_per_s"
TASK_METRICS = (CPU, MEMORY, READ, WRITTEN)
NODE_METRICS = (*TASK_METRICS, RECEIVED, SENT)


@dataclass(frozen=True, slots=True)
class NodeSource:
    name: str


@dataclass(frozen=True, slots=True)
class TaskSource:
    """A task over all its attempts."""

    job: int
    group: str
    index: int  # as people see it


Source = NodeSource | TaskSource


@dataclass(frozen=True, slots=True)
class MetricQuery:
    """The window from `start_ms` to before `stop_ms`, in steps of at least `step_ms`."""

    sources: tuple[Source, ...]
    start_ms: int
    stop_ms: int
    step_ms: int


@dataclass(frozen=True, slots=True)
class Series:
    """One metric of one source. `values` has the mean of each step of the window, or None without samples."""

    source: Source
    node: str  # of the last sample
    metric: str
    mean: float
    maximum: float  # of single samples
    values: tuple[float | None, ...]


@dataclass(frozen=True, slots=True)
class MetricResult:
    """`step_ms` is longer than in the query if only coarser values are left. Sources without samples have no series."""

    step_ms: int
    series: tuple[Series, ...]


class MetricProvider(Protocol):
    async def query(self, query: MetricQuery) -> MetricResult: ...


@dataclass(frozen=True, slots=True)
class Measurement:
    """What a source has used so far: sums since its `incarnation` began, in the order of its metrics, and its memory.
    `since_ms` is when the incarnation began with sums of 0; None if unknown."""

    at_ms: int
    node: str
    incarnation: int
    totals: Sequence[float]
    since_ms: int | None = None


class MetricSink(Protocol):
    """Where samples of workers go."""

    def record(self, source: Source, measurement: Measurement) -> None: ...


class OldRollups(Protocol):
    """Rollups that earlier versions wrote to files of the leader. Today they are in the store. These calls block."""

    def read(self, tier_s: int) -> Sequence[bytes]:
        """Oldest first."""
        ...

    def remove(self) -> None: ...


@dataclass(frozen=True, slots=True)
class Window:
    """The window of a request; None leaves a field to the gateway."""

    start_ms: int | None = None
    stop_ms: int | None = None
    step_ms: int | None = None


class MetricService(Protocol):
    """Calls raise only the errors of `model.errors`."""

    async def batch_job_metrics(self, name: ObjectName, run: int | None, step_ms: int | None) -> MetricsView:
        """Over its last or N-th run: every node that it used, every slot, and the driver."""
        ...

    async def node_metrics(self, name: str, window: Window) -> MetricsView:
        """The last minutes by default."""
        ...

    async def task_metrics(self, job: JobReference, task: TaskReference, window: Window) -> MetricsView:
        """From its latest start to its end by default; includes its node over the same time."""
        ...
