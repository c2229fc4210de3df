"""Named queues and their rules. A queue without rules has no limits; it exists while a job names it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import astuple, dataclass
from typing import Any

from shunter.engine import changes as c


@dataclass(frozen=True, slots=True)
class Queue:
    """A limit of 0 means none."""

    is_paused: bool = False
    is_strict: bool = False
    running_max: int = 0  # tasks on nodes
    queued_max: int = 0  # pending tasks; a submit beyond it is refused


UNLIMITED = Queue()


class QueueRegistry:
    def __init__(self) -> None:
        self.queues: dict[str, Queue] = {}

    def get(self, name: str) -> Queue:
        return self.queues.get(name, UNLIMITED)

    def appliers(self) -> Mapping[type, Callable[[Any], None]]:
        return {c.QueueSet: self._set, c.QueueDropped: self._drop}

    def dump(self) -> list[list[Any]]:
        return [[name, *astuple(queue)] for name, queue in sorted(self.queues.items())]

    def load(self, dump: list[list[Any]]) -> None:
        self.queues = {name: Queue(*rules) for name, *rules in dump}

    def _set(self, change: c.QueueSet) -> None:
        queue = Queue(change.is_paused, change.is_strict, change.running_max, change.queued_max)
        self.queues[change.name] = queue

    def _drop(self, change: c.QueueDropped) -> None:
        self.queues.pop(change.name, None)
