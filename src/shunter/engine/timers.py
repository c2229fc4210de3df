"""Timers that a round must process when they are due. The modules that decide arm them, and `engine.due_timers` fires
them. `engine.recovery` rebuilds them from the state, so they are never committed."""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import IntEnum

from shunter.engine.state.records import TaskSet


class TimerKind(IntEnum):
    """The comment says what the subject of a timer is: the first two have a task set, all others only an id."""

    BACK_OFF = 1  # a task
    QUEUE_TIMEOUT = 2  # a task set
    JOB_START = 3  # a job
    JOB_TIMEOUT = 4  # a job
    JOB_DEADLINE = 5  # a job
    TEMPLATE = 6  # a template
    SERVICE = 8  # a long-running job
    DRAIN = 9  # a node
    SCHEDULING = 10  # a Scheduling, by its uid
    DISCONNECT = 11  # a node that is down
    JOB_END = 12  # a job


JOB_TIMERS = (TimerKind.JOB_START, TimerKind.JOB_TIMEOUT, TimerKind.JOB_DEADLINE)


@dataclass(slots=True)
class Timers:
    """A timer is never disarmed: its handler checks whether it still applies."""

    # at_ms, kind, subject or job, task set, index
    heap: list[tuple[int, int, int, int, int]] = field(default_factory=list)

    def add(self, at_ms: int, kind: TimerKind, task_set: TaskSet, index: int = 0) -> None:
        heapq.heappush(self.heap, (at_ms, int(kind), task_set.job.id, task_set.number, index))

    def add_for(self, at_ms: int, kind: TimerKind, subject: int) -> None:
        """Arm a timer for a subject that has no task set, by its id."""
        heapq.heappush(self.heap, (at_ms, int(kind), subject, 0, 0))

    def due(self, now_ms: int) -> Iterator[tuple[TimerKind, int, int, int]]:
        """Take the due timers: kind, subject or job, task set, index."""
        while self.heap and self.heap[0][0] <= now_ms:
            _, kind, subject, number, index = heapq.heappop(self.heap)
            yield TimerKind(kind), subject, number, index

    def due_subjects(self, kind: TimerKind, now_ms: int) -> Iterator[int]:
        """The subjects of the due timers of a kind, which stay armed."""
        positions = [0]
        while positions:
            position = positions.pop()
            if position < len(self.heap) and self.heap[position][0] <= now_ms:
                positions += (2 * position + 1, 2 * position + 2)  # children are never due before their parent
                if self.heap[position][1] == kind:
                    yield self.heap[position][2]

    @property
    def next_ms(self) -> int | None:
        return self.heap[0][0] if self.heap else None
