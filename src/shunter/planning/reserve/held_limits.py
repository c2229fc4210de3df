"""What of limited queues and of licences is left to a class beside what items ahead of it are to use. Made by
`companions` for each decision.

Room on nodes is kept by `claims`; but whoever ends others, or has room reserved, also needs its places in a limited
queue and its licences when that room comes: nobody has them meanwhile, also not those who would have ended by then,
lest it were kept back when its room has come. And what needs several of them at once would never get them while others
take them one by one as they come free: after a while, what comes free is kept for it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from shunter.planning.order.class_table import Seat
from shunter.planning.order.queue_limits import Gates
from shunter.planning.reserve.reservations import Claims
from shunter.planning.score.gangs import Item

Seats = Sequence[tuple[Seat, int]]  # so many tasks of each


@dataclass(frozen=True, slots=True)
class Owed:
    """Tasks of a seat that have what they need of queues and licences before those behind them."""

    seat: Seat
    count: int
    item: Item


class Limits:
    def __init__(self, gates: Gates, claims: Claims | None, seat_of: Callable[[int], Seat]) -> None:
        self._gates = gates
        self._claims = claims
        self._seat_of = seat_of
        self._owed: list[Owed] = []

    def most(self, seat: Seat, count: int) -> int:
        """How many of `count` tasks may start."""
        self._settle(seat)
        most = self._gates.most(seat, count)
        if most < count:
            self._explain(seat)
        return most

    def admit(self, wanted: Seats) -> bool:
        """Whether all of these may start together."""
        for seat, _ in wanted:
            self._settle(seat)
        is_admitted = self._gates.admit(wanted)
        if not is_admitted:
            for seat, _ in wanted:
                self._explain(seat)
        return is_admitted

    def keep(self, item: Item, wanted: Seats) -> None:
        """What the item lacks is kept for it as it comes free, if it could start then."""
        if self._claims is None or self._gates.admit(wanted) or not self._gates.admits_ever(wanted):
            return
        if self._claims.could_start(item):
            self._owe([Owed(seat, count, item) for seat, count in wanted])
            self._claims.explain(item, "what comes free of its queue and licences is kept for it")

    def _settle(self, seat: Seat) -> None:
        """Whoever shares a limit with an item ahead has to know what that comes to."""
        if self._claims is None or not self._claims.has_items or not self._gates.limits(seat):
            return
        pending = (each.task_class.id for item in self._claims.pending for each in item.members)
        if any(self._gates.shared(seat, self._seat_of(each)) for each in pending):
            self._claims.work_out()
        granted, self._claims.granted = self._claims.granted, []
        for item, placed in granted:
            self._owe([Owed(self._seat_of(each.task_class.id), int(at.counts.sum()), item) for each, at in placed])

    def _owe(self, owed: list[Owed]) -> None:
        self._owed += owed
        for each in owed:
            self._gates.place(each.seat, each.count)

    def _explain(self, seat: Seat) -> None:
        """Say for whose sake it waits."""
        for each in self._owed:
            if self._claims is not None and (what := self._gates.shared(seat, each.seat)):
                self._claims.refuse(seat.task_class.id, each.item, what)
                return
