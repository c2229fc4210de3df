"""Checks who leads: at most one manager has a lease at any instant, older terms and epochs write nothing, and epochs
begin only with an election or a reload.

`simulation.world` reports leases, epochs and reloads."""

from __future__ import annotations

from shunter.simulation.checks.reference_records import require


class LeaderChecker:
    def __init__(self) -> None:
        self.reloads = 0
        self._term = 0
        self._epoch = 0

    def on_lease_held(self, holders: list[str]) -> None:
        """Whoever has a lease may answer reads, so there is never a second one, also while a process is paused."""
        require(len(holders) <= 1, f"{' and '.join(holders)} have a lease at the same time")

    def on_begun(self, manager: str, term: int, epoch: int) -> None:
        require(term >= self._term, f"{manager} began epoch {epoch} of term {term} after term {self._term} had begun")
        require(epoch > self._epoch, f"{manager} began epoch {epoch} after epoch {self._epoch}")
        self._term, self._epoch = term, epoch

    def on_durable(self, manager: str, epoch: int) -> None:
        require(epoch == self._epoch, f"epoch {epoch} of {manager} wrote after epoch {self._epoch} had begun")

    def check_epochs(self, elections: int) -> None:
        """Nobody begins an epoch again and again."""
        reasons = f"{elections} elections and {self.reloads} reloads"
        require(self._epoch <= elections + self.reloads, f"{self._epoch} epochs began, with {reasons}")
