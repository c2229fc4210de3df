"""Finished jobs and their tasks: written with the commit that ends them, then asked for. Called by SqliteStore.

Where the index for a list is known it is named (INDEXED BY), because the file has no statistics to choose by.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from functools import lru_cache
from itertools import chain
from typing import Any

import msgspec

from shunter.ports.store import FinishedJob, FinishedName, FinishedQuery, FinishedTasks

ROWS_PER_STATEMENT_MAX = 256

_JOB_COLUMNS = "id, namespace, name, run, state, submitted_at, ended_at, labels, summary"
_INSERT_JOBS = f"INSERT INTO jobs ({_JOB_COLUMNS}) VALUES "
_INSERT_TASKS = "INSERT INTO job_tasks (job, grp, first, count, body) VALUES "

_labels_decoder = msgspec.json.Decoder(dict[str, str])


# ---- the writer's thread ----


def insert_finished(connection: sqlite3.Connection, jobs: Sequence[FinishedJob]) -> None:
    """Inside the caller's transaction."""
    _insert(
        connection,
        _INSERT_JOBS,
        [
            (
                job.id,
                job.namespace,
                job.name,
                job.run,
                job.state,
                job.submitted_at,
                job.ended_at,
                msgspec.json.encode(job.labels).decode() if job.labels else "{}",
                job.summary,
            )
            for job in jobs
        ],
    )
    _insert(
        connection,
        _INSERT_TASKS,
        [(job.id, chunk.group, chunk.first, chunk.count, chunk.body) for job in jobs for chunk in job.tasks],
    )


def _insert(connection: sqlite3.Connection, insert: str, rows: Sequence[tuple[Any, ...]]) -> None:
    """Many rows a statement: each statement gives up the interpreter's lock once, and a busy event loop is slow to give
    it back. Powers of two keep the statements few enough to stay prepared."""
    start = 0
    while start < len(rows):
        size = min(ROWS_PER_STATEMENT_MAX, 1 << ((len(rows) - start).bit_length() - 1))
        batch = rows[start : start + size]
        connection.execute(_insert_statement(insert, len(batch[0]), size), list(chain.from_iterable(batch)))
        start += size


@lru_cache
def _insert_statement(insert: str, columns: int, rows: int) -> str:
    row = f"({', '.join('?' * columns)})"
    return insert + ", ".join([row] * rows)


# ---- the reader's thread ----


def read_jobs(connection: sqlite3.Connection, query: FinishedQuery) -> list[FinishedJob]:
    source, conditions, values = _narrow(query)
    if query.before_id is not None:
        conditions.append("jobs.id < ?")
        values.append(query.before_id)
    rows = connection.execute(
        f"SELECT {_JOB_COLUMNS} FROM jobs WHERE id IN"
        f" (SELECT jobs.id FROM {source}{_where(conditions)} ORDER BY jobs.id DESC LIMIT ?) ORDER BY id DESC",
        [*values, max(0, query.limit)],
    )
    return [_job(row) for row in rows]


def count_jobs(connection: sqlite3.Connection, query: FinishedQuery) -> int:
    if query.name is None and not query.labels and query.ended_after is None and query.ended_before is None:
        conditions, values = _equals("", query)
        statement = "SELECT ifnull(sum(jobs), 0) FROM job_counts"
    else:
        source, conditions, values = _narrow(query)
        statement = f"SELECT count(*) FROM {source}"
    (count,) = connection.execute(statement + _where(conditions), values).fetchone()
    return int(count)


def read_job(connection: sqlite3.Connection, id: int) -> FinishedJob | None:
    row = connection.execute(f"SELECT {_JOB_COLUMNS} FROM jobs WHERE id = ?", (id,)).fetchone()
    return None if row is None else _job(row)


def read_run(connection: sqlite3.Connection, namespace: str, name: str, run: int | None) -> FinishedJob | None:
    row = connection.execute(
        f"SELECT {_JOB_COLUMNS} FROM jobs WHERE name = ? AND namespace = ? AND (?3 IS NULL OR run = ?3)"
        " ORDER BY run DESC LIMIT 1",
        (name, namespace, run),
    ).fetchone()
    return None if row is None else _job(row)


def read_tasks(connection: sqlite3.Connection, id: int, group: int, first: int, last: int) -> list[FinishedTasks]:
    rows = connection.execute(
        "SELECT grp, first, count, body FROM job_tasks WHERE job = ?1 AND grp = ?2 AND first <= ?4 AND first >="
        # The chunk that `first` lies in starts at or before it; what lies before that chunk is not even looked at.
        " ifnull((SELECT max(first) FROM job_tasks WHERE job = ?1 AND grp = ?2 AND first <= ?3), ?3)"
        " AND first + count > ?3 ORDER BY first",
        (id, group, first, last),
    )
    return [FinishedTasks(*row) for row in rows]


def read_names(connection: sqlite3.Connection) -> list[FinishedName]:
    # A bare column beside max() comes from the row that has the maximum: SQLite promises it.
    rows = connection.execute("SELECT namespace, name, max(run), id FROM jobs GROUP BY name, namespace")
    return [FinishedName(*row) for row in rows]


def _narrow(query: FinishedQuery) -> tuple[str, list[str], list[Any]]:
    """Where to look for the ids that match, and the conditions on them."""
    conditions, values = _equals("jobs.", query)
    for field, condition in (
        (query.name, "jobs.name = ?"),
        (query.ended_after, "jobs.ended_at >= ?"),
        (query.ended_before, "jobs.ended_at < ?"),
    ):
        if field is not None:
            conditions.append(condition)
            values.append(field)
    if query.labels:
        return _narrow_by_labels(query, conditions, values)
    if query.name is not None:
        return "jobs INDEXED BY jobs_by_name", conditions, values
    if query.ended_after is not None or query.ended_before is not None:
        return "jobs INDEXED BY jobs_by_end", conditions, values
    if query.namespace is not None or query.states:
        return "jobs INDEXED BY jobs_by_namespace", conditions, values
    return "jobs", conditions, values


def _narrow_by_labels(
    query: FinishedQuery, conditions: list[str], values: list[Any]
) -> tuple[str, list[str], list[Any]]:
    """The first label leads; each further one is looked up for the jobs that it finds."""
    (key, value), *others = query.labels
    conditions = ["label.key = ?", "label.value = ?", *conditions]
    values = [key, value, *values]
    for pair in others:
        conditions.append("EXISTS (SELECT 1 FROM job_labels WHERE key = ? AND value = ? AND job = jobs.id)")
        values.extend(pair)
    return "job_labels AS label CROSS JOIN jobs ON jobs.id = label.job", conditions, values


def _equals(table: str, query: FinishedQuery) -> tuple[list[str], list[Any]]:
    conditions: list[str] = []
    values: list[Any] = []
    if query.namespace is not None:
        conditions.append(f"{table}namespace = ?")
        values.append(query.namespace)
    if query.states:
        conditions.append(f"{table}state IN ({', '.join('?' * len(query.states))})")
        values.extend(query.states)
    return conditions, values


def _where(conditions: list[str]) -> str:
    return f" WHERE {' AND '.join(conditions)}" if conditions else ""


def _job(row: tuple[Any, ...]) -> FinishedJob:
    id, namespace, name, run, state, submitted_at, ended_at, labels, summary = row
    return FinishedJob(
        id, namespace, name, run, state, submitted_at, ended_at, _labels_decoder.decode(labels), summary, []
    )
