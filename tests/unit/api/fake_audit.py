"""The sub-gateway `audit` of the fake gateway."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from shunter.model.audit.records import RefusedRequests
from shunter.model.audit.views import AuditHeadView, AuditLines, AuditPage, AuditRecordView
from shunter.ports.identity import AuditSearch

if TYPE_CHECKING:
    from tests.unit.api.fake_gateway import FakeGateway

HEAD = AuditHeadView(3, "ab" * 32)


class FakeAudit:
    def __init__(self, gateway: FakeGateway) -> None:
        self._gateway = gateway

    async def page(self, search: AuditSearch) -> AuditPage:
        self._gateway.record_call(search)
        return AuditPage([AuditRecordView(number=3, at="2026-01-01T00:00:00.000Z", operation="submitJob")], None, HEAD)

    async def lines(self, after: int, limit: int) -> AuditLines:
        self._gateway.record_call((after, limit))
        return AuditLines(["{}"], after + 1, HEAD)

    async def note_refused(self, refused: Sequence[RefusedRequests]) -> None:
        self._gateway.record_call(list(refused))
