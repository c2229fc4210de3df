"""Deletes expired rows in slices. Each slice is one short transaction, so a commit waits for at most one.

SqliteStore calls each function until it reports that nothing is left to do."""

from __future__ import annotations

import math
import sqlite3
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import accumulate

import msgspec

from shunter.adapters.sqlite.rounds import leader_transaction, read_last_version
from shunter.ports.store import Retention

JOBS_PER_SLICE_MAX = 100
ROUNDS_PER_SLICE_MAX = 500
BYTES_PER_SLICE_MAX = 512 * 1024
FREE_PAGES_RESERVED = 1024  # reserve for later writes, so that a balanced file neither grows nor shrinks
FREED_PAGES_PER_SLICE_MAX = 128


@dataclass(frozen=True, slots=True)
class JobSlice:
    """What one call dropped, and the names (namespace, name) of which no run is left."""

    rows: int
    names: list[tuple[str, str]] = field(default_factory=list)


def drop_rounds(connection: sqlite3.Connection, epoch: int, retention: Retention, now: float) -> int:
    """Drop the oldest rounds, only before the snapshot and never leaving a gap; returns how many."""
    with leader_transaction(connection, epoch):
        retained_from = read_last_version(connection) - retention.rounds_max + 1
        oldest = cutoff(retention.rounds_age_s, now)
        expired = []
        for version, at, size_bytes in connection.execute(
            "SELECT version, at, length(body) FROM rounds WHERE version <= (SELECT version FROM snapshot)"
            " ORDER BY version LIMIT ?",
            (ROUNDS_PER_SLICE_MAX,),
        ).fetchall():
            if version >= retained_from and at > oldest:
                break
            expired.append((version, size_bytes))
        count = _count_per_slice(size_bytes for _, size_bytes in expired) or len(expired[:1])
        if count:
            connection.execute("DELETE FROM rounds WHERE version <= ?", (expired[count - 1][0],))
        return count


def drop_jobs(connection: sqlite3.Connection, epoch: int, retention: Retention, now: float) -> JobSlice:
    """Drop the jobs that ended first. A job with very many tasks loses them over several slices, and is dropped with
    the last."""
    with leader_transaction(connection, epoch):
        expired = _expired_jobs(connection, retention, now) or _jobs_beyond_shares(connection, retention)
        if not expired:
            return JobSlice(0)
        sizes_bytes = dict(
            connection.execute(
                "SELECT job, sum(length(body)) FROM job_tasks WHERE job IN (SELECT value FROM json_each(?))"
                " GROUP BY job",
                (_as_json(expired),),
            ).fetchall()
        )
        count = _count_per_slice(sizes_bytes.get(id, 0) for id in expired)
        if not count:
            return JobSlice(_drop_tasks(connection, expired[0]))
        ids = _as_json(expired[:count])
        names = connection.execute(
            "SELECT DISTINCT namespace, name FROM jobs AS gone WHERE id IN (SELECT value FROM json_each(?1))"
            " AND NOT EXISTS (SELECT 1 FROM jobs WHERE name = gone.name AND namespace = gone.namespace"
            " AND id NOT IN (SELECT value FROM json_each(?1)))",
            (ids,),
        ).fetchall()
        connection.execute("DELETE FROM jobs WHERE id IN (SELECT value FROM json_each(?))", (ids,))
        return JobSlice(count, names)


def free_pages(connection: sqlite3.Connection) -> int:
    """Return unused pages to the file system; returns how many."""
    free_before = _free_pages(connection)
    surplus = min(free_before - FREE_PAGES_RESERVED, FREED_PAGES_PER_SLICE_MAX)
    if surplus <= 0:
        return 0
    connection.executescript(f"PRAGMA incremental_vacuum({surplus})")  # a script, because each page is a step of it
    return free_before - _free_pages(connection)


def _expired_jobs(connection: sqlite3.Connection, retention: Retention, now: float) -> list[int]:
    (total,) = connection.execute("SELECT ifnull(sum(jobs), 0) FROM job_counts").fetchone()
    oldest = cutoff(retention.finished_age_s, now)
    rows = connection.execute(
        "SELECT id, ended_at FROM jobs INDEXED BY jobs_by_end ORDER BY ended_at, id LIMIT ?", (JOBS_PER_SLICE_MAX,)
    ).fetchall()
    surplus = total - retention.finished_max
    return [id for index, (id, ended_at) in enumerate(rows) if index < surplus or ended_at <= oldest]


def _jobs_beyond_shares(connection: sqlite3.Connection, retention: Retention) -> list[int]:
    """The jobs to drop of the first share that has too many."""
    for share in retention.shares:
        namespaces = msgspec.json.encode(share.namespaces).decode()
        (total,) = connection.execute(
            "SELECT ifnull(sum(jobs), 0) FROM job_counts WHERE namespace IN (SELECT value FROM json_each(?))",
            (namespaces,),
        ).fetchone()
        if total > share.finished_max:
            count = min(total - share.finished_max, JOBS_PER_SLICE_MAX)
            rows = connection.execute(
                "SELECT id FROM jobs INDEXED BY jobs_by_end WHERE namespace IN (SELECT value FROM json_each(?))"
                " ORDER BY ended_at, id LIMIT ?",
                (namespaces, count),
            )
            return [id for (id,) in rows]
    return []


def _drop_tasks(connection: sqlite3.Connection, job: int) -> int:
    """The first chunks of one job's tasks, at least one."""
    chunks = connection.execute(
        "SELECT grp, first, length(body) FROM job_tasks WHERE job = ? ORDER BY grp, first", (job,)
    ).fetchall()
    count = max(1, _count_per_slice(size_bytes for *_, size_bytes in chunks))
    group, first, _ = chunks[count - 1]
    connection.execute("DELETE FROM job_tasks WHERE job = ? AND (grp, first) <= (?, ?)", (job, group, first))
    return count


def cutoff(age_s: float, now: float) -> float:
    """Everything at or before this time is too old. An age of 0 keeps nothing, whatever the clock says."""
    return now - age_s if age_s > 0 else math.inf


def _count_per_slice(sizes_bytes: Iterable[int]) -> int:
    """How many, from the start, fit into one slice."""
    return sum(total_bytes <= BYTES_PER_SLICE_MAX for total_bytes in accumulate(sizes_bytes))


def _as_json(ids: list[int]) -> str:
    return msgspec.json.encode(ids).decode()


def _free_pages(connection: sqlite3.Connection) -> int:
    (count,) = connection.execute("PRAGMA freelist_count").fetchone()
    return int(count)
