"""Finished jobs and their tasks: the columns in which a commit hands them over, and reading them one by one. Called by
PostgresStore."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from shunter.adapters.postgres.connection import Connection
from shunter.ports.store import EndedRun, FinishedJob, FinishedTasks, RunKey

# Of `jobs AS job`, and its wide row.
JOB_COLUMNS = (
    "job.id, job.namespace, job.name, job.run, job.state, detail.submitted_at, job.ended_at, detail.labels,"
    " detail.summary"
)
WITH_DETAILS = "JOIN job_details AS detail ON detail.job = job.id AND detail.ended_at = job.ended_at"

_NO_JOBS = (None,) * 15
_NO_TASKS = (None,) * 6

_labels_decoder = msgspec.json.Decoder(dict[str, str])


def job_columns(jobs: Sequence[FinishedJob]) -> tuple[list[Any] | None, ...]:
    """The arguments of commit_round for these jobs and their tasks."""
    if not jobs:
        return _NO_JOBS
    has_labels = any(job.labels for job in jobs)
    return (
        [job.id for job in jobs],
        [job.namespace for job in jobs],
        [job.name for job in jobs],
        [job.run for job in jobs],
        [job.state for job in jobs],
        [job.submitted_at for job in jobs],
        [job.ended_at for job in jobs],
        [labels_text(job.labels) for job in jobs] if has_labels else None,
        [job.summary for job in jobs],
        *_task_columns([(job, chunk) for job in jobs for chunk in job.tasks]),
    )


def _task_columns(chunks: list[tuple[FinishedJob, FinishedTasks]]) -> tuple[list[Any] | None, ...]:
    if not chunks:
        return _NO_TASKS
    return (
        [job.id for job, _ in chunks],
        [job.ended_at for job, _ in chunks],
        [chunk.group for _, chunk in chunks],
        [chunk.first for _, chunk in chunks],
        [chunk.count for _, chunk in chunks],
        [chunk.body for _, chunk in chunks],
    )


def labels_text(labels: dict[str, str]) -> str | None:
    return msgspec.json.encode(labels).decode() if labels else None


async def read_job(connection: Connection, id: int) -> FinishedJob | None:
    row = await connection.fetchrow(f"SELECT {JOB_COLUMNS} FROM jobs AS job {WITH_DETAILS} WHERE job.id = $1", id)
    return None if row is None else job_from_row(row)


async def read_run(connection: Connection, namespace: str, name: str, run: int | None) -> FinishedJob | None:
    row = await connection.fetchrow(
        f"SELECT {JOB_COLUMNS} FROM (SELECT * FROM jobs WHERE name = $1 AND namespace = $2"
        f" AND ($3::bigint IS NULL OR run = $3) ORDER BY run DESC LIMIT 1) AS job {WITH_DETAILS}",
        name,
        namespace,
        run,
    )
    return None if row is None else job_from_row(row)


async def read_tasks(connection: Connection, id: int, group: int, first: int, last: int) -> list[FinishedTasks]:
    rows = await connection.fetch(
        "SELECT task.grp, task.first, task.count, task.body FROM jobs AS job"
        " JOIN job_tasks AS task ON task.job = job.id AND task.ended_at = job.ended_at"
        " WHERE job.id = $1 AND task.grp = $2 AND task.first <= $4 AND task.first + task.count > $3"
        # The chunk that $3 lies in starts at or before it; what lies before that chunk is not even looked at.
        " AND task.first >= coalesce((SELECT max(earlier.first) FROM job_tasks AS earlier WHERE earlier.job = job.id"
        " AND earlier.ended_at = job.ended_at AND earlier.grp = $2 AND earlier.first <= $3), $3)"
        " ORDER BY task.first",
        id,
        group,
        first,
        last,
    )
    return [FinishedTasks(*row) for row in rows]


async def read_ended_runs(connection: Connection, keys: Sequence[RunKey]) -> dict[RunKey, EndedRun]:
    rows = await connection.fetch(
        "SELECT wanted.namespace, wanted.name, wanted.run, job.run, job.id, job.state"
        " FROM unnest($1::text[], $2::text[], $3::bigint[]) AS wanted (namespace, name, run)"
        " CROSS JOIN LATERAL (SELECT run, id, state FROM jobs WHERE name = wanted.name"
        " AND namespace = wanted.namespace AND run = coalesce(wanted.run, (SELECT max(run) FROM jobs"
        " WHERE name = wanted.name AND namespace = wanted.namespace))) AS job",
        *zip(*keys, strict=True),
    )
    return {(namespace, name, key): EndedRun(*ended) for namespace, name, key, *ended in rows}


def job_from_row(row: Sequence[Any]) -> FinishedJob:
    id, namespace, name, run, state, submitted_at, ended_at, labels, summary = row
    decoded = {} if labels is None else _labels_decoder.decode(labels)
    return FinishedJob(id, namespace, name, run, state, submitted_at, ended_at, decoded, summary, [])
