"""Writes docs/reference/metrics.md: the metrics that Prometheus can scrape. Called by `make docs`; a test compares."""

from __future__ import annotations

from pathlib import Path

from shunter.model.metrics.catalogue import METRICS
from shunter.model.metrics.metric import LABEL_VALUES_MAX, OTHER, ExposedBy, Metric

PAGE = Path(__file__).parent.parent / "docs" / "reference" / "metrics.md"

INTRODUCTION = f"""\
# Metrics for Prometheus

`make docs` generates this page from the code; a test compares it with `shunter metrics list` and with real scrapes.
[Monitoring](../operations/monitoring.md) says how to scrape them.

- A label has at most {LABEL_VALUES_MAX} values for one metric; what comes after them is counted as `{OTHER}`.
- Histograms have the series `_bucket`, `_count` and `_sum`.
- Of several managers, the leader alone exposes what is true of the whole cluster. Each manager exposes what it has done
  itself since it started, so sums over all managers are right, also after a change of the leader.
"""

TITLES = {
    ExposedBy.LEADER: "From the leader",
    ExposedBy.MANAGER: "From every manager",
    ExposedBy.WORKER: "From every worker",
    ExposedBy.PROCESS: "From managers and workers",
}


def main() -> None:
    PAGE.write_text(metrics_page(), encoding="utf-8")


def metrics_page() -> str:
    parts = [INTRODUCTION]
    for source, title in TITLES.items():
        rows = [_row(metric) for metric in METRICS if metric.exposed_by is source]
        if rows:
            parts.append(
                "\n".join([f"\n## {title}\n", "| metric | type | labels | meaning |", "|---|---|---|---|", *rows, ""])
            )
    return "".join(parts)


def _row(metric: Metric) -> str:
    labels = ", ".join(f"`{label}`" for label in metric.labels)
    return f"| `{metric.sample_name}` | {metric.kind} | {labels} | {metric.about} |"


if __name__ == "__main__":
    main()
