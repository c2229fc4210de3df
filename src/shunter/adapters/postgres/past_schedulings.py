"""Finds deleted Schedulings by name, page by page. Called by PostgresStore. A commit stores them (`rounds`), retention
drops them."""

from __future__ import annotations

from shunter.adapters.postgres.connection import Connection
from shunter.adapters.postgres.finished_search import Search
from shunter.ports.store import PastQuery, PastRecord

_COLUMNS = "uid, namespace, name, deleted_at, body"


async def read_past(connection: Connection, query: PastQuery) -> list[PastRecord]:
    search = _search(query)
    if query.before_uid is not None:
        search.require("uid < {}", query.before_uid)
    limit = search.parameter(max(0, query.limit))
    rows = await connection.fetch(
        f"SELECT {_COLUMNS} FROM {search.source}{search.where} ORDER BY uid DESC LIMIT {limit}", *search.values
    )
    return [PastRecord(*row) for row in rows]


async def count_past(connection: Connection, query: PastQuery) -> int:
    search = _search(query)
    return int(await connection.fetchval(f"SELECT count(*) FROM {search.source}{search.where}", *search.values))


async def read_one(connection: Connection, uid: int) -> PastRecord | None:
    row = await connection.fetchrow(f"SELECT {_COLUMNS} FROM past_schedulings WHERE uid = $1", uid)
    return None if row is None else PastRecord(*row)


def _search(query: PastQuery) -> Search:
    search = Search("past_schedulings")
    if query.namespace is not None:
        search.require("namespace = {}", query.namespace)
    if query.name is not None:
        search.require("name = {}", query.name)
    return search
