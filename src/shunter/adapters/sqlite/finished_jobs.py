"""Stores finished jobs and their tasks in the commit that ends them, and reads them one by one. Called by
SqliteStore."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from functools import lru_cache
from itertools import chain
from typing import Any

import msgspec

from shunter.ports.store import EndedRun, FinishedJob, FinishedTasks, RunKey

ROWS_PER_STATEMENT_MAX = 256

JOB_COLUMNS = "id, namespace, name, run, state, submitted_at, ended_at, labels, summary"
_INSERT_JOBS = f"INSERT INTO jobs ({JOB_COLUMNS}) VALUES "
_INSERT_TASKS = "INSERT INTO job_tasks (job, grp, first, count, body) VALUES "

_WANTED = "json_extract(wanted.value, '$[0]') AS namespace, json_extract(wanted.value, '$[1]') AS name"
_SELECT_NEWEST = (
    f"WITH wanted_runs AS (SELECT {_WANTED} FROM json_each(?) AS wanted)"
    " SELECT namespace, name, run, id, state FROM wanted_runs AS wanted JOIN jobs INDEXED BY jobs_by_name_and_state"
    " USING (namespace, name)"
    " WHERE run = (SELECT max(run) FROM jobs WHERE name = wanted.name AND namespace = wanted.namespace)"
)
_SELECT_EXACT = (
    f"WITH wanted_runs AS (SELECT {_WANTED}, json_extract(wanted.value, '$[2]') AS run FROM json_each(?) AS wanted)"
    " SELECT namespace, name, run, id, state FROM wanted_runs JOIN jobs INDEXED BY jobs_by_name_and_state"
    " USING (namespace, name, run)"
)

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
    """Many rows per statement: each statement releases the interpreter's lock once, and a busy event loop is slow to
    return it. Powers of two keep the statements few enough to stay prepared."""
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


def read_job(connection: sqlite3.Connection, id: int) -> FinishedJob | None:
    row = connection.execute(f"SELECT {JOB_COLUMNS} FROM jobs WHERE id = ?", (id,)).fetchone()
    return None if row is None else job_from_row(row)


def read_run(connection: sqlite3.Connection, namespace: str, name: str, run: int | None) -> FinishedJob | None:
    row = connection.execute(
        f"SELECT {JOB_COLUMNS} FROM jobs WHERE name = ? AND namespace = ? AND (?3 IS NULL OR run = ?3)"
        " ORDER BY run DESC LIMIT 1",
        (name, namespace, run),
    ).fetchone()
    return None if row is None else job_from_row(row)


def read_tasks(connection: sqlite3.Connection, id: int, group: int, first: int, last: int) -> list[FinishedTasks]:
    rows = connection.execute(
        "SELECT grp, first, count, body FROM job_tasks WHERE job = ?1 AND grp = ?2 AND first <= ?4 AND first >="
        # The chunk that `first` lies in starts at or before it; what lies before that chunk is not even looked at.
        " ifnull((SELECT max(first) FROM job_tasks WHERE job = ?1 AND grp = ?2 AND first <= ?3), ?3)"
        " AND first + count > ?3 ORDER BY first",
        (id, group, first, last),
    )
    return [FinishedTasks(*row) for row in rows]


def read_ended_runs(connection: sqlite3.Connection, keys: Sequence[RunKey]) -> dict[RunKey, EndedRun]:
    """All of them by one statement for each kind, from an index alone."""
    newest = [[namespace, name] for namespace, name, run in keys if run is None]
    exact = [key for key in keys if key[2] is not None]
    found: dict[RunKey, EndedRun] = {}
    for statement, wanted in ((_SELECT_NEWEST, newest), (_SELECT_EXACT, exact)):
        rows = connection.execute(statement, (msgspec.json.encode(wanted).decode(),)) if wanted else ()
        for namespace, name, run, id, state in rows:
            found[namespace, name, None if wanted is newest else run] = EndedRun(run, id, state)
    return found


def job_from_row(row: tuple[Any, ...]) -> FinishedJob:
    id, namespace, name, run, state, submitted_at, ended_at, labels, summary = row
    return FinishedJob(
        id, namespace, name, run, state, submitted_at, ended_at, _labels_decoder.decode(labels), summary, []
    )
