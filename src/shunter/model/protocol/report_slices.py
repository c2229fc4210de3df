"""Cuts a large report or inventory into reports that the engine takes one by one, so that other callers are answered in
between. Pure; called by the watcher, and by workers, which send no large ones."""

from __future__ import annotations

from collections.abc import Iterator

from shunter.model.protocol.worker_messages import Ended, Inventory, Report, Started

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


def split_inventory(inventory: Inventory) -> tuple[list[Report], Inventory]:
    """The reports that say what a large inventory does, and the short inventory that comes after them."""
    if len(inventory.held) + len(inventory.ended) + len(inventory.lost) + len(inventory.health) <= SLICE_MAX:
        return [], inventory
    started = [
        Started(each.job, each.group, each.attempt, each.first, each.started_ms, each.segment, each.record, each.ports)
        for each in inventory.held
        if each.running and each.first == each.last
    ]
    report = Report(inventory.seq, inventory.ended, started, lost=inventory.lost, health=inventory.health)
    return list(slice_report(report)), Inventory(inventory.seq, inventory.held, [])


def count_entries(report: Report) -> int:
    """As `slice_report` counts."""
    others = len(report.started) + len(report.returned) + len(report.lost) + len(report.health)
    return others + sum(len(ended.ended_ms) for ended in report.ended)
