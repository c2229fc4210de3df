"""Lists and counts finished jobs in the narrow table, and reads the wide rows only of those that it returns. Called by
PostgresStore."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from shunter.adapters.postgres.connection import Connection
from shunter.adapters.postgres.finished_jobs import JOB_COLUMNS, WITH_DETAILS, job_from_row
from shunter.ports.store import FinishedJob, FinishedQuery


async def read_jobs(connection: Connection, query: FinishedQuery) -> list[FinishedJob]:
    search = _search(query)
    if query.before_id is not None:
        search.require("job.id < {}", query.before_id)
    limit = search.parameter(max(0, query.limit))
    rows = await connection.fetch(
        f"SELECT {JOB_COLUMNS} FROM (SELECT job.* FROM {search.source}{search.where} ORDER BY job.id DESC"
        f" LIMIT {limit}) AS job {WITH_DETAILS} ORDER BY job.id DESC",
        *search.values,
    )
    return [job_from_row(row) for row in rows]


async def count_jobs(connection: Connection, query: FinishedQuery) -> int:
    if query.name is None and not query.labels and query.ended_after is None and query.ended_before is None:
        search, expression = Search("job_counts AS job"), "coalesce(sum(job.jobs), 0)::bigint"
        _require_equal(search, query)
    else:
        search, expression = _search(query), "count(*)"
    return int(await connection.fetchval(f"SELECT {expression} FROM {search.source}{search.where}", *search.values))


@dataclass(slots=True)
class Search:
    """Where jobs are looked for, and the conditions on them."""

    source: str = "jobs AS job"
    conditions: list[str] = field(default_factory=list)
    values: list[Any] = field(default_factory=list)

    def require(self, condition: str, *values: Any) -> None:
        """Each {} of the condition is one value."""
        self.conditions.append(condition.format(*map(self.parameter, values)))

    def parameter(self, value: Any) -> str:
        self.values.append(value)
        return f"${len(self.values)}"

    @property
    def where(self) -> str:
        return f" WHERE {' AND '.join(self.conditions)}" if self.conditions else ""


def _search(query: FinishedQuery) -> Search:
    search = Search()
    _require_equal(search, query)
    if query.name is not None:
        search.require("job.name = {}", query.name)
    if query.ended_after is not None:
        search.require("job.ended_at >= {}", query.ended_after)
    if query.ended_before is not None:
        search.require("job.ended_at < {}", query.ended_before)
    for number, (key, value) in enumerate(query.labels):
        label = f"label_{number}"
        search.source += f" JOIN job_labels AS {label} ON {label}.job = job.id AND {label}.ended_at = job.ended_at"
        search.require(f"{label}.key = {{}} AND {label}.value = {{}}", key, value)
    return search


def _require_equal(search: Search, query: FinishedQuery) -> None:
    if query.namespace is not None:
        search.require("job.namespace = {}", query.namespace)
    if query.states:
        search.require("job.state = ANY ({})", list(query.states))
