"""Builds the view of the state that a policy sees (`planning.view.ClusterView`). Called once per round by
`engine.placement.place`.

Parts that most rounds do not need are computed only when the policy asks for them."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import takewhile

import numpy as np

from shunter.engine.jobs.dependencies import earliest_start_ms
from shunter.engine.placement.colocation import (
    has_alternative_node,
    jobs_of,
    leaving,
    matches,
    presence,
    repels,
    tally,
)
from shunter.engine.placement.gang_restart import is_gathering
from shunter.engine.state.records import ClassRecord, TaskSet
from shunter.engine.state.registries.cluster import HOLD_SETTING, RESERVE_SETTING
from shunter.engine.state.registries.durations import DurationRegistry
from shunter.engine.state.state import State
from shunter.engine.state.task_set_columns import RUNS_UNTIL_STOPPED, UNKNOWN
from shunter.engine.state.tenant_quotas import pending_quotas
from shunter.model.job.spec import LONG_RUNNING
from shunter.model.lifecycles import TaskState
from shunter.planning.view import NEVER, BoolArray, ClusterView, IntArray, Queued, QueueRules, Running

ESTIMATE_LOOKUPS_MAX = 10_000  # groups whose estimates are looked up for one view
_ASSIGNED, _STOPPING = int(TaskState.ASSIGNED), int(TaskState.STOPPING)


def build_view(state: State) -> ClusterView:
    refresh_pending(state)
    return view_of_refreshed(state)


def view_of_refreshed(state: State) -> ClusterView:
    """The view after `refresh_pending`."""
    return ClusterView(
        version=state.version,
        nodes=state.nodes.view,
        queued=state.pending_queue,
        usage=state.usage,
        preempt_gap=state.cluster.preempt_gap(),
        reserve_after_s=state.cluster.wait_s(RESERVE_SETTING),
        hold_after_s=state.cluster.wait_s(HOLD_SETTING),
        queues=_queue_rules(state),
        licences={name: (total, state.licences_used[name]) for name, total in state.cluster.licences().items()},
        tenants=state.tenants.namespace_owners,
        quotas=pending_quotas(state),
        running=lambda: running(state),
        classes=lambda class_id: state.classes[class_id].task_class,
        tally=lambda class_id: tally(state, class_id),
        leaving=lambda class_id: leaving(state, class_id),
        presence=lambda match: presence(state, match),
        matches=lambda match, class_id: matches(state, match, class_id),
        repels=(lambda class_id: repels(state, class_id)) if state.anti_affinity_task_sets else None,
        called=lambda class_id: called(state, class_id),
        longest_s=lambda class_id, count: longest_s(state, class_id, count),
        lowest_priority=lambda: lowest_priority(state),
        testbeds=state.objects.testbeds,
        batch_jobs=state.objects.batch_jobs,
        schedulings=state.objects.schedulings,
    )


def called(state: State, class_id: int) -> str:
    jobs = jobs_of(state, class_id)
    return f"{jobs[0].name}@{jobs[0].run}" if jobs else "a job that has ended"


def refresh_pending(state: State) -> None:
    """Update the pending entries of the classes that changed since the last view."""
    state.dirty_classes.update(state.avoiding_classes)  # nodes determine whether there is an alternative node for them
    state.avoiding_classes.clear()
    # whether a gang is complete depends on all of its classes
    state.dirty_classes.update(state.incomplete_gang_classes)
    state.incomplete_gang_classes.clear()
    if state.secrets.pending_revision != state.secrets.revision:
        state.secrets.pending_revision = state.secrets.revision
        state.dirty_classes.update((id, None) for id, record in state.classes.items() if record.key.secrets)
    for class_id in state.dirty_classes:
        record = state.classes.get(class_id)
        task_set = record.first_ready() if record is not None and not record.key.node else None
        if record is None or task_set is None or (record.key.secrets and state.secrets.problem_of_class(record.key)):
            state.pending_queue.drop(class_id)
        elif is_gathering(record, task_set):
            state.incomplete_gang_classes[class_id] = None
            state.pending_queue.drop(class_id)
        else:
            state.pending_queue.put(_pending_entry(state, record, task_set))
    state.dirty_classes.clear()


def _pending_entry(state: State, record: ClassRecord, task_set: TaskSet) -> Queued:
    """A task that is queued again is as old as its job: it has already waited and must not queue behind all later jobs.
    A job does not age before its `start_at`."""
    spec, count = task_set.spec, record.queued
    if record.key.dedicated_to is not None:
        count = min(count, spec.parallel_max - record.width)
    if state.queues.get(record.key.queue).is_strict:
        oldest = takewhile(lambda each: each.job is task_set.job, record.task_sets)
        count = min(count, sum(last - first + 1 for each in oldest for first, last, _ in each.ready))
    return Queued(
        record.task_class,
        count,
        task_set.job.id,
        max(task_set.job.submitted_ms, earliest_start_ms(task_set.job)),
        _known_estimate_s(state.durations, task_set),
        _avoided(state, record) if task_set.avoided_nodes else frozenset(),
    )


def _avoided(state: State, record: ClassRecord) -> frozenset[int]:
    """The nodes that every ready task of the class avoids. Where only some do, another task may go there. A node
    without an alternative is not avoided."""
    state.avoiding_classes[record.id] = None
    avoided: set[int] | None = None
    for task_set in record.task_sets:
        avoided_nodes = task_set.avoided_nodes or {}
        for first, last, _ in task_set.ready:
            for index in range(first, last + 1):
                if index not in avoided_nodes:
                    return frozenset()
                avoided = {avoided_nodes[index]} if avoided is None else avoided & {avoided_nodes[index]}
    return frozenset(node for node in avoided or () if has_alternative_node(state, record, node))


def _queue_rules(state: State) -> Mapping[str, QueueRules]:
    return {
        name: QueueRules(name, queue.is_paused, queue.is_strict, queue.running_max, state.queue_lanes[name])
        for name, queue in state.queues.queues.items()
    }


def running(state: State) -> Running:
    """The tasks that hold lanes: one row per class, node, expected end and priority.

    Where more tasks than lanes are outstanding, only as many count as have a lane: the others hold nothing."""
    table = state.table
    live = np.flatnonzero((table.state[: table.used] >= _ASSIGNED) & (table.state[: table.used] <= _STOPPING))
    slots = table.group[live]
    _look_up_estimates(state, slots.astype(np.int64))
    ids, node = state.task_set_columns.class_id[slots].astype(np.int64), table.node[live].astype(np.int64)
    started, estimate = (
        table.started_ms[live].astype(np.int64),
        state.task_set_columns.estimate_ms[slots].astype(np.int64),
    )
    ends = np.where(started > 0, started + estimate, -estimate)
    ends[estimate <= 0] = 0
    ends[estimate == RUNS_UNTIL_STOPPED] = NEVER
    stopping, priority = table.state[live] == _STOPPING, state.task_set_columns.priority[slots].astype(np.int64)
    # tasks without a lane come last on their node
    order = _order_of_single(ids)
    is_single = order is not None
    if order is None:
        order = np.lexsort((priority, ends, started == 0, ~stopping, node, ids))
    order = order[_has_lane(state, ids[order], node[order])]
    ids, node, started, ends, stopping = ids[order], node[order], started[order], ends[order], stopping[order]
    priority = priority[order]
    if is_single:
        return Running(ids, node, np.ones(len(ids), np.int64), priority, started, ends, stopping)
    first = _run_starts(ids, node, ends, stopping, priority)
    return Running(
        class_ids=ids[first],
        node=node[first],
        count=_run_sizes(first, len(ids)),
        priority=priority[first],
        started_ms=np.maximum.reduceat(started, first) if len(first) else started,
        end_ms=ends[first],
        is_stopping=stopping[first],
    )


def _order_of_single(ids: IntArray) -> IntArray | None:
    """The order of the tasks if each of them is the only one of its class, as it often is in batch clusters."""
    order: IntArray = np.argsort(ids, kind="stable")
    in_order = ids[order]
    return None if (in_order[1:] == in_order[:-1]).any() else order


def _look_up_estimates(state: State, slots: IntArray) -> None:
    """Look up task durations once per group, and only for a limited number of groups at a time; others count as
    unknown. An estimate changes only when another run of the same name ends."""
    present = np.flatnonzero(np.bincount(slots)) if len(slots) else slots
    for slot in present[state.task_set_columns.estimate_ms[present] == UNKNOWN][:ESTIMATE_LOOKUPS_MAX].tolist():
        task_set = state.task_sets[slot]
        assert task_set is not None, "its tasks are live"
        if task_set.job.type in LONG_RUNNING:
            state.task_set_columns.estimate_ms[slot] = RUNS_UNTIL_STOPPED
        else:
            state.task_set_columns.set_estimate(slot, estimate_s(state.durations, task_set))


def _has_lane(state: State, ids: IntArray, node: IntArray) -> BoolArray:
    """Which tasks, sorted by class and node, are within the width of their reservation: all of them, unless more tasks
    than lanes are outstanding."""
    covered: BoolArray = np.ones(len(ids), np.bool_)
    first = _run_starts(ids)
    for start, size in zip(first.tolist(), _run_sizes(first, len(ids)).tolist(), strict=True):
        record = state.classes[int(ids[start])]
        if size <= record.width and record.depth == 1:
            continue
        class_nodes = node[start : start + size]
        node_starts = _run_starts(class_nodes)
        sizes = _run_sizes(node_starts, size)
        widths = [
            lanes.width if (lanes := record.lanes.get(row)) is not None else 0
            for row in class_nodes[node_starts].tolist()
        ]
        rank_on_node = np.arange(size) - np.repeat(node_starts, sizes)
        covered[start : start + size] = rank_on_node < np.repeat(np.array(widths, np.int64), sizes)
    return covered


def _run_starts(*columns: IntArray | BoolArray) -> IntArray:
    """The positions in sorted columns where a new value begins."""
    if not len(columns[0]):
        return np.empty(0, np.int64)
    differs = np.logical_or.reduce([column[1:] != column[:-1] for column in columns])
    return np.concatenate([[0], np.flatnonzero(differs) + 1])


def _run_sizes(first: IntArray, total: int) -> IntArray:
    """How long each run is. `np.diff(first, append=total)` takes five times as long, and this is called every round."""
    sizes = np.empty_like(first)
    if len(first):
        np.subtract(first[1:], first[:-1], out=sizes[:-1])
        sizes[-1] = total - first[-1]
    return sizes


def lowest_priority(state: State) -> int:
    """The lowest priority of tasks that hold lanes and may be preempted; above all priorities if there are none."""
    held = (record.key for record in state.classes.values() if record.width)
    return min((key.priority for key in held if not key.node), default=2**31)


def estimate_s(durations: DurationRegistry, task_set: TaskSet) -> float:
    """How long a task of the group runs: as given, as learnt, or at most its timeout; 0 if unknown."""
    return _known_estimate_s(durations, task_set) or task_set.spec.task.run_timeout_s


def longest_s(state: State, class_id: int, count: int) -> float:
    """The duration of the longest of the next tasks of a class; 0 if one of them is unknown. Tasks of a class may
    belong to many jobs, and durations are the only way in which they differ for a planner."""
    longest = 0.0
    for task_set in state.classes[class_id].task_sets:
        ready = sum(last - first + 1 for first, last, _ in task_set.ready)
        known = _known_estimate_s(state.durations, task_set) if ready else longest
        if ready and not known:
            return 0.0
        longest, count = max(longest, known), count - ready
        if count <= 0:
            break
    return longest


def _known_estimate_s(durations: DurationRegistry, task_set: TaskSet) -> float:
    spec, job = task_set.spec, task_set.job
    return spec.estimate_s or durations.estimate_s(job.namespace, job.name, spec.name)
