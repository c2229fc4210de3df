"""The active format of the store: what a leader may write, because every manager can read it.

A change raises it; it never falls. A manager that cannot read the active format stops with NewerFormat."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from shunter.engine import changes as c
from shunter.engine.changes.formats import FIRST_FORMAT, FORMATS, Formats, Stored
from shunter.model.errors import FormatClosed


class FormatRegistry:
    def __init__(self, program: Formats = FORMATS) -> None:
        self.program = program
        self.active = FIRST_FORMAT
        self.raised_by = ""  # the version of the manager that raised it

    def allows(self, stored: Stored) -> bool:
        """Whether every manager can read this kind of change, field or registry."""
        return self.program.since.get(stored, FIRST_FORMAT) <= self.active

    def check(self, value: Any) -> None:
        """Raises FormatClosed if a manager may be unable to read a change, or what will be part of one."""
        if self.active < self.program.complete:
            for part in self.program.parts_newer_than(self.active, value):
                raise FormatClosed(
                    f"{part} needs a newer format of the store than {self.active}, which is active until every manager"
                    " is upgraded"
                )

    def appliers(self) -> Mapping[type, Callable[[Any], None]]:
        return {c.FormatRaised: self._raise}

    def dump(self) -> list[Any]:
        return [self.active, self.raised_by]

    def load(self, dump: list[Any]) -> None:
        active, raised_by = dump
        self.program.refuse_newer(active, raised_by)
        self.active, self.raised_by = active, raised_by

    def _raise(self, change: c.FormatRaised) -> None:
        self.program.refuse_newer(change.format, change.by)
        self.active, self.raised_by = change.format, change.by
