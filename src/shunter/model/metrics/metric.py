"""What a metric is, and the values of histograms. The list of all metrics is `model.metrics.catalogue`."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum

LABEL_VALUES_MAX = 200  # of one label of one metric: further values are counted under OTHER
OTHER = "other"


class MetricKind(StrEnum):
    COUNTER = "counter"
    GAUGE = "gauge"
    HISTOGRAM = "histogram"
    INFO = "info"


class ExposedBy(StrEnum):
    """Which processes expose a metric. Every manager counts what it does itself, so sums over all managers are right.
    What is true of the whole cluster comes from the leader alone."""

    LEADER = "leader"
    MANAGER = "manager"
    WORKER = "worker"
    PROCESS = "manager and worker"


@dataclass(frozen=True, slots=True)
class Metric:
    """`name` is without the suffixes of samples, such as `_total`. It ends with the unit, if there is one."""

    name: str
    kind: MetricKind
    about: str
    exposed_by: ExposedBy
    labels: tuple[str, ...] = ()
    unit: str = ""
    buckets: tuple[float, ...] = ()

    @property
    def sample_name(self) -> str:
        """As queries write it."""
        return f"{self.name}_{_SUFFIXES[self.kind]}" if self.kind in _SUFFIXES else self.name


_SUFFIXES = {MetricKind.COUNTER: "total", MetricKind.INFO: "info"}


class Histogram:
    """How many values fell into each bucket. The last bucket has no upper bound."""

    __slots__ = ("bounds", "counts", "sum")

    def __init__(self, bounds: Iterable[float]) -> None:
        self.bounds = tuple(bounds)
        self.counts = [0] * (len(self.bounds) + 1)
        self.sum = 0.0

    @property
    def count(self) -> int:
        return sum(self.counts)

    def observe(self, value: float, times: int = 1) -> None:
        self.counts[bisect_left(self.bounds, value)] += times
        self.sum += value * times

    def add(self, counts: Iterable[int], total: float) -> None:
        """Add a batch that was sorted into these buckets already."""
        for bucket, count in enumerate(counts):
            self.counts[bucket] += count
        self.sum += total


def fold_labels(values: Mapping[str, float], limit: int = LABEL_VALUES_MAX) -> dict[str, float]:
    """The first `limit` entries, and the sum of the others under OTHER."""
    if len(values) <= limit:
        return dict(values)
    folded: dict[str, float] = {}
    for number, (label, value) in enumerate(values.items()):
        key = label if number < limit else OTHER
        folded[key] = folded.get(key, 0) + value
    return folded


class LabelledCounter:
    """A counter with one label, whose values are bounded: what comes after the limit is counted under OTHER."""

    __slots__ = ("_limit", "values")

    def __init__(self, values: Iterable[str] = (), limit: int = LABEL_VALUES_MAX) -> None:
        self.values = dict.fromkeys(values, 0)
        self._limit = limit

    def add(self, label: str, count: int = 1) -> None:
        if label not in self.values and len(self.values) >= self._limit:
            label = OTHER
        self.values[label] = self.values.get(label, 0) + count
