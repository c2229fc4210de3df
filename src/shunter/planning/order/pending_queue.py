"""The queued classes, with the version at which each last changed. The engine owns one and passes it in every view.

A policy can read only what changed, or iterate over it like any sequence."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import overload

from shunter.planning.view import Queued

DROPPED_MAX = 10_000  # removed classes that are still remembered as changed


class PendingQueue(Sequence[Queued]):
    """One entry for each class with tasks to place. `tick` counts the changes, as in `Nodes`."""

    def __init__(self) -> None:
        self.tick = 0
        self._queued: dict[int, Queued] = {}
        self._changed: dict[int, int] = {}  # class id -> tick of its last change, the latest last
        self._entered: dict[int, int] = {}  # class id -> tick at which it was added, the latest last
        self._forgotten_until = 0  # changes up to this tick are no longer known

    def put(self, queued: Queued) -> None:
        """Set the entry of a class; without tasks it is removed. Never modify an entry in place."""
        class_id = queued.task_class.id
        if queued.count <= 0:
            self.drop(class_id)
        elif (before := self._queued.get(class_id)) != queued:
            self._queued[class_id] = queued
            self._mark_changed(class_id)
            if before is None:
                self._entered[class_id] = self.tick

    def drop(self, class_id: int) -> None:
        if self._queued.pop(class_id, None) is not None:
            self._mark_changed(class_id)
            del self._entered[class_id]
            if len(self._changed) > len(self._queued) + DROPPED_MAX:
                self._changed = {id: tick for id, tick in self._changed.items() if id in self._queued}
                self._forgotten_until = self.tick

    def get(self, class_id: int) -> Queued | None:
        return self._queued.get(class_id)

    def entered(self, class_id: int) -> int:
        """The tick at which a pending class was added: later ones stand behind it."""
        return self._entered[class_id]

    def changed_since(self, tick: int) -> list[int] | None:
        """The classes that changed after that tick, including removed ones; None if that is no longer known."""
        if tick < self._forgotten_until:
            return None
        changed = []
        for class_id, at in reversed(self._changed.items()):
            if at <= tick:
                break
            changed.append(class_id)
        return changed

    def __len__(self) -> int:
        return len(self._queued)

    @overload
    def __getitem__(self, index: int) -> Queued: ...
    @overload
    def __getitem__(self, index: slice) -> list[Queued]: ...
    def __getitem__(self, index: int | slice) -> Queued | list[Queued]:
        return list(self._queued.values())[index]

    def __iter__(self) -> Iterator[Queued]:
        return iter(self._queued.values())

    def _mark_changed(self, class_id: int) -> None:
        self.tick += 1
        self._changed.pop(class_id, None)
        self._changed[class_id] = self.tick
