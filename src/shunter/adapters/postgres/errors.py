"""Translates the errors of asyncpg and the operating system to those of `model.errors`, so that no other code sees
them."""

from __future__ import annotations

import ssl
from collections.abc import Iterator
from contextlib import contextmanager

import asyncpg

from shunter.model.errors import Fenced, ShunterError, StoreFailed, StoreUnreachable

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

# The connection was lost, or the server is starting, stopping, out of connections or not the primary yet.
_PASSING_CODES = ("08000", "08001", "08003", "08004", "08006", "53300", "57P01", "57P02", "57P03")
_PASSING_ERRORS = (OSError, TimeoutError, EOFError, asyncpg.exceptions.TargetServerAttributeNotMatched)

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
    kind = StoreUnreachable if _is_passing(error, code) else StoreFailed
    return kind(f"{_reason(error, code)} ({_said(error)})", public_url)


def _is_passing(error: BaseException, code: str) -> bool:
    """Whether the same call may succeed later without a change of the configuration."""
    if code:
        return code in _PASSING_CODES
    return isinstance(error, _PASSING_ERRORS) and not isinstance(error, ssl.SSLError | PermissionError)


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
