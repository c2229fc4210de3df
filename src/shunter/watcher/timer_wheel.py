"""A timer wheel: many deadlines at little cost. Used by `liveness` and `handshakes`.

The wheel is lazy. A deadline that moves later (a heartbeat arrived) is not moved in the wheel: its old slot comes up,
the owner sees that it is not due yet and inserts it again. So a heartbeat costs one assignment, and a tick only looks
at what may be due."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterator
from typing import Generic, TypeVar

TICK_S = 0.25

K = TypeVar("K", bound=Hashable)


class TimerWheel(Generic[K]):
    """Keys in slots of TICK_S. A key comes up at its time or up to one tick later; each key is in at most one slot."""

    def __init__(self) -> None:
        self._slots: dict[int, dict[K, None]] = {}  # dicts, because their order is the order of insertion
        self._slot_of: dict[K, int] = {}

    def schedule(self, key: K, at: float) -> None:
        """Let the key come up at `at`. A key that is there already is only ever moved forward."""
        slot = math.ceil(at / TICK_S)
        current_slot = self._slot_of.get(key)
        if current_slot is not None:
            if current_slot <= slot:
                return
            self._remove(key, current_slot)
        self._slots.setdefault(slot, {})[key] = None
        self._slot_of[key] = slot

    def cancel(self, key: K) -> None:
        current_slot = self._slot_of.pop(key, None)
        if current_slot is not None:
            self._remove(key, current_slot)

    def pop_due(self, now: float) -> list[K]:
        """Take out all keys whose time has come, the earliest first."""
        last = math.floor(now / TICK_S)
        keys = [key for slot in sorted(slot for slot in self._slots if slot <= last) for key in self._slots.pop(slot)]
        for key in keys:
            del self._slot_of[key]
        return keys

    def __iter__(self) -> Iterator[K]:
        return iter(self._slot_of)

    def __len__(self) -> int:
        return len(self._slot_of)

    def _remove(self, key: K, slot: int) -> None:
        keys = self._slots[slot]
        del keys[key]
        if not keys:
            del self._slots[slot]
