"""Decides which manager a worker tries next, and after how long. Pure: the caller passes in random numbers. Called by
the client.

A worker with one manager waits longer after each failure. With several, it goes round quickly at first, because one of
them knows the leader. After some rounds it slows down too; then news of a leader makes it quick again."""

from __future__ import annotations

import random
import re
from collections.abc import Sequence

from shunter.adapters.grpc.backoff import Backoff
from shunter.model.protocol.refusals import RefusalCode
from shunter.model.protocol.worker_messages import Refused

PAUSE_MIN_S = 0.1
PAUSE_MAX_S = 0.25
QUICK_ROUNDS = 2
STAYS_MAX = 3  # at a manager that takes no worker now, before the others are asked
HINTS_MAX = 2  # that are followed without a pause, so that managers that name one another do not keep workers busy
ADDRESS_CHARS_MAX = 300

# Another manager is more likely to take the worker than the one that said this.
TRY_ANOTHER = frozenset({RefusalCode.NOT_LEADER, RefusalCode.STALE_EPOCH, RefusalCode.SHUTTING_DOWN})

_ADDRESS = re.compile(r"(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._-]+):[0-9]{1,5}")


def is_address(text: str) -> bool:
    """HOST:PORT and nothing else. (gRPC would also take other kinds of targets.)"""
    return len(text) <= ADDRESS_CHARS_MAX and _ADDRESS.fullmatch(text) is not None


class LeaderSearch:
    """`address` is the manager to try next. The order of the list is drawn, so that workers spread over managers."""

    def __init__(self, addresses: Sequence[str], rng: random.Random) -> None:
        assert addresses
        self._rng = rng
        self.addresses = list(dict.fromkeys(addresses))
        rng.shuffle(self.addresses)
        self._backoff = Backoff(rng)
        self._position = 0
        self._pauses = 0
        self._hints = self._stays = 0
        self._refused_for_good: set[str] = set()
        self.address = self.addresses[0]

    @property
    def is_refused_by_all(self) -> bool:
        """Every manager of the list has refused the worker for good since it was last accepted."""
        return self._refused_for_good.issuperset(self.addresses)

    def accepted(self) -> None:
        self._pauses = self._hints = self._stays = 0
        self._backoff.reset()
        self._refused_for_good.clear()

    def point_to(self, address: str) -> None:
        """There is news of a leader: try it next."""
        self.address = address
        self._pauses = self._hints = self._stays = 0
        self._backoff.reset()

    def ended(self, refused: Refused | None) -> float:
        """The attempt at `address` is over. Chooses the next one; returns how long to wait before it."""
        if refused is not None and not refused.retry:
            self._refused_for_good.add(self.address)
            self._go_on()
            return self._backoff.refused_delay_s() if self.is_refused_by_all else self._pause_s()
        if refused is not None and refused.code not in TRY_ANOTHER and self._stays < STAYS_MAX:
            self._stays += 1
            return self._backoff.next_delay_s()
        named = "" if refused is None else refused.leader
        if named == self.address:  # it was elected a moment ago
            return self._pause_s()
        if is_address(named) and self._hints < HINTS_MAX:
            self._hints += 1
            self.address = named
            return 0.0
        self._go_on()
        return self._pause_s()

    def spread_s(self) -> float:
        """Before going to a leader that all workers hear of at the same moment."""
        return self._rng.uniform(0.0, PAUSE_MIN_S)

    def _go_on(self) -> None:
        self._hints = self._stays = 0
        self._position = (self._position + 1) % len(self.addresses)
        if self.addresses[self._position] == self.address and len(self.addresses) > 1:
            self._position = (self._position + 1) % len(self.addresses)
        self.address = self.addresses[self._position]

    def _pause_s(self) -> float:
        self._pauses += 1
        if len(self.addresses) > 1 and self._pauses <= QUICK_ROUNDS * len(self.addresses):
            return self._rng.uniform(PAUSE_MIN_S, PAUSE_MAX_S)
        return self._backoff.next_delay_s()
