"""The records that `engine.state` keeps: jobs, groups, classes, lanes and nodes. Small, because there may be many."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from shunter.model.jobs import GroupSpec
from shunter.model.lifecycles import JobState, NodeState, TaskState
from shunter.model.messages import MachineStats
from shunter.planning.view import IntArray, TaskClass

if TYPE_CHECKING:
    from collections.abc import Iterator

Run = tuple[int, int, int]  # first, last, attempts so far
STATES = len(TaskState)


@dataclass(slots=True, eq=False)
class Blueprint:
    """Group specs shared by all jobs that are alike but for their names."""

    serial: int
    groups: tuple[GroupSpec, ...]
    body: bytes
    jobs: int = 0

    def spec_key(self, group: int) -> int:
        """Names a group's TaskSpec in orders."""
        return self.serial << 8 | group


@dataclass(slots=True, eq=False)
class Group:
    """Tasks of a job that are alike. `ready` is a stack of runs: the last one is placed next."""

    job: Job
    number: int
    count: int
    base: int
    slot: int
    counts: list[int]
    ready: list[Run]
    task_class: ClassRecord
    in_queue: bool = False
    delayed: dict[int, int] | None = None  # index -> not_before_ms, of queued tasks that wait out their back-off
    history: list[PastAttempt] | None = None
    reasons: dict[int, str] | None = None  # index -> why it failed, was lost or waits

    @property
    def spec(self) -> GroupSpec:
        return self.job.blueprint.groups[self.number]


PastAttempt = tuple[int, int, int, int, int, int, int, str]
"""index, attempt, node, exit code, started_ms, ended_ms, log, reason"""


@dataclass(slots=True, eq=False)
class Job:
    id: int
    namespace: str
    name: str
    run: int
    type: str
    priority: int
    labels: dict[str, str]
    user: str
    submitted_ms: int
    blueprint: Blueprint
    groups: list[Group] = field(default_factory=list)
    state: JobState = JobState.PENDING
    started_ms: int = 0
    reason: str = ""

    @property
    def ref(self) -> str:
        return f"{self.namespace}/{self.name}@{self.run}"

    def counts(self) -> list[int]:
        if len(self.groups) == 1:
            return self.groups[0].counts
        return [sum(group.counts[state] for group in self.groups) for state in range(STATES)]

    def is_over(self) -> bool:
        """Whether every task has reached an end."""
        return all(sum(group.counts[TaskState.SUCCEEDED :]) == group.count for group in self.groups)


@dataclass(slots=True, eq=False)
class Lanes:
    """The reservation of one class on one node: `width` lanes, `outstanding` tasks assigned, running or stopping."""

    task_class: ClassRecord
    node: int
    width: int = 0
    outstanding: int = 0
    # Not part of the committed state:
    progress_ms: int = 0  # when the last task of it ended
    recalled: bool = False
    may_refill: bool = False  # the policy chose this node, and what constraints ask about has not changed since


@dataclass(slots=True, eq=False)
class ClassRecord:
    """All unfinished groups whose tasks a planner cannot tell apart."""

    key: tuple[object, ...]
    task_class: TaskClass
    vector: IntArray
    queued: int = 0  # ready to be placed; back-off not counted
    members: int = 0  # unfinished groups
    groups: deque[Group] = field(default_factory=deque)  # those with something ready, oldest first
    lanes: dict[int, Lanes] = field(default_factory=dict)  # by node
    width: int = 0  # of all its lanes
    depth: int = 1  # tasks that may be outstanding per lane: grows while they are short

    @property
    def id(self) -> int:
        return self.task_class.id

    def first_ready(self) -> Group | None:
        """The group to place from next; forgets groups that have nothing ready any more."""
        while self.groups:
            group = self.groups[0]
            if group.ready:
                return group
            group.in_queue = False
            self.groups.popleft()
        return None


@dataclass(slots=True, eq=False)
class NodeRecord:
    """What the engine knows of a node beside its row in the columns."""

    id: int
    name: str
    boot: str
    datacenter: str
    brought_labels: dict[str, str]
    set_labels: dict[str, str]
    attributes: dict[str, str]
    address: str
    state: NodeState = NodeState.READY
    reason: str = ""
    joined_ms: int = 0
    moved_ms: int = 0
    lanes: dict[int, Lanes] = field(default_factory=dict)  # by class id
    # Not part of the committed state:
    is_synced: bool = False  # its inventory has been taken in since it connected
    heard_ms: int = 0
    stats: MachineStats | None = None

    @property
    def labels(self) -> dict[str, str]:
        merged = {**self.brought_labels, **self.set_labels}
        return {key: value for key, value in merged.items() if value}


def runs_of(rows: IntArray) -> Iterator[tuple[int, int]]:
    """Sorted row numbers as inclusive runs of neighbours."""
    if rows.size == 0:
        return
    breaks = np.flatnonzero(np.diff(rows) != 1)
    firsts = [0, *(breaks + 1).tolist()]
    lasts = [*breaks.tolist(), rows.size - 1]
    for first, last in zip(firsts, lasts, strict=True):
        yield int(rows[first]), int(rows[last])
