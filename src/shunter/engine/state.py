"""The state of the cluster, in memory. `apply` is the only way to change it, live and in recovery alike.

Whoever decides (the modules beside this one) makes changes; what follows from a change (counts, queues, reserved
resources) is worked out here, so that replaying the changes gives the same state.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable
from typing import Any

import msgspec
import numpy as np

from shunter.engine import changes as c
from shunter.engine.node_columns import NodeColumns
from shunter.engine.queues import make_ready, unqueue
from shunter.engine.records import STATES, Blueprint, ClassRecord, Group, Job, Lanes, PastAttempt
from shunter.engine.table import TaskTable
from shunter.model.errors import InvalidMove
from shunter.model.jobs import GroupSpec
from shunter.model.lifecycles import JOB, NODE, TASK, JobEvent, JobState, NodeEvent, TaskEvent, TaskState
from shunter.planning.view import TaskClass

HISTORY_MAX = 1_000  # earlier attempts that a group remembers
_groups_decoder = msgspec.msgpack.Decoder(tuple[GroupSpec, ...])
_NO_MOVE = 255
_ASSIGNED, _STOPPING = int(TaskState.ASSIGNED), int(TaskState.STOPPING)
_QUEUED = int(TaskState.QUEUED)


def _next_states() -> list[list[int]]:
    """The task table as a matrix [event][state], so that whole runs move by one look-up."""
    matrix = [[_NO_MOVE] * STATES for _ in TaskEvent]
    for (state, event), after in TASK.moves.items():
        matrix[event][state] = int(after)
    return matrix


NEXT = _next_states()
NEXT_COLUMNS = np.array(NEXT, np.uint8)


class State:
    def __init__(self) -> None:
        self.version = 0
        self.table = TaskTable()
        self.nodes = NodeColumns()
        self.jobs: dict[int, Job] = {}
        self.names: dict[str, dict[str, Job]] = {}  # namespace -> name -> the unfinished run
        self.last_runs: dict[
            str, dict[str, tuple[int, int]]
        ] = {}  # namespace -> name -> (run, job id) of the newest ended
        self.groups: list[Group | None] = []
        self.classes: dict[int, ClassRecord] = {}
        self.keys: dict[str, list[int]] = {}
        self.key_order: deque[tuple[int, str]] = deque()  # (at_ms, key), oldest first
        self.next_job = 1
        self.next_class = 1
        self.task_counts = [0] * STATES  # of all unfinished jobs
        self.job_counts = [0] * len(JobState)
        self._blueprints: dict[bytes, Blueprint] = {}
        self._next_blueprint = 1
        self._class_ids: dict[tuple[object, ...], int] = {}
        self._free_slots: list[int] = []
        self._appliers: dict[type, Callable[[Any], None]] = {
            c.JobSubmitted: self._job_submitted,
            c.KeyUsed: self._key_used,
            c.TasksPlaced: self._tasks_placed,
            c.TaskStarted: self._task_started,
            c.TasksFinished: self._tasks_finished,
            c.TaskEnded: self._task_ended,
            c.TasksLost: self._tasks_lost,
            c.TasksMoved: self._tasks_moved,
            c.JobStopAsked: self._job_stop_asked,
            c.JobEnded: self._job_ended,
            c.NodeJoined: self._node_joined,
            c.NodeMoved: self._node_moved,
            c.NodeLabelled: self._node_labelled,
            c.LanesSet: self._lanes_set,
            c.KeysDropped: self._keys_dropped,
            c.NamesDropped: self._names_dropped,
        }

    def apply(self, change: c.Change) -> None:
        self._appliers[type(change)](change)

    def group(self, job_id: int, number: int) -> Group | None:
        job = self.jobs.get(job_id)
        return job.groups[number] if job is not None and number < len(job.groups) else None

    def find_job(self, namespace: str, name: str) -> Job | None:
        """The unfinished run of a name."""
        return self.names.get(namespace, {}).get(name)

    def blueprint(self, groups: tuple[GroupSpec, ...]) -> bytes:
        """The body that stands for these groups in a JobSubmitted."""
        return msgspec.msgpack.encode(groups)

    # ---- jobs ----

    def _job_submitted(self, change: c.JobSubmitted) -> None:
        blueprint = self.share_blueprint(bytes(change.groups))
        job = Job(
            change.job, change.namespace, change.name, change.run, change.type, change.priority, change.labels,
            change.user, change.at_ms, blueprint,
        )  # fmt: skip
        for number, spec in enumerate(blueprint.groups):
            self._add_group(job, number, spec)
        self.adopt_job(job)

    def adopt_job(self, job: Job) -> None:
        """Make a job known that has all its groups."""
        self.jobs[job.id] = job
        self.job_counts[job.state] += 1
        self.names.setdefault(job.namespace, {})[job.name] = job
        self.next_job = max(self.next_job, job.id + 1)

    def share_blueprint(self, body: bytes) -> Blueprint:
        blueprint = self._blueprints.get(body)
        if blueprint is None:
            blueprint = Blueprint(self._next_blueprint, _groups_decoder.decode(body), body)
            self._next_blueprint += 1
            self._blueprints[body] = blueprint
        blueprint.jobs += 1
        return blueprint

    def _add_group(self, job: Job, number: int, spec: GroupSpec) -> None:
        counts = [0] * STATES
        counts[_QUEUED] = spec.count
        base = self.table.allocate(spec.count)
        group = Group(job, number, spec.count, base, 0, counts, [], self._class_of(job, spec))
        self.adopt_group(group)
        self.make_ready(group, 0, spec.count - 1)

    def adopt_group(self, group: Group) -> None:
        """Give a group that has its rows a slot, and count it."""
        group.slot = self._free_slots.pop() if self._free_slots else len(self.groups)
        if group.slot == len(self.groups):
            self.groups.append(group)
        else:
            self.groups[group.slot] = group
        self.table.group[group.base : group.base + group.count] = group.slot
        group.job.groups.append(group)
        group.task_class.members += 1
        for state, count in enumerate(group.counts):
            self.task_counts[state] += count

    def restore_table(self, rows: int, columns: bytes, blocks: list[tuple[int, int]]) -> None:
        """Take the columns of a snapshot; rows outside of the blocks are free."""
        self.table.restore(rows, columns, blocks)

    def _class_of(self, job: Job, spec: GroupSpec) -> ClassRecord:
        key = (
            job.namespace,
            job.user,
            job.priority,
            tuple(sorted(spec.needs.items())),
            spec.datacenters,
            spec.constraints,
        )
        class_id = self._class_ids.get(key)
        if class_id is not None:
            return self.classes[class_id]
        return self.add_class(self.next_class, key)

    def add_class(self, class_id: int, key: tuple[Any, ...]) -> ClassRecord:
        namespace, user, priority, needs, datacenters, constraints = key
        task_class = TaskClass(class_id, dict(needs), namespace, user, priority, datacenters, constraints)
        record = ClassRecord(key, task_class, self.nodes.vector(task_class.needs))
        self.classes[class_id] = record
        self._class_ids[key] = class_id
        self.next_class = max(self.next_class, class_id + 1)
        return record

    def _job_stop_asked(self, change: c.JobStopAsked) -> None:
        job = self.jobs[change.job]
        self._move_job(job, JobEvent.STOP_ASKED)
        job.reason = change.reason

    def _job_ended(self, change: c.JobEnded) -> None:
        job = self.jobs.pop(change.job)
        self._move_job(job, JobEvent(change.event))
        self.job_counts[job.state] -= 1
        job.reason = change.reason or job.reason
        names = self.names[job.namespace]
        del names[job.name]
        if not names:
            del self.names[job.namespace]
        self.last_runs.setdefault(job.namespace, {})[job.name] = (job.run, job.id)
        for group in job.groups:
            self._drop_group(group)
        job.groups = []  # a job and its groups know each other: without the cycle they are freed at once
        job.blueprint.jobs -= 1
        if not job.blueprint.jobs:
            del self._blueprints[job.blueprint.body]

    def _move_job(self, job: Job, event: JobEvent) -> None:
        self.job_counts[job.state] -= 1
        job.state = JOB.move(job.state, event)
        self.job_counts[job.state] += 1

    def _drop_group(self, group: Group) -> None:
        for state, count in enumerate(group.counts):
            self.task_counts[state] -= count
        self.table.release(group.base, group.count)
        self.groups[group.slot] = None
        self._free_slots.append(group.slot)
        group.ready = []
        group.task_class.members -= 1
        self._drop_class_if_unused(group.task_class)

    def _drop_class_if_unused(self, record: ClassRecord) -> None:
        if not record.members and not record.lanes:
            del self.classes[record.id]
            del self._class_ids[record.key]

    def _key_used(self, change: c.KeyUsed) -> None:
        self.keys[change.key] = change.jobs
        self.key_order.append((change.at_ms, change.key))

    def _keys_dropped(self, change: c.KeysDropped) -> None:
        for _ in range(change.count):
            _, key = self.key_order.popleft()
            self.keys.pop(key, None)

    def _names_dropped(self, change: c.NamesDropped) -> None:
        for namespace, name in change.names:
            runs = self.last_runs.get(namespace, {})
            runs.pop(name, None)
            if not runs:
                self.last_runs.pop(namespace, None)

    # ---- tasks ----

    def _tasks_placed(self, change: c.TasksPlaced) -> None:
        group = self.jobs[change.job].groups[change.group]
        lanes = group.task_class.lanes[change.node]
        count = change.last - change.first + 1
        self._move(group, change.first, change.last, TaskEvent.PLACED)
        rows = slice(group.base + change.first, group.base + change.last + 1)
        self.table.attempt[rows] = change.attempt
        self.table.node[rows] = change.node
        lanes.outstanding += count
        self.nodes.tasks[change.node] += count
        self.nodes.touch(change.node)

    def _task_started(self, change: c.TaskStarted) -> None:
        group = self.jobs[change.job].groups[change.group]
        self._move(group, change.index, change.index, TaskEvent.STARTED)
        row = group.base + change.index
        self.table.started_ms[row] = change.started_ms
        self.table.log[row] = change.log
        self._note_start(group.job, change.started_ms)

    def _tasks_finished(self, change: c.TasksFinished) -> None:
        group = self.jobs[change.job].groups[change.group]
        started = c.unpack_times(change.started)
        self._leave_node(group, change.first, change.last)
        self._move(group, change.first, change.last, TaskEvent.FINISHED)
        rows = slice(group.base + change.first, group.base + change.last + 1)
        table = self.table
        table.exit_code[rows] = 0
        table.started_ms[rows] = started
        table.ended_ms[rows] = c.unpack_times(change.ended)
        table.log[rows] = range(change.log, change.log + len(started))
        self._note_start(group.job, started[0])

    def _task_ended(self, change: c.TaskEnded) -> None:
        group = self.jobs[change.job].groups[change.group]
        index, row, table = change.index, group.base + change.index, self.table
        self._leave_node(group, index, index)
        event = TaskEvent(change.event)
        if event is TaskEvent.RETRIED:
            past = (
                index, int(table.attempt[row]), int(table.node[row]), change.exit_code,
                change.started_ms, change.ended_ms, change.log, change.reason,
            )  # fmt: skip
            self._remember(group, past)
            table.restarts[row] = min(int(table.restarts[row]) + 1, 65535)
            table.node[row] = 0
        table.exit_code[row] = change.exit_code
        table.started_ms[row] = change.started_ms
        table.ended_ms[row] = change.ended_ms
        table.log[row] = change.log
        if change.reason:
            group.reasons = group.reasons or {}
            group.reasons[index] = change.reason
        self._move(group, index, index, event, change.not_before_ms)
        if change.started_ms:
            self._note_start(group.job, change.started_ms)

    def _tasks_lost(self, change: c.TasksLost) -> None:
        group = self.jobs[change.job].groups[change.group]
        rows = slice(group.base + change.first, group.base + change.last + 1)
        table = self.table
        for index in range(change.first, change.last + 1):
            row = group.base + index
            past = (
                index, int(table.attempt[row]), int(table.node[row]), -1,
                int(table.started_ms[row]), change.at_ms, int(table.log[row]), change.reason,
            )  # fmt: skip
            self._remember(group, past)
        self._leave_node(group, change.first, change.last)
        table.lost[rows] += 1
        table.node[rows] = 0
        table.started_ms[rows] = 0
        table.ended_ms[rows] = change.at_ms
        table.log[rows] = 0
        self._move(group, change.first, change.last, TaskEvent.LOST)

    def _tasks_moved(self, change: c.TasksMoved) -> None:
        group = self.jobs[change.job].groups[change.group]
        event = TaskEvent(change.event)
        rows = slice(group.base + change.first, group.base + change.last + 1)
        if event in (TaskEvent.RETURNED, TaskEvent.STOPPED):
            self._leave_node(group, change.first, change.last)
        if event is TaskEvent.RETURNED:
            self.table.node[rows] = 0
        elif event in (TaskEvent.STOPPED, TaskEvent.CANCELLED, TaskEvent.GAVE_UP):
            self.table.ended_ms[rows] = change.at_ms
        if change.reason and event is not TaskEvent.CANCEL_ASKED:
            group.reasons = group.reasons or {}
            for index in range(change.first, change.last + 1) if group.count <= HISTORY_MAX else (change.first,):
                group.reasons[index] = change.reason
        self._move(group, change.first, change.last, event)

    def _move(self, group: Group, first: int, last: int, event: TaskEvent, not_before_ms: int = 0) -> None:
        """Move a run by the table, and keep counts and queues true. Mostly all of it is in one state."""
        rows = slice(group.base + first, group.base + last + 1)
        olds = self.table.state[rows].tobytes()
        tally = {olds[0]: len(olds)} if olds.count(olds[0]) == len(olds) else Counter(olds)
        for old, count in tally.items():
            new = NEXT[event][old]
            if new == _NO_MOVE:
                run = f"{group.job.ref}/{first}-{last}"
                raise InvalidMove(f"tasks {run}: no move from {TaskState(old).word} on {event.word}")
            group.counts[old] -= count
            group.counts[new] += count
            self.task_counts[old] -= count
            self.task_counts[new] += count
        self.table.state[rows] = new if len(tally) == 1 else NEXT_COLUMNS[event][self.table.state[rows]]
        if _QUEUED in tally:
            unqueue(group, first, last)
        if new == _QUEUED:
            self._requeue(group, first, last, not_before_ms)

    def _requeue(self, group: Group, first: int, last: int, not_before_ms: int) -> None:
        if not_before_ms:
            group.delayed = group.delayed or {}
            group.delayed[first] = not_before_ms
        else:
            self.make_ready(group, first, last)

    def make_ready(self, group: Group, first: int, last: int) -> None:
        """Let queued tasks be placed."""
        make_ready(group, first, last, self.table.attempt[group.base + first : group.base + last + 1])

    def _leave_node(self, group: Group, first: int, last: int) -> None:
        """The run's attempts are over on their node; all of them are on the same one."""
        node = int(self.table.node[group.base + first])
        count = last - first + 1
        lanes = group.task_class.lanes.get(node)
        if lanes is not None:
            lanes.outstanding -= count
        self.nodes.tasks[node] -= count
        self.nodes.touch(node)

    def _note_start(self, job: Job, started_ms: int) -> None:
        if not job.started_ms:
            job.started_ms = started_ms
        if job.state is JobState.PENDING:
            self._move_job(job, JobEvent.STARTED)

    def _remember(self, group: Group, past: PastAttempt) -> None:
        if group.history is None:
            group.history = []
        group.history.append(past)
        if len(group.history) > HISTORY_MAX:
            del group.history[: HISTORY_MAX // 10]

    # ---- nodes and reservations ----

    def _node_joined(self, change: c.NodeJoined) -> None:
        self.nodes.join(change)

    def _node_moved(self, change: c.NodeMoved) -> None:
        node = self.nodes.records[change.node]
        node.state = NODE.move(node.state, NodeEvent(change.event))
        node.reason = change.reason
        node.moved_ms = change.at_ms
        self.nodes.refresh_eligible(node)

    def _node_labelled(self, change: c.NodeLabelled) -> None:
        self.nodes.label(self.nodes.records[change.node], change.labels)

    def _lanes_set(self, change: c.LanesSet) -> None:
        record = self.classes[change.class_id]
        lanes = record.lanes.get(change.node)
        if lanes is None:
            lanes = Lanes(record, change.node)
            record.lanes[change.node] = lanes
            self.nodes.records[change.node].lanes[change.class_id] = lanes
        added = change.width - lanes.width
        lanes.width = change.width
        record.width += added
        self.nodes.reserve(change.node, record.vector, added)
        if not change.width:
            del record.lanes[change.node]
            del self.nodes.records[change.node].lanes[change.class_id]
            self._drop_class_if_unused(record)
