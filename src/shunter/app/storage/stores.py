"""Chooses the store of a cluster: by --store, by a file that SHUNTER_STORE_URL_FILE names, by config.toml, or SQLite in
SHUNTER_HOME. Called by `app.manager` and by the commands about stores."""

from __future__ import annotations

import os
from pathlib import Path

from shunter.adapters.postgres.url import StoreUrl, is_postgres_url, parse_store_url
from shunter.app.home import Home
from shunter.model.errors import Invalid, Problem
from shunter.ports.store import Store

SQLITE = "sqlite"
MEMORY = "memory"
STORE_DEFAULT = SQLITE
URL_FILE_VARIABLE = "SHUNTER_STORE_URL_FILE"

_CHOICES = "choose sqlite, memory, or postgresql://USER@HOST/DATABASE"
_PASSWORD_FIX = (
    f"remove it, and set PGPASSWORD or a passfile, or put the URL into a file and name that in {URL_FILE_VARIABLE}, or"
    " into config.toml as store in [cluster]"
)


def check_store(text: str, option: str = "--store", *, is_on_command_line: bool = True) -> str:
    """The same text. Raises Invalid, without a password in its message. Everybody on the machine can read command
    lines."""
    if text in (SQLITE, MEMORY):
        return text
    if not is_postgres_url(text):
        public_url = text.partition("://")[0] + "://..." if "://" in text else text
        raise Invalid([Problem(option, "is not a store type", public_url, _CHOICES)])
    url = parse_store_url(text, option)
    if url.has_password and is_on_command_line:
        raise Invalid(
            [Problem(option, "has a password, which everybody on this machine could read", None, _PASSWORD_FIX)]
        )
    return text


def choose_store(option: str | None, configured: str | None) -> str:
    """`configured` is that of config.toml. Raises Invalid."""
    if option is not None:
        return check_store(option)
    if file := os.environ.get(URL_FILE_VARIABLE):
        return _read_url_file(Path(file))
    return configured or STORE_DEFAULT


def store_secrets() -> tuple[Path, ...]:
    """Files with a password of the store, which tasks must not read."""
    file = os.environ.get(URL_FILE_VARIABLE)
    return (Path(file).resolve(),) if file else ()


def build_store(chosen: str, home: Home, *, accepts_loss: bool = False) -> Store:
    """What `choose_store` has found. asyncpg and SQLite are imported when they are needed."""
    if chosen == MEMORY:
        from shunter.adapters.memory.store import MemoryStore

        return MemoryStore()
    if chosen == SQLITE:
        from shunter.adapters.sqlite.store import SqliteStore

        return SqliteStore(home.store, accepts_loss=accepts_loss)
    from shunter.adapters.postgres.store import PostgresStore

    return PostgresStore(parse_store_url(chosen), accepts_loss=accepts_loss)


def public_store_name(chosen: str) -> str:
    """For messages: without a password."""
    return parse_store_url(chosen).public_url if is_postgres_url(chosen) else chosen


def postgres_url(chosen: str) -> StoreUrl | None:
    return parse_store_url(chosen) if is_postgres_url(chosen) else None


def _read_url_file(path: Path) -> str:
    try:
        text = path.read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not text"
        fix = "name a readable file that contains the URL"
        raise Invalid([Problem(URL_FILE_VARIABLE, f"cannot be read: {reason}", str(path), fix)]) from None
    return check_store(text, URL_FILE_VARIABLE, is_on_command_line=False)
