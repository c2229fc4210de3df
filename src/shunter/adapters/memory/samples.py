"""The samples of our own workers, in memory and bounded. Implements the sink and the provider of `ports.metrics`.

They are lost when the manager ends, on purpose: metrics are hints, and storing them would cost more than they are
worth. Users who need them for longer export them or use another provider."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Sequence

from shunter.adapters.memory.rings import TIERS, Rings, Row, Tier
from shunter.ports.metrics import (
    NODE_METRICS,
    TASK_METRICS,
    Measurement,
    MetricQuery,
    MetricResult,
    NodeSource,
    Series,
    Source,
)

TOTAL_MAX_BYTES = 128 * 2**20  # of all series; those without samples for longest go first
AGE_MAX_MS = 24 * 3_600_000  # a series that got no sample for so long goes
SERIES_BYTES = 1_000  # that a series takes besides its rows, roughly
FIRST_INTERVAL_MAX_MS = 15_000  # a task that is first seen later is compared from then on, not from its start
MEMORY_INDEX = TASK_METRICS.index("memory_bytes")  # a level; all others are rates of sums


class SampleStore:
    def __init__(self, total_max_bytes: int = TOTAL_MAX_BYTES, tiers: Sequence[Tier] = TIERS) -> None:
        self._total_max_bytes, self._tiers = total_max_bytes, tiers
        self._sources: OrderedDict[Source, _SourceSamples] = OrderedDict()  # by their last sample, oldest first
        self.total_bytes = 0

    def __len__(self) -> int:
        return len(self._sources)

    def record(self, source: Source, measurement: Measurement) -> None:
        samples = self._sources.get(source)
        if samples is None:
            samples = self._sources[source] = _SourceSamples(Rings(len(measurement.totals), self._tiers))
            self.total_bytes += SERIES_BYTES
        before_bytes = samples.rings.size_bytes
        samples.add(measurement)
        self.total_bytes += samples.rings.size_bytes - before_bytes
        self._sources.move_to_end(source)
        self._evict(measurement.at_ms)

    async def query(self, query: MetricQuery) -> MetricResult:
        """Others have their turn between the sources: a long window of many takes a while."""
        found: list[tuple[Source, str, list[Row]]] = []
        for source in query.sources:
            samples = self._sources.get(source)
            rows = samples.rings.rows(query.start_ms, query.stop_ms) if samples is not None else []
            if samples is not None and rows:
                found.append((source, samples.node, rows))
            await asyncio.sleep(0)
        step_ms = max([query.step_ms, *(row.step_ms for _, _, rows in found for row in rows)])
        series: list[Series] = []
        for source, node, rows in found:
            series += _series(query, step_ms, source, node, rows)
            await asyncio.sleep(0)
        return MetricResult(step_ms, tuple(series))

    def _evict(self, now_ms: int) -> None:
        """Evict only sources without recent samples: a single source is bounded by its tiers."""
        while len(self._sources) > 1:
            source, oldest = next(iter(self._sources.items()))
            if self.total_bytes <= self._total_max_bytes and now_ms - oldest.at_ms <= AGE_MAX_MS:
                return
            self.total_bytes -= SERIES_BYTES + oldest.rings.size_bytes
            del self._sources[source]


class _SourceSamples:
    """A source's rows, and the last sums, because rates are differences."""

    __slots__ = ("_life", "_sums", "at_ms", "node", "rings")

    def __init__(self, rings: Rings) -> None:
        self.rings = rings
        self.node = ""
        self.at_ms = 0
        self._life = -1
        self._sums: Sequence[float] = ()

    def add(self, measurement: Measurement) -> None:
        """Late and repeated samples are dropped. The first of a process is a point only if its start is known."""
        if measurement.incarnation < self._life or (
            measurement.incarnation == self._life and measurement.at_ms <= self.at_ms
        ):
            return
        if measurement.incarnation == self._life:
            self._add(measurement, self.at_ms, self._sums)
        elif measurement.since_ms is not None and 0 < measurement.at_ms - measurement.since_ms <= FIRST_INTERVAL_MAX_MS:
            self._add(measurement, measurement.since_ms, [0.0] * len(measurement.totals))
        self.node, self.at_ms, self._life, self._sums = (
            measurement.node,
            measurement.at_ms,
            measurement.incarnation,
            measurement.totals,
        )

    def _add(self, measurement: Measurement, since_ms: int, before: Sequence[float]) -> None:
        """A sum that decreased has lost a part, such as a child process that was not waited for."""
        span_s = (measurement.at_ms - since_ms) / 1000
        values = [max(0.0, now - then) / span_s for now, then in zip(measurement.totals, before, strict=True)]
        values[MEMORY_INDEX] = measurement.totals[MEMORY_INDEX]
        self.rings.add(measurement.at_ms, values)


def _series(query: MetricQuery, step_ms: int, source: Source, node: str, rows: list[Row]) -> list[Series]:
    """All metrics of one source on the grid of the query."""
    steps = -(-(query.stop_ms - query.start_ms) // step_ms)
    cells: list[list[Row]] = [[] for _ in range(steps)]
    for row in rows:
        cells[(max(row.at_ms, query.start_ms) - query.start_ms) // step_ms].append(row)
    names = NODE_METRICS if isinstance(source, NodeSource) else TASK_METRICS
    return [
        Series(
            source,
            node,
            metric,
            mean=_mean(rows, index),
            maximum=max(row.maxima[index] for row in rows),
            values=tuple(_mean(cell, index) if cell else None for cell in cells),
        )
        for index, metric in enumerate(names)
    ]


def _mean(rows: Sequence[Row], index: int) -> float:
    return sum(row.means[index] * row.count for row in rows) / sum(row.count for row in rows)
