"""Changes of tasks: one row describes the transition of a range of neighbouring tasks.

A row also has the name of its job (`ref`), so that history can be read without a lookup."""

from __future__ import annotations

from itertools import accumulate
from operator import sub

from shunter.engine.changes.change_struct import ChangeStruct
from shunter.model.usage import Usage


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
    """All of them exited with 0. `started` and `ended` are times packed by `pack_times`; their logs are adjacent."""

    job: int
    task_set: int
    first: int
    last: int
    started: list[int]
    ended: list[int]
    log: int
    ref: str


class TaskEnded(ChangeStruct, tag=6):
    """One attempt ended in another way. `event` is RETRIED, GAVE_UP or STOPPED; `not_before_ms` applies to RETRIED."""

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
    """Attempts ended without an exit code and are queued again. One that was lost together with its keeper
    (`with_keeper`) waits until `not_before_ms`, and is then the only one of its change."""

    job: int
    task_set: int
    first: int
    last: int
    at_ms: int
    reason: str
    ref: str
    not_before_ms: int = 0
    with_keeper: bool = False


class TasksTransitioned(ChangeStruct, tag=8):
    """A transition without further facts. `event` is UNBLOCKED, RETURNED, CANCEL_ASKED, PREEMPTED, STOPPED, REQUEUED,
    CANCELLED or GAVE_UP. PREEMPTED also means a drain or a move: the task will be queued again."""

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
    """Pins a task's next placement to this node; 0: to none."""

    job: int
    task_set: int
    index: int
    node: int
    at_ms: int
    reason: str
    ref: str


class UsageAdded(ChangeStruct, tag=83):
    """Attempts of one group ended, of a job that goes on. It is about no single task, so it is no event."""

    job: int
    group: str
    usage: Usage


TaskChange = (
    TasksPlaced
    | TaskStarted
    | TasksFinished
    | TaskEnded
    | TasksLost
    | TasksTransitioned
    | TaskHealth
    | TaskPinned
    | UsageAdded
)


def pack_times(times_ms: list[int]) -> list[int]:
    """Packs times of neighbouring tasks: the first in full, then the differences, which take a byte or two."""
    return times_ms if len(times_ms) == 1 else [times_ms[0], *map(sub, times_ms[1:], times_ms)]


def unpack_times(deltas: list[int]) -> list[int]:
    return deltas if len(deltas) == 1 else list(accumulate(deltas))
