"""Changes of whole jobs, of their groups, and of their names and client keys."""

from __future__ import annotations

import msgspec

from shunter.engine.changes.change_struct import ChangeStruct

NO_OPTIONS = msgspec.Raw(b"\x80")  # an empty map: every option as by default


class JobSubmitted(ChangeStruct, tag=1):
    job: int
    namespace: str
    name: str
    run: int
    type: str
    priority: int
    labels: dict[str, str]
    user: str
    at_ms: int
    groups: msgspec.Raw  # tuple[GroupSpec, ...]; shared between jobs that are alike but for their names
    options: msgspec.Raw = NO_OPTIONS  # JobOptions
    is_waiting: bool = False  # for other jobs or a time: its tasks start as waiting
    targets: list[int] = []  # the jobs it waits for: those of the options' `after`, then the run it is queued behind
    trace: str = ""  # the W3C context of the request that submitted it


class JobStopRequested(ChangeStruct, tag=9):
    job: int
    at_ms: int
    reason: str
    ref: str


class JobEnded(ChangeStruct, tag=10):
    """The run has ended and leaves memory; the same commit stores its history."""

    job: int
    event: int
    at_ms: int
    reason: str
    ref: str


class JobHeld(ChangeStruct, tag=21):
    """The job is held: none of its tasks is placed until it is released."""

    job: int
    is_held: bool
    at_ms: int
    ref: str


class EdgeRetargeted(ChangeStruct, tag=50):
    """The run that this one was queued behind has ended, but an earlier one has not. This run now waits for that
    one."""

    job: int
    edge: int
    target: int


class JobFlagged(ChangeStruct, tag=23):
    """A fact about a job for users: it missed its deadline, or it must fail for a given reason."""

    job: int
    flag: str
    at_ms: int
    reason: str
    ref: str


class EdgeSettled(ChangeStruct, tag=22):
    """One of the jobs that this one waits for has ended, as `outcome`. `is_met` False: the wanted outcome can no longer
    happen. Then the job runs anyway, or another change stops it."""

    job: int
    edge: int  # its index among the job's targets
    is_met: bool
    at_ms: int
    ref: str
    target: str = ""  # NAME@RUN of the job that has ended
    outcome: str = ""  # succeeded | failed | cancelled
    stops: bool = False


class TaskSetAdded(ChangeStruct, tag=18):
    """Adds a task set to a job: tasks of its group `group_index`, by the job's current spec, or by that of the task set
    `copy_of`. Index i of the task set is shown as task `visible_index[i]`. With a `node`, its tasks run only there.
    They start as waiting."""

    job: int
    number: int
    group_index: int
    visible_index: list[int]
    node: int
    ref: str
    at_ms: int = 0
    reason: str = ""
    copy_of: int = -1


class TaskSetDropped(ChangeStruct, tag=19):
    """Removes a task set from its job after all its tasks have ended."""

    job: int
    number: int
    ref: str


class TaskSetUnpinned(ChangeStruct, tag=43):
    """A task set that was moved to a node may run anywhere from now on. None of its tasks is on a node."""

    job: int
    number: int
    ref: str


class IdempotencyKeyUsed(ChangeStruct, tag=2):
    """A client's idempotency key for a submit: repeating it returns these jobs."""

    key: str
    jobs: list[int]
    at_ms: int


class IdempotencyKeysDropped(ChangeStruct, tag=15):
    """The oldest `count` client keys were dropped."""

    count: int


class NamesDropped(ChangeStruct, tag=16):
    """History purged the last run of these names. A later run counts from 1 again."""

    names: list[tuple[str, str]]


JobChange = (
    JobSubmitted
    | JobStopRequested
    | JobEnded
    | JobHeld
    | JobFlagged
    | EdgeSettled
    | EdgeRetargeted
    | TaskSetAdded
    | TaskSetDropped
    | TaskSetUnpinned
    | IdempotencyKeyUsed
    | IdempotencyKeysDropped
    | NamesDropped
)
