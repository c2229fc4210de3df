"""Cuts a large report into several that the engine takes one by one, so that other callers are answered in between.
Pure; called by the watcher."""

from __future__ import annotations

from collections.abc import Iterator

from shunter.model.protocol.worker_messages import Ended, Report

SLICE_MAX = 5_000  # entries; an end counts once for each of its tasks
PARTS = ("started", "ended", "returned", "lost", "health")  # in the order in which the engine applies them


def slice_report(report: Report) -> Iterator[Report]:
    """At least one; all have the number of the report. Each part of it is in the same order as before."""
    draft, size = Report(report.seq), 0
    for part in PARTS:
        for entry in getattr(report, part):
            weight = len(entry.ended_ms) if isinstance(entry, Ended) else 1
            if size and size + weight > SLICE_MAX:
                yield draft
                draft, size = Report(report.seq), 0
            getattr(draft, part).append(entry)
            size += weight
    yield draft


def count_entries(report: Report) -> int:
    """As `slice_report` counts."""
    others = len(report.started) + len(report.returned) + len(report.lost) + len(report.health)
    return others + sum(len(ended.ended_ms) for ended in report.ended)
