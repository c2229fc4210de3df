"""Timers that a round must process when they are due. The modules that decide arm them, and `engine.due_timers` fires
them. `engine.recovery` rebuilds them from the state, so they are never committed."""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import IntEnum

from shunter.engine.state.records import TaskSet


class TimerKind(IntEnum):
    BACK_OFF = 1
    QUEUE_TIMEOUT = 2
    JOB_START = 3  # from here on for a whole job
    JOB_TIMEOUT = 4
    JOB_DEADLINE = 5
    TEMPLATE = 6  # of a template, by its id
    SERVICE = 8  # of a long-running job
    DRAIN = 9  # for a node, in place of a job
    SCHEDULING = 10  # of a Scheduling, by its uid
    DISCONNECT = 11  # for a node that is down, in place of a job


JOB_TIMERS = (TimerKind.JOB_START, TimerKind.JOB_TIMEOUT, TimerKind.JOB_DEADLINE)


@dataclass(slots=True)
class Timers:
    """A timer is never disarmed: its handler checks whether it still applies."""

    heap: list[tuple[int, int, int, int, int]] = field(default_factory=list)  # at_ms, kind, job, task set, index

    def add(self, at_ms: int, kind: TimerKind, task_set: TaskSet, index: int = 0) -> None:
        heapq.heappush(self.heap, (at_ms, int(kind), task_set.job.id, task_set.number, index))

    def add_job(self, at_ms: int, kind: TimerKind, job_id: int) -> None:
        """Arm a timer of a whole job, or of another subject as defined by the kind."""
        heapq.heappush(self.heap, (at_ms, int(kind), job_id, 0, 0))

    def due(self, now_ms: int) -> Iterator[tuple[TimerKind, int, int, int]]:
        """Take the due timers: kind, job, task set, index."""
        while self.heap and self.heap[0][0] <= now_ms:
            _, kind, job, number, index = heapq.heappop(self.heap)
            yield TimerKind(kind), job, number, index

    @property
    def next_ms(self) -> int | None:
        return self.heap[0][0] if self.heap else None
