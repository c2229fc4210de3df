"""The connection that a scheduler's driver needs to the manager, for any transport."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

from shunter.model.protocol.scheduler_messages import DecisionAnswer, DecisionRow, Situation


@dataclass(frozen=True, slots=True)
class Lease:
    token: str
    lease_s: float


class Link(Protocol):
    """Calls raise the errors of `shunter.errors`: Conflict where the session is over, NotReachable where nobody
    answers, Busy where patience is asked for."""

    def watch(self, name: str, mode: str, wants: Sequence[str]) -> Iterator[tuple[Situation, Lease | None]]:
        """Situations as they come, the first with the lease. Blocks; ends, or raises, when the session is over."""
        ...

    def decide(self, token: str, row: DecisionRow) -> DecisionAnswer: ...

    def renew(self, token: str) -> None: ...

    def stop_watching(self) -> None:
        """Ends a `watch` in another thread."""
        ...

    def close(self) -> None: ...
