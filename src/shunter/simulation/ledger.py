"""A second book: what was committed, kept by other means than the engine's state, so that the two can be compared.

Fed by `simulation.checkers` with every durable round. It knows the lifecycles and nothing of the engine's code; a round
that the rules do not allow is a Violation.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import msgspec

from shunter.engine import changes as c
from shunter.model.jobs import GroupSpec
from shunter.model.lifecycles import (
    JOB,
    NODE,
    TASK,
    JobEvent,
    JobState,
    NodeEvent,
    NodeState,
    TaskEvent,
    TaskState,
)

LIVE = (TaskState.ASSIGNED, TaskState.RUNNING, TaskState.STOPPING)
_groups_decoder = msgspec.msgpack.Decoder(tuple[GroupSpec, ...])


class Violation(AssertionError):
    """An invariant of the design does not hold."""


def require(holds: bool, claim: str) -> None:
    if not holds:
        raise Violation(claim)


@dataclass(slots=True)
class LedgerTask:
    state: TaskState = TaskState.QUEUED
    attempt: int = 0
    node: int = 0  # while live
    restarts: int = 0
    lost: int = 0
    successes: int = 0
    succeeded_as: int = 0  # the attempt that did


@dataclass(slots=True)
class LedgerJob:
    namespace: str
    name: str
    run: int
    specs: tuple[GroupSpec, ...]
    groups: list[list[LedgerTask]]
    state: JobState = JobState.PENDING
    stop_was_asked: bool = False

    def tasks(self) -> Iterator[LedgerTask]:
        for group in self.groups:
            yield from group


@dataclass(slots=True)
class LedgerNode:
    name: str
    capacity: dict[str, int]
    largest: dict[str, int]  # the most that it ever had
    state: NodeState = NodeState.READY
    widths: dict[int, int] = field(default_factory=dict)  # class id -> lanes

    @property
    def has_shrunk(self) -> bool:
        """It came back with less than it once had, so earlier reservations may be more than it has now."""
        return any(self.capacity.get(resource, 0) < amount for resource, amount in self.largest.items())


class Ledger:
    """Jobs stay in it when they have ended, so that nothing can come back."""

    def __init__(self) -> None:
        self.version = 0
        self.epoch = 0
        self.jobs: dict[int, LedgerJob] = {}
        self.nodes: dict[int, LedgerNode] = {}
        self.unfinished: dict[tuple[str, str], int] = {}
        self.keys: dict[str, list[int]] = {}
        self.forgotten_keys: set[str] = set()
        self.purged_names: set[tuple[str, str]] = set()  # history has forgotten them: their runs may count anew
        self.ended = 0  # attempts that came to an end, of whatever kind
        self.lost_now: list[tuple[int, int, int, int, int]] = []  # job, group, index, attempt, node: in the last round
        self.went_down: set[int] = set()  # nodes, in the last round
        self._last_runs: dict[tuple[str, str], int] = {}

    def commit(self, epoch: int, version: int, changes: list[c.Change]) -> None:
        require(epoch >= self.epoch, f"epoch {epoch} wrote after epoch {self.epoch}")
        require(version == self.version + 1, f"version {version} follows {self.version}")
        self.epoch, self.version = epoch, version
        self.lost_now.clear()
        self.went_down = {node for node, record in self.nodes.items() if record.state is NodeState.DOWN}
        for change in changes:
            self._apply(change)

    def task(self, job: int, group: int, index: int) -> LedgerTask | None:
        record = self.jobs.get(job)
        return record.groups[group][index] if record is not None else None

    def live_on(self, node: int) -> Iterator[tuple[int, int, int, LedgerTask]]:
        """Tasks that the committed record has on a node: job, group, index, task."""
        for job_id in self.unfinished.values():
            for number, group in enumerate(self.jobs[job_id].groups):
                for index, task in enumerate(group):
                    if task.node == node and task.state in LIVE:
                        yield job_id, number, index, task

    def _apply(self, change: c.Change) -> None:
        match change:
            case c.JobSubmitted():
                self._submitted(change)
            case c.KeyUsed():
                require(change.key not in self.keys, f"key {change.key} was used twice")
                self.keys[change.key] = change.jobs
            case c.TasksPlaced():
                self._placed(change)
            case c.TaskStarted():
                self._move(change.job, change.group, change.index, TaskEvent.STARTED)
                self._note_start(change.job)
            case c.TasksFinished():
                for index in range(change.first, change.last + 1):
                    self._move(change.job, change.group, index, TaskEvent.FINISHED)
                self._note_start(change.job)
            case c.TaskEnded():
                self._ended(change)
            case c.TasksLost():
                self._lost(change)
            case c.TasksMoved():
                for index in range(change.first, change.last + 1):
                    self._move(change.job, change.group, index, TaskEvent(change.event))
            case c.JobStopAsked():
                job = self.jobs[change.job]
                job.state = JOB.move(job.state, JobEvent.STOP_ASKED)
                job.stop_was_asked = True
            case c.JobEnded():
                self._job_ended(change)
            case c.NodeJoined():
                self._joined(change)
            case c.NodeMoved():
                node = self.nodes[change.node]
                node.state = NODE.move(node.state, NodeEvent(change.event))
                if node.state is NodeState.DOWN:
                    self.went_down.add(change.node)
            case c.LanesSet():
                widths = self.nodes[change.node].widths
                widths[change.class_id] = change.width
                if not change.width:
                    del widths[change.class_id]
            case c.KeysDropped():
                for key in list(self.keys)[: change.count]:
                    del self.keys[key]
                    self.forgotten_keys.add(key)
            case c.NamesDropped():
                for namespace, name in change.names:
                    self._last_runs.pop((namespace, name), None)

    # ---- jobs ----

    def _submitted(self, change: c.JobSubmitted) -> None:
        name = (change.namespace, change.name)
        require(change.job not in self.jobs, f"job id {change.job} was used before")
        require(name not in self.unfinished, f"{name} is the name of an unfinished job")
        run = self._last_runs.get(name, 0) + 1
        is_anew = change.run == 1 and name in self.purged_names
        require(change.run == run or is_anew, f"{name} run {change.run} should be run {run}")
        specs = _groups_decoder.decode(bytes(change.groups))
        groups = [[LedgerTask() for _ in range(spec.count)] for spec in specs]
        self.jobs[change.job] = LedgerJob(change.namespace, change.name, change.run, specs, groups)
        self.unfinished[name] = change.job

    def _job_ended(self, change: c.JobEnded) -> None:
        job = self.jobs[change.job]
        states = {task.state for task in job.tasks()}
        require(states <= TASK.ends, f"job {change.job} ended while tasks are {sorted(states)}")
        if TaskState.FAILED in states:
            expected = JobEvent.FAILED
        elif TaskState.CANCELLED in states or job.stop_was_asked:
            expected = JobEvent.CANCELLED
        else:
            expected = JobEvent.SUCCEEDED
        require(change.event == expected, f"job {change.job} ended {JobEvent(change.event).word}, not {expected.word}")
        job.state = JOB.move(job.state, expected)
        name = (job.namespace, job.name)
        del self.unfinished[name]
        self._last_runs[name] = job.run

    def _note_start(self, job_id: int) -> None:
        job = self.jobs[job_id]
        if job.state is JobState.PENDING:
            job.state = JOB.move(job.state, JobEvent.STARTED)

    def _joined(self, change: c.NodeJoined) -> None:
        known = self.nodes.setdefault(change.node, LedgerNode(change.name, change.capacity, {}))
        require(known.name == change.name, f"node {change.node} was {known.name}, now {change.name}")
        known.capacity = change.capacity
        for resource, amount in change.capacity.items():
            known.largest[resource] = max(amount, known.largest.get(resource, 0))

    # ---- tasks ----

    def _placed(self, change: c.TasksPlaced) -> None:
        node = self.nodes[change.node]
        require(node.state is NodeState.READY, f"tasks were placed on node {node.name}, which is {node.state.word}")
        for index in range(change.first, change.last + 1):
            task = self._move(change.job, change.group, index, TaskEvent.PLACED)
            where = f"task {change.job}/{index}"
            require(change.attempt > task.attempt, f"{where}: attempt {change.attempt} after {task.attempt}")
            task.attempt, task.node = change.attempt, change.node

    def _ended(self, change: c.TaskEnded) -> None:
        event = TaskEvent(change.event)
        task = self._move(change.job, change.group, change.index, event)
        if event is TaskEvent.RETRIED:
            task.restarts += 1
            restart = self.jobs[change.job].specs[change.group].restart
            where = f"task {change.job}/{change.index}"
            require(restart.policy != "never", f"{where} was restarted against its policy")
            require(
                restart.max is None or task.restarts <= restart.max, f"{where}: restart {task.restarts} is too many"
            )
        if change.started_ms:
            self._note_start(change.job)

    def _lost(self, change: c.TasksLost) -> None:
        for index in range(change.first, change.last + 1):
            task = self.jobs[change.job].groups[change.group][index]
            self.lost_now.append((change.job, change.group, index, task.attempt, task.node))
            task.lost += 1
            self._move(change.job, change.group, index, TaskEvent.LOST)

    def _move(self, job: int, group: int, index: int, event: TaskEvent) -> LedgerTask:
        task = self.jobs[job].groups[group][index]
        before = task.state
        require(TASK.allows(before, event), f"task {job}/{index}: {event.word} while {before.word}")
        task.state = TASK.move(before, event)
        if task.state is TaskState.SUCCEEDED:
            task.successes += 1
            task.succeeded_as = task.attempt
            require(task.successes == 1, f"task {job}/{index} succeeded {task.successes} times")
        if before in LIVE and task.state not in LIVE:
            task.node = 0
            self.ended += 1
        return task
