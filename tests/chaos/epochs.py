"""What the log of a PostgreSQL store says about its leaders, read beside the code under test."""

from __future__ import annotations

from tests.postgres_server import PostgresServer


def expect_epochs_in_order(postgres: PostgresServer) -> None:
    """No leader wrote after its successor had begun."""
    log = "SELECT version, epoch, lag(epoch) OVER (ORDER BY version) AS before FROM rounds"
    late = postgres.query(f"SELECT * FROM ({log}) AS log WHERE epoch < before")
    assert late == [], f"written by a leader that was replaced (version, epoch, epoch before): {late[:20]}"


def last_version(postgres: PostgresServer) -> int:
    [row] = postgres.query("SELECT version FROM log_end")
    return int(row)


def current_epoch(postgres: PostgresServer) -> int:
    [row] = postgres.query("SELECT epoch FROM leadership")
    return int(row)
