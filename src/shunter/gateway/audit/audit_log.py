"""The sub-gateway `audit`: finds and exports the records of the audit log. Implements `ports.identity.AuditService`.

A tenant's admin sees what the users and keys of the tenant did, a bound key what it did itself."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from shunter.engine.engine import Engine
from shunter.model.audit.records import AuditRecord, RefusedRequests, split_line
from shunter.model.audit.views import AuditHeadView, AuditLines, AuditPage, AuditRecordView
from shunter.model.errors import Forbidden, Invalid, Problem
from shunter.ports.identity import AuditSearch
from shunter.ports.principals import Principal
from shunter.ports.store import AuditBatch, AuditQuery, Store

BATCHES_PER_READ = 50
RECORDS_READ_MAX = 20_000  # for one page; the next one continues
LINES_BYTES_MAX = 4 * 2**20  # of one page of lines
UNREADABLE = "unreadable"  # shown as the result of a record that was damaged in the store


class AuditLog:
    def __init__(self, caller: Principal, engine: Engine, store: Store) -> None:
        self._caller, self._engine, self._store = caller, engine, store

    async def page(self, search: AuditSearch) -> AuditPage:
        head = await self.head()
        before = head.number + 1 if search.cursor is None else _read_cursor(search.cursor)
        items: list[AuditRecordView] = []
        read = 0
        while before > 1 and read < RECORDS_READ_MAX and len(items) < search.limit:
            batches = await self._store.audit_batches(AuditQuery(before=before, limit=BATCHES_PER_READ))
            if not batches:
                before = 1
            for batch in batches:
                for number, line in reversed(_lines_of(batch)):
                    if number >= before or len(items) >= search.limit:
                        continue
                    before, read = number, read + 1
                    if (view := self._view(number, line, search)) is not None:
                        items.append(view)
        more = str(before) if before > max(self._engine.state.audit.dropped_through + 1, 1) else None
        return AuditPage(items, more, head)

    async def head(self) -> AuditHeadView:
        await self._engine.wait_committed()
        log = self._engine.state.audit
        return AuditHeadView(log.number, log.head.hex())

    async def lines(self, after: int, limit: int) -> AuditLines:
        """The lines in order, exactly as they are stored."""
        head = await self.head()
        found: list[str] = []
        size = 0
        while len(found) < limit and size < LINES_BYTES_MAX:
            batches = await self._store.audit_batches(AuditQuery(after=after, limit=BATCHES_PER_READ))
            for batch in batches:
                for number, line in _lines_of(batch):
                    if after < number <= head.number and len(found) < limit:
                        found.append(line.decode(errors="replace"))
                        after, size = number, size + len(line)
            if not batches or after >= head.number:
                break
        return AuditLines(found, after, head)

    async def note_refused(self, refused: Sequence[RefusedRequests]) -> None:
        if not self._caller.has_admin_token:
            raise Forbidden("only managers report what they have refused; they use the admin token")
        await self._engine.note_refused(refused)

    def _view(self, number: int, line: bytes, search: AuditSearch) -> AuditRecordView | None:
        """None if the caller must not see it, or does not look for it."""
        try:
            record, _, hash = split_line(line)
        except ValueError:
            is_wanted = self._caller.is_cluster_wide and search.is_open
            return AuditRecordView(number=number, at="", operation="", result=UNREADABLE) if is_wanted else None
        if not self._sees(record) or not _matches(record, search):
            return None
        return AuditRecordView(hash=hash.hex(), **msgspec.structs.asdict(record))

    def _sees(self, record: AuditRecord) -> bool:
        caller = self._caller
        if caller.is_cluster_wide:
            return True
        is_bound = caller.testbeds or caller.namespace or caller.queue
        if is_bound or not caller.tenant:
            return record.key == caller.key
        return record.tenant == caller.tenant


def _lines_of(batch: AuditBatch) -> list[tuple[int, bytes]]:
    """The lines with the numbers that they should have."""
    return list(enumerate(batch.body.splitlines(), batch.first))


def _matches(record: AuditRecord, search: AuditSearch) -> bool:
    return (
        search.user in ("", record.user)
        and search.tenant in ("", record.tenant)
        and search.operation in ("", record.operation)
        and search.source in ("", record.source)
        and search.key in ("", record.key)
    )


def _read_cursor(text: str) -> int:
    if text.isascii() and text.isdigit() and len(text) <= 18:
        return int(text)
    raise Invalid([Problem("query.after", "is not a cursor", text[:80], "use the `next` of the previous page")])
