"""Reconciles the state of a whole node: when a worker connects with its inventory, and when a node is lost. Called by
the engine's rounds and by `engine.nodes.registration`."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from shunter.engine.nodes.cordon import record_restart
from shunter.engine.nodes.drain import restore_node
from shunter.engine.nodes.reports import (
    apply_health,
    apply_report,
    apply_started,
    current_indexes,
    is_current_attempt,
    mark_lost,
    requeue,
)
from shunter.engine.round import Round
from shunter.engine.state.records import NodeRecord, TaskSet, ranges_of
from shunter.model.lifecycles import NodeState, TaskState
from shunter.model.protocol.worker_messages import Held, Inventory, Report, Started, StopRange

_ASSIGNED, _RUNNING, _STOPPING = int(TaskState.ASSIGNED), int(TaskState.RUNNING), int(TaskState.STOPPING)


def on_inventory(round: Round, node: int, inventory: Inventory) -> None:
    """Reconcile the state with an inventory: first results, then running tasks, then missing ones, then surplus
    ones.

    A worker may have tasks that this cluster never assigned, such as leftovers of another one. They are stopped."""
    apply_report(round, node, Report(inventory.seq, inventory.ended, lost=inventory.lost))
    record = round.state.nodes.records[node]
    confirmed = {row for held in inventory.held for row in _accept_held(round, node, held)}
    for health in inventory.health:
        apply_health(round, node, health)
    _reconcile_missing(round, record, confirmed)
    record.is_synced, record.synced_boot = True, record.boot
    if record.state in (NodeState.DOWN, NodeState.SUSPECT):
        restore_node(round, record)
    if record.down_since_ms:
        record.down_since_ms = 0
        round.has_backlog = True  # tasks that waited for the node may be stuck behind long ones
    round.state.nodes.refresh_eligible(record)


def _accept_held(round: Round, node: int, held: Held) -> list[int]:
    """The rows of the table whose attempts are the current ones. All other tasks of the range are stopped; where the
    worker has an older attempt, the current one is missing."""
    task_set = round.state.task_set(held.job, held.group)
    if task_set is None:
        indexes = []
    elif held.first == held.last:  # as nearly all are, of which a node may have thousands
        bounds = held.first, held.last, held.attempt
        indexes = [held.first] if is_current_attempt(round, task_set, node, *bounds) else []
    else:
        indexes = current_indexes(round, task_set, node, held.first, held.last, held.attempt)
    stale_from = held.first
    for index in [*indexes, held.last + 1]:
        if stale_from < index:
            stale = StopRange(held.job, held.group, stale_from, index - 1, 0.0, held.attempt)
            round.outbox.stops.setdefault(node, []).append(stale)
        stale_from = index + 1
    if task_set is None:
        return []
    for index in indexes:
        if round.state.table.state[task_set.base + index] == _STOPPING:
            round.outbox.stop(task_set, index, index, node, task_set.spec.task.stop_grace_s)
        elif held.running:
            start_details = held.started_ms, held.segment, held.record, held.ports
            apply_started(round, node, Started(held.job, held.group, held.attempt, index, *start_details))
    return [task_set.base + index for index in indexes]


def _reconcile_missing(round: Round, record: NodeRecord, held: set[int]) -> None:
    """What the node should have and the worker does not, as rows of the table. Orders that the same worker process has
    not received are sent again. After a restart nobody knows whether they have run, so they are queued again and get
    the next attempt number. What was running is lost."""
    table, node = round.state.table, record.id
    if not round.state.nodes.tasks[node]:
        return
    rows = np.flatnonzero((table.node[: table.used] == node) & (table.state[: table.used] == _ASSIGNED))
    missing = [row for row in rows.tolist() if row not in held]
    is_same_process = record.synced_boot == record.boot
    if missing and not is_same_process:
        record_restart(round, record)
    for first_row, last_row in ranges_of(np.array(missing, np.int64)):
        for task_set, first, last, attempt in _uniform_ranges(round, first_row, last_row):
            key = task_set.task_class.key
            if is_same_process and not round.state.secrets.problem_of_class(key):
                round.outbox.order(task_set, first, last, attempt, node)
            else:
                requeue(round, task_set, node, first, last)
    mark_node_tasks_lost(round, node, "the worker restarted without this task", held.union(missing))


def mark_node_tasks_lost(round: Round, node: int, reason: str, exclude: set[int] | None = None) -> None:
    """Mark all tasks on a node as lost, except the rows in `exclude`."""
    for task_set, first, last in live_ranges(round, node, exclude):
        mark_lost(round, task_set, first, last, reason)


def live_ranges(round: Round, node: int, exclude: set[int] | None = None) -> Iterator[tuple[TaskSet, int, int]]:
    """The tasks on a node as ranges of one task set and attempt, except the rows in `exclude`. The caller may end
    them."""
    state = round.state
    if not state.nodes.tasks[node]:
        return  # does not scan all tasks of the cluster, because thousands of nodes may be lost at once
    rows = np.flatnonzero(state.table.node[: state.table.used] == node)
    live = rows[np.isin(state.table.state[rows], (_ASSIGNED, _RUNNING, _STOPPING))]
    if exclude:
        live = live[[row not in exclude for row in live.tolist()]]
    for first_row, last_row in ranges_of(live):
        for task_set, first, last, _ in _uniform_ranges(round, first_row, last_row):
            yield task_set, first, last


def _uniform_ranges(round: Round, first_row: int, last_row: int) -> Iterator[tuple[TaskSet, int, int, int]]:
    """Adjacent rows may belong to several task sets and attempts: split the range where they differ."""
    table = round.state.table
    row = first_row
    while row <= last_row:
        task_set = round.state.task_sets[table.group[row]]
        assert task_set is not None
        attempt, end = int(table.attempt[row]), row
        while end < last_row and table.group[end + 1] == task_set.slot and table.attempt[end + 1] == attempt:
            end += 1
        yield task_set, row - task_set.base, end - task_set.base, attempt
        row = end + 1
