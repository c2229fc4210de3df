"""Checks that nobody has to read what it does not know: leaders write what the active format has, and raise it when all
managers know the next one. Used by `simulation.checks.checkers`, which sees every round that became durable."""

from __future__ import annotations

import msgspec

from shunter.engine import changes as c
from shunter.engine.changes.formats import FIRST_FORMAT, Formats
from shunter.model.job.spec import GroupSpec
from shunter.ports.coordination import ManagerRecord
from shunter.simulation.checks.reference_records import require


class FormatRules:
    def __init__(self) -> None:
        self.active = FIRST_FORMAT
        self._steady: list[ManagerRecord] = []

    def on_registered(self, steady: list[ManagerRecord]) -> None:
        """The managers that have been registered for longer than a leader waits."""
        self._steady = steady

    def on_durable(self, writer: Formats, changes: list[c.Change]) -> None:
        for position, change in enumerate(changes):
            if isinstance(change, c.FormatRaised):
                self._raise(position, change)
            since = max(writer.since.get(type(change), FIRST_FORMAT), _format_of_groups(writer, change))
            name = type(change).__name__
            require(since <= self.active, f"{name} was written, which needs format {since}; {self.active} is active")
        require(writer.newest >= self.active, f"a manager that knows format {writer.newest} led at {self.active}")

    def check_raised(self, format: int) -> None:
        require(self.active == format, f"all managers know format {format}, and {self.active} is active")

    def _raise(self, position: int, change: c.FormatRaised) -> None:
        require(position == 0, "the format was raised in the middle of a round")
        require(change.format > self.active, f"format {change.format} was raised after {self.active}")
        for manager in self._steady:
            known = f"{manager.name} knows only {manager.format}"
            require(manager.format >= change.format, f"format {change.format} was raised while {known}")
        self.active = change.format


def _format_of_groups(writer: Formats, change: c.Change) -> int:
    """The format that a job's spec needs."""
    if not isinstance(change, c.JobSubmitted):
        return FIRST_FORMAT
    groups = msgspec.msgpack.decode(change.groups, type=tuple[GroupSpec, ...])
    needs_it = any(group.exclusive for group in groups)
    return writer.since.get((GroupSpec, "exclusive"), FIRST_FORMAT) if needs_it else FIRST_FORMAT
