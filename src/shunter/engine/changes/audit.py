"""Changes of the audit log. Its records are in a table of their own, written by the same commit."""

from __future__ import annotations

from shunter.engine.changes.change_struct import ChangeStruct


class AuditAdvanced(ChangeStruct, tag=73):
    """The round has records of the audit log; this is the number and the hash of the last one."""

    number: int
    hash: bytes


class AuditCheckpointed(ChangeStruct, tag=74):
    """Retention drops the records up to this one."""

    through: int
    at_ms: int


AuditChange = AuditAdvanced | AuditCheckpointed
