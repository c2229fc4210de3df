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
    is_waiting: bool = False  # for other jobs or a time: its tasks begin as waiting
    targets: list[int] = []  # the jobs that it waits for: by the options' `after`, then the run it is queued behind


class JobStopRequested(ChangeStruct, tag=9):
    job: int
    at_ms: int
    reason: str
    ref: str


class JobEnded(ChangeStruct, tag=10):
    """The run is over and leaves memory; its history went to the store in the same commit."""

    job: int
    event: int
    at_ms: int
    reason: str
    ref: str


class JobHeld(ChangeStruct, tag=21):
    """Held: nothing more of it is placed until it is released."""

    job: int
    is_held: bool
    at_ms: int
    ref: str


class EdgeRetargeted(ChangeStruct, tag=50):
    """The run that this one was queued behind has ended, and one before that has not: it waits for that one now."""

    job: int
    edge: int
    target: int


class JobFlagged(ChangeStruct, tag=23):
    """Something about a job that people should know: it missed its deadline, or is to fail for a reason of its own."""

    job: int
    flag: str
    at_ms: int
    reason: str
    ref: str


class EdgeSettled(ChangeStruct, tag=22):
    """One of the jobs that this one waits for has ended, as `outcome`. `is_met` False: what was wanted can come true no
    more. Then the job runs anyway, or it is stopped, which is recorded beside it."""

    job: int
    edge: int  # its place among the job's targets
    is_met: bool
    at_ms: int
    ref: str
    target: str = ""  # NAME@RUN of the one that has ended
    outcome: str = ""  # succeeded | failed | cancelled
    stops: bool = False


class TaskSetAdded(ChangeStruct, tag=18):
    """A further task set of a job: tasks of its group `group_index`, by the job's present spec, or by that of the task
    set `copy_of`. Index i of the task set is shown as task `visible_index[i]`; with a `node`, its tasks run there or
    nowhere. They begin as waiting."""

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
    """A task set of which all tasks have ended leaves its job."""

    job: int
    number: int
    ref: str


class TaskSetUnpinned(ChangeStruct, tag=43):
    """A task set that was moved to a node may run anywhere from now on; none of its tasks is on a node."""

    job: int
    number: int
    ref: str


class IdempotencyKeyUsed(ChangeStruct, tag=2):
    """A client's key for a submit: repeating it returns these jobs."""

    key: str
    jobs: list[int]
    at_ms: int


class IdempotencyKeysDropped(ChangeStruct, tag=15):
    """The oldest `count` client keys are forgotten."""

    count: int


class NamesDropped(ChangeStruct, tag=16):
    """History purged the last run of these names; a later run counts from 1 again."""

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
