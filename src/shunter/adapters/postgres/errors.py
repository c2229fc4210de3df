"""Translates the errors of asyncpg and the operating system to those of `model.errors`, so that no other code sees
them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import asyncpg

from shunter.model.errors import Fenced, ShunterError, StoreFailed

FENCED = "SH001"  # of our own functions, as are all codes that begin with SH
_OWN_CLASS = "SH"

# By code, or by the first two characters of it.
_REASONS = {
    "08": "the connection was lost",
    "08P01": "the connection was refused; if a pooler is in between, name PostgreSQL's own host and port in the URL",
    "22": "a value cannot be stored",
    "23": "a constraint was violated",
    "25006": "the server is read-only: it may be a standby; name the primary in the URL",
    "28": "the server does not let this user in; check the user, PGPASSWORD or the passfile, and pg_hba.conf",
    "3D": "the database does not exist; create it first",
    "42501": "the user lacks a privilege; let it own its schema, or grant CREATE on the database",
    "53100": "the server's disk is full",
    "53300": "the server has no connection left; raise max_connections",
    "53": "the server lacks resources",
    "55P03": "it is locked by another connection",
    "57014": "the statement took too long",
    "57P01": "the server is shutting down",
    "57P02": "the server crashed",
    "57P03": "the server is starting or stopping",
}

FAILURES = (asyncpg.PostgresError, asyncpg.InterfaceError, asyncpg.InternalClientError, OSError, TimeoutError, EOFError)


@contextmanager
def translated(public_url: str) -> Iterator[None]:
    """Raise StoreFailed or Fenced instead; their texts have the reason, the URL without a password, and what was
    said."""
    try:
        yield
    except FAILURES as error:
        raise translate(error, public_url) from error


def translate(error: BaseException, public_url: str) -> ShunterError:
    code = getattr(error, "sqlstate", None) or ""
    if code == FENCED:
        return Fenced(str(error))
    if code.startswith(_OWN_CLASS):
        return StoreFailed(str(error))
    return StoreFailed(f"store {public_url}: {_reason(error, code)} ({_said(error)})")


def _reason(error: BaseException, code: str) -> str:
    reason = _REASONS.get(code) or _REASONS.get(code[:2])
    if reason is not None:
        return reason
    if isinstance(error, TimeoutError):
        return "the server did not answer in time"
    if isinstance(error, OSError):
        return "the server cannot be reached"
    return "PostgreSQL failed" if code else "the connection failed"


def _said(error: BaseException) -> str:
    return str(error) or type(error).__name__
