"""An empty store on the PostgreSQL server that all tests share."""

from __future__ import annotations

from itertools import count

import pytest

from tests.postgres_server import PostgresServer

_schemas = count(1)


@pytest.fixture
def schema() -> str:
    """Every test has a schema of its own."""
    return f"test_{next(_schemas)}"


@pytest.fixture
def url(postgres: PostgresServer, schema: str) -> str:
    return f"{postgres.url}?schema={schema}"
