"""Lists and counts of finished jobs read no more than they must: SQLite's query plans."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from shunter.adapters.sqlite import finished_jobs, finished_search, retention, rounds
from shunter.adapters.sqlite.connection import connect
from shunter.adapters.sqlite.schema import known_migrations, migrate
from shunter.ports.store import FinishedQuery, Retention

LABELS = (("team", "film"), ("tier", "gold"))


@pytest.fixture
def connection(tmp_path: Path) -> Iterator[sqlite3.Connection]:
    connection = connect(tmp_path / "store.db")
    migrate(connection, known_migrations())
    yield connection
    connection.close()


@pytest.mark.parametrize(
    ("query", "step"),
    [
        (FinishedQuery(), "SCAN jobs"),
        (FinishedQuery(before_id=9), "SEARCH jobs USING INTEGER PRIMARY KEY (rowid<?)"),
        (FinishedQuery(namespace="a", before_id=9), "COVERING INDEX jobs_by_namespace (namespace=? AND id<?)"),
        (FinishedQuery(namespace="a", states=("failed",)), "COVERING INDEX jobs_by_namespace (namespace=?)"),
        (FinishedQuery(labels=LABELS), "SEARCH label USING PRIMARY KEY (key=? AND value=?)"),
        (FinishedQuery(labels=LABELS, before_id=9), "SEARCH label USING PRIMARY KEY (key=? AND value=? AND job<?)"),
        (FinishedQuery(labels=LABELS, namespace="a"), "SEARCH label USING PRIMARY KEY (key=? AND value=?)"),
    ],
)
def test_a_page_is_read_in_order_and_stops_at_its_limit(
    connection: sqlite3.Connection, query: FinishedQuery, step: str
) -> None:
    plan = _plan(connection, finished_search.read_jobs, query)
    assert any(line.endswith(step) for line in plan), plan
    assert not any("TEMP B-TREE" in line for line in plan), plan


@pytest.mark.parametrize(
    ("query", "step"),
    [
        (FinishedQuery(states=("failed",)), "COVERING INDEX jobs_by_namespace"),
        (FinishedQuery(name="n"), "COVERING INDEX jobs_by_name (name=?)"),
        (FinishedQuery(name="n", namespace="a"), "COVERING INDEX jobs_by_name (name=? AND namespace=?)"),
        (FinishedQuery(ended_after=1.0), "COVERING INDEX jobs_by_end (ended_at>?)"),
        (FinishedQuery(ended_before=1.0, namespace="a", states=("failed",)), "COVERING INDEX jobs_by_end (ended_at<?)"),
    ],
)
def test_a_page_that_must_be_sorted_is_sorted_from_an_index_alone(
    connection: sqlite3.Connection, query: FinishedQuery, step: str
) -> None:
    plan = _plan(connection, finished_search.read_jobs, query)
    assert any(line.endswith(step) for line in plan), plan


@pytest.mark.parametrize(
    "query", [FinishedQuery(), FinishedQuery(namespace="a"), FinishedQuery(namespace="a", states=("failed",))]
)
def test_a_common_total_does_not_look_at_jobs(connection: sqlite3.Connection, query: FinishedQuery) -> None:
    plan = _plan(connection, finished_search.count_jobs, query)
    assert plan
    assert all("job_counts" in line for line in plan), plan


def test_names_and_runs_and_tasks_are_found_by_index(connection: sqlite3.Connection) -> None:
    keys = [("default", "a", None), ("default", "a", 3)]
    plan = [line for line in _plan(connection, finished_jobs.read_ended_runs, keys) if " jobs " in line]
    assert len(plan) == 3 and all("SEARCH jobs USING COVERING INDEX" in line for line in plan), plan
    (by_name,) = _plan(connection, finished_jobs.read_run, "default", "a", None)
    assert by_name == "SEARCH jobs USING INDEX jobs_by_name (name=? AND namespace=?)"
    assert not any("SCAN" in line for line in _plan(connection, finished_jobs.read_tasks, 1, 0, 0, 9))


def test_retention_finds_the_oldest_by_index(connection: sqlite3.Connection) -> None:
    epoch = rounds.begin_epoch(connection, term=0)
    plan = _plan(connection, retention.drop_jobs, epoch, Retention(), 0.0)
    assert "SCAN jobs USING COVERING INDEX jobs_by_end" in plan
    assert not any("TEMP B-TREE" in line for line in plan), plan


def _plan(connection: sqlite3.Connection, function: Callable[..., Any], *args: Any) -> list[str]:
    """What SQLite says that it will do for each statement that the function runs."""
    statements: list[str] = []
    connection.set_trace_callback(statements.append)
    function(connection, *args)
    connection.set_trace_callback(None)
    return [
        line
        for statement in statements
        if statement.startswith(("SELECT", "WITH"))
        for *_, line in connection.execute(f"EXPLAIN QUERY PLAN {statement}")
    ]
