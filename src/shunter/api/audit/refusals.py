"""Counts refused requests per source and minute, for the audit log. Used by the applications of all listeners;
`app.listeners.refusal_reports` takes the counts once a minute.

Bounded: a flood from many sources costs as much memory, and as much of the store, as one from a few."""

from __future__ import annotations

from collections.abc import Iterable

from shunter.api.limits.failed_attempts import source_of
from shunter.model.audit.records import RefusedRequests
from shunter.ports.principals import Principal

ROWS_MAX = 100  # beyond it, further sources share one row for each status
ALWAYS_COUNTED = (401, 403, 429)  # also of reads

Row = tuple[str, int, str, str, str, str]  # the fields of RefusedRequests without the count


class RefusalCounter:
    def __init__(self) -> None:
        self._counts: dict[Row, int] = {}

    def add(
        self, address: str, status: int, operation: str = "", caller: Principal | None = None, *, is_write: bool
    ) -> None:
        """A request was answered with this status."""
        if status in ALWAYS_COUNTED or (is_write and 400 <= status < 500):
            who = ("", "", "") if caller is None else (caller.user, caller.tenant, caller.key)
            self._count((source_of(address)[0], status, operation, *who), 1)

    def take(self) -> list[RefusedRequests]:
        """The requests that were refused since the last call."""
        counts, self._counts = self._counts, {}
        return [
            RefusedRequests(source, status, count, operation, user, tenant, key)
            for (source, status, operation, user, tenant, key), count in counts.items()
        ]

    def put_back(self, refused: Iterable[RefusedRequests]) -> None:
        """They could not be recorded, so they count in the next minute."""
        for each in refused:
            self._count((each.source, each.status, each.operation, each.user, each.tenant, each.key), each.count)

    def _count(self, row: Row, count: int) -> None:
        if row not in self._counts and len(self._counts) >= ROWS_MAX:
            row = ("", row[1], "", "", "", "")
        self._counts[row] = self._counts.get(row, 0) + count
