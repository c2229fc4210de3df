"""Lists and counts finished jobs. Called by SqliteStore in the reader's thread.

A search uses a single index and reads only the rows it returns. The index is named (INDEXED BY), because the file has
no statistics from which SQLite could choose well."""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass, field
from typing import Any

from shunter.adapters.sqlite.finished_jobs import JOB_COLUMNS, job_from_row
from shunter.ports.store import FinishedJob, FinishedQuery


def read_jobs(connection: sqlite3.Connection, query: FinishedQuery) -> list[FinishedJob]:
    search = _search(query)
    if query.before_id is not None:
        search.require(f"{search.id} < ?", query.before_id)
    rows = connection.execute(
        f"SELECT {JOB_COLUMNS} FROM jobs WHERE id IN"
        f" (SELECT {search.id} FROM {search.source}{search.where} ORDER BY {search.id} DESC LIMIT ?) ORDER BY id DESC",
        [*search.values, max(0, query.limit)],
    )
    return [job_from_row(row) for row in rows]


def count_jobs(connection: sqlite3.Connection, query: FinishedQuery) -> int:
    if query.name is None and not query.labels and query.ended_after is None and query.ended_before is None:
        search = Search("job_counts", count_expression="ifnull(sum(jobs), 0)")
        _require_equal(search, query)
    else:
        search = _search(query)
    (count,) = connection.execute(
        f"SELECT {search.count_expression} FROM {search.source}{search.where}", search.values
    ).fetchone()
    return int(count)


@dataclass(slots=True)
class Search:
    """Where the ids that match are looked for, and the conditions on them."""

    source: str
    id: str = "id"
    count_expression: str = "count(*)"
    conditions: list[str] = field(default_factory=list)
    values: list[Any] = field(default_factory=list)

    def require(self, condition: str, *values: Any) -> None:
        self.conditions.append(condition)
        self.values.extend(values)

    @property
    def where(self) -> str:
        return f" WHERE {' AND '.join(self.conditions)}" if self.conditions else ""


def _search(query: FinishedQuery) -> Search:
    search = Search(_source(query))
    _require_equal(search, query)
    if query.name is not None:
        search.require("name = ?", query.name)
    if query.ended_after is not None:
        search.require("ended_at >= ?", query.ended_after)
    if query.ended_before is not None:
        search.require("ended_at < ?", query.ended_before)
    if query.labels:
        _search_by_label(search, query.labels)
    return search


def _source(query: FinishedQuery) -> str:
    if query.name is not None:
        return "jobs INDEXED BY jobs_by_name"
    if query.ended_after is not None or query.ended_before is not None:
        return "jobs INDEXED BY jobs_by_end"
    if query.namespace is not None or query.states:
        return "jobs INDEXED BY jobs_by_namespace"
    return "jobs"


def _search_by_label(search: Search, labels: tuple[tuple[str, str], ...]) -> None:
    """The first label finds jobs, newest first; all else is looked up for the jobs that it finds."""
    search.source = "job_labels AS label" + (" CROSS JOIN jobs ON jobs.id = label.job" if search.conditions else "")
    search.id = "label.job"
    search.require("label.key = ? AND label.value = ?", *labels[0])
    for other in labels[1:]:
        search.require("EXISTS (SELECT 1 FROM job_labels WHERE key = ? AND value = ? AND job = label.job)", *other)


def _require_equal(search: Search, query: FinishedQuery) -> None:
    if query.namespace is not None:
        search.require("namespace = ?", query.namespace)
    if query.states:
        search.require(f"state IN ({', '.join('?' * len(query.states))})", *query.states)
