"""One round: the state it sees, the changes it records, and the messages it publishes after the commit. Created by
`engine.engine` and passed to every function that decides."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random
from typing import Any, Protocol

from shunter.engine.changes import Change, TasksTransitioned
from shunter.engine.dirty_sets import MARKERS, DirtySets
from shunter.engine.metrics.measures import RoundMeasures
from shunter.engine.outbox import Outbox
from shunter.engine.settings import EngineSettings
from shunter.engine.state.records import Job, TaskSet
from shunter.engine.state.state import State
from shunter.engine.timers import Timers
from shunter.model.lifecycles import TaskEvent
from shunter.model.secrets import SealedValue
from shunter.model.usage import Usage
from shunter.planning.view import ClusterView, Decision
from shunter.ports.security.audit import Act
from shunter.ports.store import FinishedJob, FinishedTasks, PastRecord


class DecisionObserver(Protocol):
    """Sees every decision of a policy: the flight recorder, and shadow policies."""

    def before_decision(self, view: ClusterView, now: float, budget: int) -> ClusterView:
        """Return the view to decide on."""
        ...

    def after_decision(self, decision: Decision) -> None: ...


@dataclass(slots=True)
class Round:
    state: State
    epoch: int
    now_ms: int
    settings: EngineSettings
    random: Random
    timers: Timers
    observer: DecisionObserver | None = None
    seal: Callable[[bytes, bytes], SealedValue] | None = None  # encrypts a secret; None where nothing is stored
    dirty: DirtySets = field(default_factory=DirtySets)
    outbox: Outbox = field(init=False)
    measures: RoundMeasures = field(default_factory=RoundMeasures)
    # what is committed
    changes: list[Change] = field(default_factory=list)
    finished: list[FinishedJob] = field(default_factory=list)
    packed: dict[int, list[FinishedTasks]] = field(default_factory=dict)  # of large jobs, packed before the round
    packed_tasks: int = 0  # by the round itself
    archived_objects: list[PastRecord] = field(default_factory=list)  # deleted Schedulings
    acts: list[Act] = field(default_factory=list)  # for the audit log
    usage: dict[int, dict[str, Usage]] = field(default_factory=dict)  # by job and group, not recorded yet
    is_act: bool = False  # the present command is one, even if it changes nothing
    trace: str = ""  # the context of the present command
    size_bytes: int = 0  # of the changes, as they were committed
    # data about jobs that ended in this round
    summaries: dict[int, Any] = field(default_factory=dict)  # jobs.finish.Summary by job id
    traced_ends: list[Job] = field(default_factory=list)  # those that have a trace
    application_times: dict[int, tuple[int, int]] = field(default_factory=dict)  # start and stop in ms, by job id
    # work for the next round
    unpacked: dict[int, Job] = field(default_factory=dict)  # large jobs that end when their tasks are packed
    is_partial: bool = False  # the policy has more to decide
    is_unproductive: bool = False  # it says so, but its decision changed nothing
    next_placement_ms: int | None = None  # when the policy wants to decide again, even without changes
    has_backlog: bool = False  # some class has more outstanding tasks than lanes

    def __post_init__(self) -> None:
        self.outbox = Outbox(self.epoch, self.state.table)

    def record(self, change: Change) -> None:
        """Change the state; the change is committed with the round. Raises FormatClosed if not every manager could read
        it."""
        self.state.format.check(change)
        self.state.apply(change)
        self.changes.append(change)
        mark_dirty = MARKERS.get(type(change))
        if mark_dirty is not None:
            mark_dirty(self.dirty, self.state, change)

    def transition(self, task_set: TaskSet, first: int, last: int, event: TaskEvent, reason: str = "") -> None:
        """Record that an event of the lifecycle happens to these tasks."""
        ref = task_set.ref_of(first, last)
        self.record(TasksTransitioned(task_set.job.id, task_set.number, first, last, event, self.now_ms, reason, ref))
