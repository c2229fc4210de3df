"""Changes of tasks: one row describes the transition of a range of neighbouring tasks.

A row also has the name of its job (`ref`), so that history can be read without a lookup."""

from __future__ import annotations

from itertools import accumulate
from operator import sub

from shunter.engine.changes.change_struct import ChangeStruct


class TasksPlaced(ChangeStruct, tag=3):
    """queued -> assigned, as attempt `attempt`."""

    job: int
    task_set: int
    first: int
    last: int
    attempt: int
    node: int
    ref: str


class TaskStarted(ChangeStruct, tag=4):
    job: int
    task_set: int
    index: int
    started_ms: int
    log: int
    ref: str
    ports: dict[str, int] = {}


class TasksFinished(ChangeStruct, tag=5):
    """All of them exited with 0. `started` and `ended` are times packed by `pack_times`; logs follow one another."""

    job: int
    task_set: int
    first: int
    last: int
    started: list[int]
    ended: list[int]
    log: int
    ref: str


class TaskEnded(ChangeStruct, tag=6):
    """One attempt ended otherwise. `event` is RETRIED, GAVE_UP or STOPPED; `not_before_ms` holds for RETRIED."""

    job: int
    task_set: int
    index: int
    event: int
    exit_code: int
    started_ms: int
    ended_ms: int
    log: int
    not_before_ms: int
    reason: str
    ref: str


class TasksLost(ChangeStruct, tag=7):
    """Attempts ended without an exit code: queued again."""

    job: int
    task_set: int
    first: int
    last: int
    at_ms: int
    reason: str
    ref: str


class TasksTransitioned(ChangeStruct, tag=8):
    """A move without further facts. `event` is UNBLOCKED, RETURNED, CANCEL_ASKED, PREEMPTED, STOPPED, REQUEUED,
    CANCELLED or GAVE_UP. PREEMPTED also stands for a drain or a move: the task is to come back."""

    job: int
    task_set: int
    first: int
    last: int
    event: int
    at_ms: int
    reason: str
    ref: str


class TaskHealth(ChangeStruct, tag=20):
    job: int
    task_set: int
    index: int
    is_healthy: bool
    at_ms: int
    detail: str
    ref: str


class TaskPinned(ChangeStruct, tag=44):
    """A task goes to this node next, and nowhere else; 0: wherever it fits."""

    job: int
    task_set: int
    index: int
    node: int
    at_ms: int
    reason: str
    ref: str


TaskChange = (
    TasksPlaced | TaskStarted | TasksFinished | TaskEnded | TasksLost | TasksTransitioned | TaskHealth | TaskPinned
)


def pack_times(times_ms: list[int]) -> list[int]:
    """Times of neighbouring tasks: the first whole, then the differences, which pack into a byte or two."""
    return times_ms if len(times_ms) == 1 else [times_ms[0], *map(sub, times_ms[1:], times_ms)]


def unpack_times(deltas: list[int]) -> list[int]:
    return deltas if len(deltas) == 1 else list(accumulate(deltas))
