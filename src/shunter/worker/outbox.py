"""Collects the worker's messages to the manager into reports, and keeps them until the manager has committed them.

Reports of one turn of the event loop are sent as one, unless it would be large. Without a connection they accumulate,
and the inventory of the next connection carries all that was not acknowledged. Of very many results it carries the
first: to the manager the other attempts have not ended yet, and reports with their ends follow."""

from __future__ import annotations

import asyncio
from collections import deque
from dataclasses import dataclass, field
from typing import Protocol

from shunter.model.protocol.report_slices import slice_report
from shunter.model.protocol.worker_messages import (
    Ended,
    Health,
    Held,
    Inventory,
    Lost,
    Report,
    Returned,
    Started,
    WorkerMessage,
)
from shunter.worker.process.keeper_client import Keeper
from shunter.worker.process.protocol import KeeperReport
from shunter.worker.range_spans import RangeSpans

TEXT_SENT_MAX = 4096  # characters of a reason or a detail; far below what a manager refuses


@dataclass(slots=True)
class Unacknowledged:
    """The contents of one report that must not be lost, and the keepers' reports in it."""

    seq: int = 0
    ended: list[Ended] = field(default_factory=list)
    lost: list[Lost] = field(default_factory=list)
    keepers: dict[Keeper, int] = field(default_factory=dict)
    with_results: set[Keeper] = field(default_factory=set)  # of those keepers

    def merge(self, other: Unacknowledged) -> None:
        self.ended += other.ended
        self.lost += other.lost
        self.with_results |= other.with_results
        for keeper, seq in other.keepers.items():
            self.keepers[keeper] = max(seq, self.keepers.get(keeper, 0))


class Sender(Protocol):
    """The part of `ports.workers.Uplink` that is needed here."""

    def send(self, message: WorkerMessage) -> None: ...


class Outbox:
    def __init__(self, spans: RangeSpans | None = None) -> None:
        self._spans = spans
        self._uplink: Sender | None = None
        self._seq = 0
        self._pending = Unacknowledged()
        self._started: list[Started] = []
        self._returned: list[Returned] = []
        self._health: list[Health] = []
        self._sent: deque[Unacknowledged] = deque()
        self._scheduled = False
        self._empty = asyncio.Event()
        self._empty.set()

    def connect(self, uplink: Sender, held: list[Held], health: list[Health]) -> None:
        """A manager has connected: send the inventory, then reports."""
        merged = Unacknowledged()
        for part in (*self._sent, self._pending):
            merged.merge(part)
        self._sent.clear()
        self._uplink = uplink
        self._seq = 0
        self._pending = Unacknowledged()
        self._started, self._returned, self._health = [], [], []  # the inventory says it better
        first, *others = slice_report(Report(0, merged.ended, lost=merged.lost))
        if others:
            held = held + _held_for_now(others)
        self._track(Unacknowledged(ended=first.ended, lost=first.lost) if others else merged)
        uplink.send(Inventory(self._seq, held, first.ended, first.lost, health))
        self._send_reports(others, merged)

    def disconnect(self) -> None:
        self._uplink = None

    def add_keeper_report(self, keeper: Keeper, report: KeeperReport) -> None:
        self._pending.keepers[keeper] = report.seq
        if report.ended:
            self._pending.with_results.add(keeper)
        for ended in report.ended:
            ended.detail = shorten(ended.detail)
            if self._spans is not None:
                self._spans.ended(ended)
        self._pending.ended += report.ended
        self._started += [
            Started(s.job, s.group, s.attempt, s.index, s.started_ms, s.segment, s.record, s.ports)
            for s in report.started
        ]
        self._schedule()

    def add_started(self, started: Started) -> None:
        self._started.append(started)
        self._schedule()

    def add_ended(self, ended: Ended) -> None:
        """Add the result of an attempt that no keeper runs; its record is kept until the manager acknowledges."""
        ended.detail = shorten(ended.detail)
        if self._spans is not None:
            self._spans.ended(ended)
        self._pending.ended.append(ended)
        self._schedule()

    def add_health(self, health: Health) -> None:
        health.detail = shorten(health.detail)
        self._health.append(health)
        self._schedule()

    def add_returned(self, returned: Returned) -> None:
        if self._spans is not None:
            self._spans.returned(returned)
        self._returned.append(returned)
        self._schedule()

    def add_lost(self, lost: Lost) -> None:
        lost.reason = shorten(lost.reason)
        if self._spans is not None:
            self._spans.lost(lost)
        self._pending.lost.append(lost)
        self._schedule()

    def acknowledge(self, seq: int) -> Unacknowledged:
        """The manager has committed up to `seq`: returns what need not be kept any longer."""
        done = Unacknowledged()
        while self._sent and self._sent[0].seq <= seq:
            done.merge(self._sent.popleft())
        if not self._sent and not self._has_pending():
            self._empty.set()
        return done

    def keepers_with_results(self) -> set[Keeper]:
        """The keepers with results that are not acknowledged."""
        return {keeper for part in (*self._sent, self._pending) for keeper in part.with_results}

    async def wait_empty(self) -> None:
        """Until everything is acknowledged."""
        await self._empty.wait()

    def _has_pending(self) -> bool:
        part = self._pending
        return bool(part.keepers or part.ended or part.lost or self._started or self._returned or self._health)

    def _schedule(self) -> None:
        self._empty.clear()
        if not self._scheduled and self._uplink is not None:
            self._scheduled = True
            asyncio.get_running_loop().call_soon(self._flush)

    def _flush(self) -> None:
        self._scheduled = False
        if self._uplink is None or not self._has_pending():
            return
        part, self._pending = self._pending, Unacknowledged()
        started, self._started = self._started, []
        returned, self._returned = self._returned, []
        health, self._health = self._health, []
        self._send_reports(list(slice_report(Report(0, part.ended, started, returned, part.lost, health))), part)

    def _send_reports(self, reports: list[Report], contents: Unacknowledged) -> None:
        """The keepers may forget what all of the reports say together when the last one is committed."""
        assert self._uplink is not None
        for report in reports:
            part = Unacknowledged(ended=report.ended, lost=report.lost)
            if report is reports[-1]:
                part.keepers, part.with_results = contents.keepers, contents.with_results
            self._track(part)
            report.seq = part.seq
            self._uplink.send(report)

    def _track(self, part: Unacknowledged) -> None:
        self._seq += 1
        part.seq = self._seq
        self._sent.append(part)
        self._empty.clear()


def _held_for_now(reports: list[Report]) -> list[Held]:
    """Attempts that have ended, as ones that have not. Neighbours are one range."""
    held: list[Held] = []
    ended = [
        (each.job, each.group, each.attempt, each.first, len(each.ended_ms))
        for report in reports
        for each in report.ended
    ]
    lost = [
        (each.job, each.group, each.attempt, each.first, each.last - each.first + 1)
        for report in reports
        for each in report.lost
    ]
    for job, group, attempt, first, count in ended + lost:
        end = (held[-1].job, held[-1].group, held[-1].attempt, held[-1].last + 1) if held else None
        if end == (job, group, attempt, first):
            held[-1].last += count
        else:
            held.append(Held(job, group, attempt, first, first + count - 1, False))
    return held


def shorten(text: str) -> str:
    return text if len(text) <= TEXT_SENT_MAX else f"{text[:TEXT_SENT_MAX]}..."
