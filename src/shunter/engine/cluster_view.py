"""What a policy is shown of the state (`planning.view.ClusterView`). Built once a round by `engine.placing`.

What most rounds do not need is worked out only when the policy asks.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

import numpy as np

from shunter.engine.books.durations import DurationBook
from shunter.engine.records import ClassRecord, Group
from shunter.engine.state import State
from shunter.model.lifecycles import TaskState
from shunter.planning.view import ClusterView, IntArray, Queued, QueueRules, Running

_ASSIGNED, _STOPPING = int(TaskState.ASSIGNED), int(TaskState.STOPPING)


def build_view(state: State) -> ClusterView:
    queued = [
        _queued(state, record, group)
        for record in state.classes.values()
        if record.queued and not record.key.node and (group := record.first_ready()) is not None
    ]
    return ClusterView(
        version=state.version,
        nodes=state.nodes.view,
        queued=[each for each in queued if each.count > 0],
        usage=state.usage,
        queues=_queues(state),
        licences={name: (total, state.licences_used[name]) for name, total in state.cluster.licences().items()},
        running=lambda: running(state),
        classes=lambda class_id: state.classes[class_id].task_class,
        tally=lambda class_id: tally(state, class_id),
    )


def _queued(state: State, record: ClassRecord, group: Group) -> Queued:
    spec, count = group.spec, record.queued
    if record.key.alone is not None and spec.parallel_max:
        count = min(count, spec.parallel_max - record.width)
    return Queued(
        record.task_class,
        count,
        group.job.id,
        group.job.submitted_ms,
        spec.estimate_s or state.durations.estimate_s(group.job.namespace, group.job.name, spec.name),
        _avoided(record) if group.avoiding else frozenset(),
    )


def _avoided(record: ClassRecord) -> frozenset[int]:
    """The nodes that every ready task of the class avoids: where only some do, another of them may go there."""
    avoided: set[int] | None = None
    for group in record.groups:
        avoiding = group.avoiding or {}
        for first, last, _ in group.ready:
            for index in range(first, last + 1):
                if index not in avoiding:
                    return frozenset()
                avoided = {avoiding[index]} if avoided is None else avoided & {avoiding[index]}
    return frozenset(avoided or ())


def _queues(state: State) -> Mapping[str, QueueRules]:
    return {
        name: QueueRules(queue.is_paused, queue.is_strict, queue.running_max, state.queue_widths[name])
        for name, queue in state.queues.queues.items()
    }


def running(state: State) -> Running:
    """Live tasks, those of one class on one node with the same expected end as one row."""
    table = state.table
    live = np.flatnonzero((table.state[: table.used] >= _ASSIGNED) & (table.state[: table.used] <= _STOPPING))
    rows: Counter[tuple[int, int, int, bool]] = Counter()
    started: dict[tuple[int, int, int, bool], int] = {}
    estimates: dict[int, int] = {}
    for row in live.tolist():
        slot = int(table.group[row])
        group = state.groups[slot]
        assert group is not None
        if slot not in estimates:
            estimates[slot] = int(1000 * estimate_s(state.durations, group))
        started_ms = int(table.started_ms[row])
        end_ms = started_ms + estimates[slot] if started_ms and estimates[slot] else 0
        key = (group.task_class.id, int(table.node[row]), end_ms, bool(table.state[row] == _STOPPING))
        rows[key] += 1
        started[key] = max(started.get(key, 0), started_ms)
    keys = list(rows)
    columns = [np.array([key[place] for key in keys], np.int64) for place in range(4)]
    return Running(
        class_ids=columns[0],
        node=columns[1],
        count=np.array(list(rows.values()), np.int64),
        priority=np.array([state.classes[key[0]].key.priority for key in keys], np.int64),
        started_ms=np.array([started[key] for key in keys], np.int64),
        end_ms=columns[2],
        is_stopping=columns[3].astype(np.bool_),
    )


def estimate_s(durations: DurationBook, group: Group) -> float:
    """How long a task of the group runs: as given, as learnt, or at most by its time-out; 0 if nothing is known."""
    spec, job = group.spec, group.job
    known = spec.estimate_s or durations.estimate_s(job.namespace, job.name, spec.name)
    return known or spec.task.run_timeout_s


def tally(state: State, class_id: int) -> Mapping[int, int]:
    """Tasks on each node of the class's job and group, whatever version of the spec they follow."""
    record = state.classes[class_id]
    rules = record.key.rules
    job = state.jobs.get(rules.job) if rules is not None else None
    counts: Counter[int] = Counter()
    names = {group.spec.name for group in job.groups if group.task_class is record} if job is not None else set()
    for group in job.groups if job is not None else ():
        if group.spec.name in names:
            counts.update(_live_nodes(state, group).tolist())
    return counts


def _live_nodes(state: State, group: Group) -> IntArray:
    rows = slice(group.base, group.base + group.count)
    states = state.table.state[rows]
    live: IntArray = state.table.node[rows][(states >= _ASSIGNED) & (states <= _STOPPING)].astype(np.int64)
    return live
