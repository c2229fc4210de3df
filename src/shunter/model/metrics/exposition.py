"""Writes metrics as OpenMetrics text, the format that Prometheus reads. Used by every process that is scraped."""

from __future__ import annotations

from collections.abc import Iterable

from shunter.model.metrics.metric import Histogram, Metric

CONTENT_TYPE = "application/openmetrics-text; version=1.0.0; charset=utf-8"
_ESCAPES = str.maketrans({"\\": "\\\\", '"': '\\"', "\n": "\\n"})


class Exposition:
    """The answer to one scrape. Metrics appear in the order in which they first got a value."""

    def __init__(self) -> None:
        self._samples: dict[Metric, list[str]] = {}

    def put(self, metric: Metric, value: float, *labels: str) -> None:
        self._lines(metric).append(f"{metric.sample_name}{_labels(metric.labels, labels)} {_number(value)}")

    def put_each(self, metric: Metric, values: Iterable[tuple[str, float]]) -> None:
        """Write the values of a metric with one label."""
        for label, value in values:
            self.put(metric, value, label)

    def put_histogram(self, metric: Metric, histogram: Histogram) -> None:
        assert not metric.labels
        lines, total = self._lines(metric), 0
        bounds = (*map(_bound, histogram.bounds), "+Inf")
        for bound, count in zip(bounds, histogram.counts, strict=True):
            total += count
            lines.append(f'{metric.name}_bucket{{le="{bound}"}} {total}')
        lines += (f"{metric.name}_count {total}", f"{metric.name}_sum {_number(histogram.sum)}")

    def render(self) -> bytes:
        parts = []
        for metric, lines in self._samples.items():
            parts.append(f"# TYPE {metric.name} {metric.kind}")
            if metric.unit:
                parts.append(f"# UNIT {metric.name} {metric.unit}")
            parts += (f"# HELP {metric.name} {metric.about.translate(_ESCAPES)}", *lines)
        return "\n".join([*parts, "# EOF\n"]).encode()

    def _lines(self, metric: Metric) -> list[str]:
        lines = self._samples.get(metric)
        if lines is None:
            lines = self._samples[metric] = []
        return lines


def _labels(names: tuple[str, ...], values: tuple[str, ...]) -> str:
    if not names:
        return ""
    pairs = ",".join(f'{name}="{value.translate(_ESCAPES)}"' for name, value in zip(names, values, strict=True))
    return f"{{{pairs}}}"


def _bound(value: float) -> str:
    return repr(float(value))


def _number(value: float) -> str:
    """Whole numbers without a point: they are shorter, and exact."""
    return str(int(value)) if value == int(value) else repr(float(value))
