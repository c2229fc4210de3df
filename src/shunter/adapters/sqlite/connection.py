"""Opens the database file and connections to it. Called by SqliteStore when it opens; all writes use `transaction`."""

from __future__ import annotations

import os
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory

from shunter.adapters.sqlite.errors import RESTORE_HINT, SQLITE_ERRORS
from shunter.model.errors import StoreFailed

LOCK_TIMEOUT_S = 5.0  # how long a write waits for another process that writes
WAL_SIZE_MAX_BYTES = 4 * 2**20  # past it the log is copied into the database; see checkpoints.py
CACHE_BYTES = 4 * 2**20
CACHED_STATEMENTS_MAX = 256
LOG_ALONE = "its database is empty, and only its write-ahead log is left"

_CODES_WITHOUT_INDEX = (sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY)


def create_file(path: Path) -> None:
    """Make the file and its folder, readable for our user only. The files that SQLite creates next to it inherit the
    mode.

    A file that exists must not be opened here: closing it again would drop every lock that this process has on it,
    and another process could then remove the log under a store that is open.
    """
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with suppress(FileExistsError):
            os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
        if path.is_file():
            path.chmod(0o600)
    except OSError as error:
        raise StoreFailed(f"it cannot be created ({error.strerror})", path) from error
    if not path.is_file():
        raise StoreFailed("it cannot be opened, because it is not a file", path)


def connect(
    path: Path, *, lock_timeout_s: float = LOCK_TIMEOUT_S, size_max_bytes: int | None = None
) -> sqlite3.Connection:
    """A connection in autocommit mode: transactions are begun by `transaction`, never behind our back."""
    connection = sqlite3.connect(
        path,
        timeout=lock_timeout_s,
        isolation_level=None,
        check_same_thread=False,
        cached_statements=CACHED_STATEMENTS_MAX,
    )
    try:
        connection.execute("PRAGMA auto_vacuum = INCREMENTAL")  # counts only for a new file
        (mode,) = connection.execute("PRAGMA journal_mode = WAL").fetchone()
        if mode != "wal":
            raise StoreFailed(f"its file system cannot do write-ahead logging (journal mode {mode})", path)
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("PRAGMA foreign_keys = ON")
        connection.execute("PRAGMA secure_delete = OFF")  # some builds overwrite deleted data, at twice the cost
        connection.execute("PRAGMA wal_autocheckpoint = 0")
        connection.execute(f"PRAGMA journal_size_limit = {WAL_SIZE_MAX_BYTES}")
        connection.execute(f"PRAGMA cache_size = {-CACHE_BYTES // 1024}")
        if size_max_bytes is not None:
            (page_bytes,) = connection.execute("PRAGMA page_size").fetchone()
            connection.execute(f"PRAGMA max_page_count = {max(1, size_max_bytes // page_bytes)}")
    except BaseException:
        connection.close()
        raise
    return connection


@contextmanager
def read_only(path: Path) -> Iterator[sqlite3.Connection]:
    """A connection that leaves the files as they are, including the write-ahead log: any other last connection copies
    the log into the database and removes it when it closes.

    To read a log, SQLite needs an index next to it. Where it cannot write one, nothing else writes to the database
    either: it is read without a log if there is none, else from a copy. Raises StoreFailed if there is only a log."""
    if is_log_alone(path):
        raise StoreFailed(f"{LOG_ALONE}; {RESTORE_HINT}", path)
    with ExitStack() as stack:
        connection = stack.enter_context(closing(_connect_uri(path, "mode=ro")))
        if not _can_read(connection):
            log = Path(f"{path}-wal")
            if is_log_left(path):
                folder = Path(stack.enter_context(TemporaryDirectory(prefix="shunter-")))
                for source in (path, log):
                    shutil.copyfile(source, folder / source.name)
                connection = stack.enter_context(closing(_connect_uri(folder / path.name, "mode=ro")))
            else:
                connection = stack.enter_context(closing(_connect_uri(path, "immutable=1")))
        yield connection


def is_log_left(path: Path) -> bool:
    """Whether the store was last used without closing it."""
    try:
        return Path(f"{path}-wal").stat().st_size > 0
    except FileNotFoundError:
        return False


def is_log_alone(path: Path) -> bool:
    """Whether there is a log of a database that is gone. SQLite removes such a log when it opens the database."""
    return is_log_left(path) and path.stat().st_size == 0


def _connect_uri(path: Path, option: str) -> sqlite3.Connection:
    return sqlite3.connect(f"{path.absolute().as_uri()}?{option}", uri=True, isolation_level=None)


def _can_read(connection: sqlite3.Connection) -> bool:
    """Whether the files that SQLite needs are there, or can be written. Other errors are for the reader to find."""
    try:
        connection.execute("SELECT 1 FROM sqlite_master").fetchone()
    except sqlite3.OperationalError as error:
        code = error.sqlite_errorcode
        return code != sqlite3.SQLITE_IOERR_SHMSIZE and code & 0xFF not in _CODES_WITHOUT_INDEX
    except SQLITE_ERRORS:
        pass
    return True


@contextmanager
def transaction(connection: sqlite3.Connection) -> Iterator[None]:
    """All or nothing. The write lock is taken first, so that what is read inside is still valid when it is written."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:  # after some errors SQLite has rolled back by itself
            connection.execute("ROLLBACK")
        raise


@contextmanager
def read_transaction(connection: sqlite3.Connection) -> Iterator[None]:
    """All reads inside see one moment."""
    connection.execute("BEGIN")
    try:
        yield
    finally:
        connection.execute("COMMIT")
