"""Where the audit log ends, and up to where retention has dropped it. The records are in the store."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from shunter.engine import changes as c
from shunter.model.audit.records import GENESIS


class AuditRegistry:
    def __init__(self) -> None:
        self.number = 0  # of the last record
        self.head = GENESIS  # its hash
        self.dropped_through = 0
        self.checkpoint_ms = 0

    def appliers(self) -> Mapping[type, Callable[[Any], None]]:
        return {c.AuditAdvanced: self._advance, c.AuditCheckpointed: self._checkpoint}

    def dump(self) -> list[Any]:
        return [self.number, self.head, self.dropped_through, self.checkpoint_ms]

    def load(self, dump: list[Any]) -> None:
        self.number, self.head, self.dropped_through, self.checkpoint_ms = dump

    def _advance(self, change: c.AuditAdvanced) -> None:
        self.number, self.head = change.number, change.hash

    def _checkpoint(self, change: c.AuditCheckpointed) -> None:
        self.dropped_through, self.checkpoint_ms = change.through, change.at_ms
