"""What REST answers about the audit log."""

from __future__ import annotations

import msgspec

from shunter.model.audit.records import Checkpoint, RefusedRequests


class AuditHeadView(msgspec.Struct):
    """The newest record. Keep its hash elsewhere: `shunter audit verify --head HASH` finds what was changed before."""

    number: int
    hash: str


class AuditRecordView(msgspec.Struct, kw_only=True, omit_defaults=True):
    """One record. `refused` counts requests that were refused, `checkpoint` says what retention dropped."""

    number: int
    at: str
    operation: str
    user: str = ""
    tenant: str = ""
    key: str = ""
    transport: str = ""
    source: str = ""
    names: list[str] = []
    result: str = "ok"
    version: int = 0
    refused: list[RefusedRequests] = []
    checkpoint: Checkpoint | None = None
    hash: str = ""


class AuditPage(msgspec.Struct):
    """`next` continues with older records; a page may have few, or none, if few match."""

    items: list[AuditRecordView]
    next: str | None
    head: AuditHeadView


class AuditLines(msgspec.Struct):
    """Lines of the log as they are stored, to check their hashes. `last` is the number of the last one."""

    lines: list[str]
    last: int
    head: AuditHeadView


class RefusedReport(msgspec.Struct, forbid_unknown_fields=True):
    """What a manager that does not lead has refused."""

    refused: list[RefusedRequests]
