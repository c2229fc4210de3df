"""Adds up what happens, for each minute and each hour: the leader takes samples of the cluster, and reads the jobs that
ended from history. `app.leader_duties` calls it every few seconds; `analytics` reads the rows.

A minute is closed some time after its end, because a worker may report late. Minutes in which nothing happened and
no manager ran have no row."""

from __future__ import annotations

from collections.abc import Sequence

from shunter.engine.engine import Engine
from shunter.gateway.explain.plan import RunInThread
from shunter.gateway.jobs.task_reader import TaskReader
from shunter.gateway.monitor.ended_jobs import FAILED_JOBS_MAX, ended_jobs, failures_by_node
from shunter.gateway.monitor.tallies import (
    ClusterTally,
    JobTally,
    Rollup,
    add_failures,
    decode_rollups,
    encode_rollup,
)
from shunter.model.lifecycles import TaskState
from shunter.model.resources import CPU, MEMORY
from shunter.ports.metrics import HOUR_S, MINUTE_S, OldRollups
from shunter.ports.store import ROLLUP_ROW_BYTES_MAX, FinishedQuery, RollupRow, Store

LATE_S = 30  # a minute is closed so long after its end
JOBS_MAX = 100_000  # that one call adds up
SAVED_AT_ONCE_MAX = 1_000  # rows in one transaction
CATCH_UP_S = 24 * HOUR_S  # how far back it looks at most, after a pause


class RollupRecorder:
    """A new leader goes on where the rows in the store end. `old`: rows that this manager wrote to files as
    a leader of an earlier version; they move into the store."""

    def __init__(self, engine: Engine, store: Store, run_in_thread: RunInThread, old: OldRollups | None = None) -> None:
        self._engine, self._store, self._run_in_thread, self._old = engine, store, run_in_thread, old
        self._reader = TaskReader(engine, store)
        self._samples: dict[int, ClusterTally] = {}  # by the start of their minute
        self._hour: Rollup | None = None  # that is not complete yet
        self._closed_until: int | None = None  # everything before is in rows; None: not known yet

    async def tick(self) -> None:
        now = self._engine.now_ms() / 1000
        self._samples.setdefault(_floor(now, MINUTE_S), ClusterTally()).merge(sample_cluster(self._engine))
        closed = _floor(now - LATE_S, MINUTE_S)
        if self._closed_until is None:
            self._closed_until = await self._resume(now)
        if closed > self._closed_until:
            await self._close(self._closed_until, closed)
            self._closed_until = closed

    async def _resume(self, now: float) -> int:
        """From the end of the last row on; the rows of this hour so far are added up again."""
        await self._import_old()
        oldest = _floor(now - CATCH_UP_S, MINUTE_S)
        hours = await self._store.rollups(HOUR_S, 0)
        first = hours[-1].start + HOUR_S if hours else 0
        rows = decode_rollups(row.body for row in await self._store.rollups(MINUTE_S, first))
        for row in rows:
            await self._add_to_hour(row)
        return max(oldest, rows[-1].start + MINUTE_S) if rows else oldest

    async def _close(self, start: int, stop: int) -> None:
        minutes: dict[int, Rollup] = {}
        failed = 0
        query = FinishedQuery(ended_after=float(start), ended_before=float(stop))
        async for run, ended_s in ended_jobs(self._store, query, JOBS_MAX):
            minute = minutes.setdefault(_floor(ended_s, MINUTE_S), Rollup(_floor(ended_s, MINUTE_S)))
            tally = minute.jobs.setdefault(run.namespace, JobTally())
            tally.add(run.view, ended_s)
            if run.view.state == "failed" and failed < FAILED_JOBS_MAX:
                failed += 1
                add_failures(tally.nodes, await failures_by_node(self._reader, run))
        for at in [each for each in self._samples if each < stop]:
            minutes.setdefault(at, Rollup(at)).cluster = self._samples.pop(at)
        for at in sorted(minutes):
            await self._save(MINUTE_S, [minutes[at]])
            await self._add_to_hour(minutes[at])
            self._closed_until = at + MINUTE_S  # if the next one fails, this one is not counted twice

    async def _add_to_hour(self, row: Rollup) -> None:
        start = _floor(row.start, HOUR_S)
        if self._hour is not None and self._hour.start != start:
            await self._save(HOUR_S, [self._hour])
            self._hour = None
        if self._hour is None:
            self._hour = Rollup(start)
        self._hour.merge(row)

    async def _save(self, tier_s: int, rollups: Sequence[Rollup]) -> None:
        rows = [RollupRow(each.start, encode_rollup(each)) for each in rollups]
        rows = [row for row in rows if len(row.body) <= ROLLUP_ROW_BYTES_MAX]
        for first in range(0, len(rows), SAVED_AT_ONCE_MAX):
            await self._store.save_rollups(self._engine.epoch, tier_s, rows[first : first + SAVED_AT_ONCE_MAX])

    async def _import_old(self) -> None:
        """Rows of minutes that another leader stored stay: it was the one that counted."""
        if self._old is None:
            return
        for tier_s in (HOUR_S, MINUTE_S):
            found = decode_rollups(await self._run_in_thread(self._old.read, tier_s))
            if found:
                known = {row.start for row in await self._store.rollups(tier_s, 0)}
                await self._save(tier_s, [each for each in found if each.start not in known])
        await self._run_in_thread(self._old.remove)
        self._old = None


def sample_cluster(engine: Engine) -> ClusterTally:
    state = engine.state
    nodes, counts = state.nodes.view, state.task_counts
    rows = nodes.eligible[: nodes.count]
    capacity, reserved = nodes.capacity[: nodes.count][rows], nodes.reserved[: nodes.count][rows]
    busy = nodes.busy[: nodes.count][rows]

    def share(resource: str) -> float:
        column = nodes.resources.index(resource)
        whole = float(capacity[:, column].sum())
        return float(reserved[:, column].sum()) / whole if whole else 0.0

    cpu, waiting = share(CPU), counts[TaskState.QUEUED]
    return ClusterTally(
        samples=1,
        cpu=cpu,
        memory=share(MEMORY),
        busy=float(busy.mean()) if len(busy) else 0.0,
        stranded=max(0.0, 1.0 - cpu) if waiting and len(rows) and rows.any() else 0.0,
        running=float(counts[TaskState.RUNNING] + counts[TaskState.ASSIGNED]),
        waiting=float(waiting),
    )


def _floor(at: float, step_s: int) -> int:
    return int(at) // step_s * step_s
