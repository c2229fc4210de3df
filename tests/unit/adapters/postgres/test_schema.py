"""The files of the schema, without a server."""

from __future__ import annotations

from shunter.adapters.postgres.schema import known_migrations


def test_migrations_are_numbered_from_one_without_gaps() -> None:
    """Two branches may each add the next one."""
    known = known_migrations()
    assert [migration.version for migration in known] == list(range(1, len(known) + 1))
