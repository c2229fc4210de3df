"""Opens connections and checks each of them: it must lead to a primary itself, not to a pooler that hands every
transaction to another session, and to the same server as the last epoch. Called for the writer, the readers and the
listener."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import asyncpg

from shunter.adapters.postgres.url import StoreUrl
from shunter.model.errors import StoreFailed

STATEMENT_TIMEOUT_S = 60.0  # by the server; a client that is gone holds no lock for longer
ANSWER_TIMEOUT_S = STATEMENT_TIMEOUT_S + 5.0  # by us, if the server or the network is silent
STATEMENTS_CACHED_MAX = 200

SESSION = {
    # The fence reads the epoch after it has the lock: every statement must see what is committed by then.
    "default_transaction_isolation": "read committed",
    "statement_timeout": f"{STATEMENT_TIMEOUT_S * 1000:.0f}",
    "idle_in_transaction_session_timeout": f"{STATEMENT_TIMEOUT_S * 1000:.0f}",
    "timezone": "UTC",
    # Every statement looks up rows by an index, and new partitions have no statistics from which to see that.
    "enable_seqscan": "off",
    "enable_hashjoin": "off",
    "enable_mergejoin": "off",
    "enable_memoize": "off",
    "max_parallel_workers_per_gather": "0",
    "jit": "off",
}
# The server would keep a plan that it made while the tables were almost empty. A commit needs no other plan.
POOL_SESSION = {"plan_cache_mode": "force_custom_plan"}
WRITER_SESSION: dict[str, str] = {}


@dataclass(frozen=True, slots=True)
class Server:
    """Which history of commits this is: a fail-over and a restored base backup begin a new timeline, and a copy of the
    data is another system."""

    system_identifier: int
    timeline: int

    def is_successor_of(self, other: Server) -> bool:
        """A standby of that server which was promoted."""
        return self.system_identifier == other.system_identifier and self.timeline > other.timeline


Connection: TypeAlias = Any  # asyncpg's, which has no types


async def connect(url: StoreUrl, session: Mapping[str, str] = POOL_SESSION) -> Connection:
    """A checked connection, in the store's schema. Raises asyncpg's errors, and StoreFailed."""
    connection = await asyncpg.connect(
        url.dsn,
        timeout=url.connect_timeout_s,
        command_timeout=ANSWER_TIMEOUT_S,
        statement_cache_size=STATEMENTS_CACHED_MAX,
        max_cached_statement_lifetime=0,
        server_settings={
            "application_name": url.application_name,
            **SESSION,
            **session,
            "search_path": f'"{url.schema}"',
        },
        target_session_attrs="read-write" if url.has_several_hosts else None,
    )
    try:
        await _check_session(connection, url)
    except BaseException:
        connection.terminate()
        raise
    return connection


async def _check_session(connection: Connection, url: StoreUrl) -> None:
    """A pooler tells its clients process ids of its own making. PostgreSQL itself tells the real one."""
    pid, is_standby, durability = await connection.fetchrow(
        "SELECT pg_backend_pid(), pg_is_in_recovery(), current_setting('synchronous_commit')"
    )
    if pid != connection.get_server_pid():
        raise StoreFailed(
            "a connection pooler is in between. It may hand each transaction to another"
            " session, and then LISTEN, prepared statements and settings do not work. Connect to PostgreSQL itself:"
            " name its own host and port in the URL",
            url.public_url,
        )
    if is_standby:
        raise StoreFailed(
            "the server is a standby, which accepts no writes. Name the primary in the URL,"
            " or all servers, like postgresql://USER@HOST1,HOST2/DATABASE",
            url.public_url,
        )
    if durability in ("off", "local"):
        await connection.execute("SET synchronous_commit = on")  # a commit must be durable when it returns


async def read_server(connection: Connection) -> Server:
    system_identifier, wal_file = await connection.fetchrow(
        "SELECT (pg_control_system()).system_identifier, pg_walfile_name(pg_current_wal_lsn())"
    )
    return Server(system_identifier, int(wal_file[:8], 16))


async def read_known_server(connection: Connection) -> Server | None:
    """The server on which the last epoch began; None if none ever did."""
    row = await connection.fetchrow("SELECT system_identifier, timeline FROM leadership")
    return None if row["timeline"] is None else Server(*row)


def refuse_other_server(url: StoreUrl, known: Server, found: Server) -> None:
    """Raises StoreFailed. Commits may be missing, and nothing in the database could tell."""
    if known.system_identifier != found.system_identifier:
        systems = f"system {known.system_identifier}, this is {found.system_identifier}"
        change = f"the database was written on another server ({systems})"
    else:
        change = f"the server is on timeline {found.timeline}, and the last epoch began on timeline {known.timeline}"
    raise StoreFailed(
        f"{change}. After a fail-over, a restored backup or a copy, the newest commits may be"
        " missing unnoticed. Connect to the server that has them; or, if the loss is acceptable, go on with this one:"
        " start one manager once with --accept-loss. If replication is synchronous, add replication=synchronous to the"
        " URL, and a promoted standby is accepted",
        url.public_url,
    )
