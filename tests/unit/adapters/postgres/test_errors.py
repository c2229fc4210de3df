"""Which errors of PostgreSQL pass by themselves: a manager waits for those, and refuses to start for all others."""

from __future__ import annotations

import ssl

import asyncpg
import pytest

from shunter.adapters.postgres.errors import translate
from shunter.model.errors import Fenced, StoreFailed, StoreUnreachable

URL = "postgresql://shunter@db/shunter"


@pytest.mark.parametrize(
    "error",
    [
        ConnectionRefusedError("Connect call failed"),
        TimeoutError(),
        FileNotFoundError("no socket yet"),
        asyncpg.CannotConnectNowError("the database system is starting up"),
        asyncpg.ConnectionDoesNotExistError("connection was closed in the middle of operation"),
        asyncpg.TooManyConnectionsError("sorry, too many clients already"),
        asyncpg.exceptions.TargetServerAttributeNotMatched("none of the hosts match"),
    ],
)
def test_a_server_that_is_away_may_come_back(error: Exception) -> None:
    assert type(translate(error, URL)) is StoreUnreachable


@pytest.mark.parametrize(
    "error",
    [
        asyncpg.InvalidPasswordError("password authentication failed"),
        asyncpg.InvalidCatalogNameError("database does not exist"),
        asyncpg.InsufficientPrivilegeError("permission denied"),
        asyncpg.ProtocolViolationError("a pooler speaks"),
        asyncpg.DiskFullError("no space left on device"),
        ssl.SSLCertVerificationError("self-signed certificate"),
        PermissionError("the passfile cannot be read"),
    ],
)
def test_what_an_operator_must_mend_is_no_reason_to_wait(error: Exception) -> None:
    assert type(translate(error, URL)) is StoreFailed


def test_errors_of_our_own_functions_keep_their_kind() -> None:
    fenced = asyncpg.PostgresError("epoch 3 leads")
    fenced.sqlstate = "SH001"
    assert type(translate(fenced, URL)) is Fenced
