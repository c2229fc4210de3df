"""Reconciles the state with a whole node: when a worker connects with its inventory, and when a node is lost. Called by
the engine's rounds and by `engine.nodes.registration`.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from shunter.engine.nodes.drain import restore_node
from shunter.engine.nodes.reports import is_current_attempt, mark_lost, on_health, on_report, on_started
from shunter.engine.round import Round
from shunter.engine.state.records import TaskSet, ranges_of
from shunter.model.lifecycles import NodeState, TaskState
from shunter.model.protocol.worker_messages import Held, Inventory, Report, Started, StopRange

_ASSIGNED, _RUNNING, _STOPPING = int(TaskState.ASSIGNED), int(TaskState.RUNNING), int(TaskState.STOPPING)


def on_inventory(round: Round, node: int, inventory: Inventory) -> None:
    """Take in results first, then what runs, then what is missing."""
    on_report(round, node, Report(inventory.seq, inventory.ended, lost=inventory.lost))
    held = {
        (held_range.job, held_range.group, index): held_range
        for held_range in inventory.held
        for index in range(held_range.first, held_range.last + 1)
    }
    confirmed = {task for task, held_range in held.items() if _accept_held(round, node, held_range, *task)}
    for health in inventory.health:
        on_health(round, node, health)
    _reconcile_missing(round, node, confirmed)
    record = round.state.nodes.records[node]
    record.is_synced = True
    if record.state in (NodeState.DOWN, NodeState.SUSPECT):
        restore_node(round, record)
    round.state.nodes.refresh_eligible(record)


def _accept_held(round: Round, node: int, held_range: Held, job: int, number: int, index: int) -> bool:
    """Whether it is the current attempt. An older one is stopped, and the current one is missing then."""
    task_set = round.state.task_set(job, number)
    if task_set is None or not is_current_attempt(round, task_set, node, index, index, held_range.attempt):
        stale = StopRange(job, number, index, index, 0.0, held_range.attempt)
        round.outbox.stops.setdefault(node, []).append(stale)
        return False
    if round.state.table.state[task_set.base + index] == _STOPPING:
        round.outbox.stop(task_set, index, index, node, task_set.spec.task.stop_grace_s)
    elif held_range.running:
        start_details = held_range.started_ms, held_range.segment, held_range.record, held_range.ports
        on_started(round, node, Started(job, number, held_range.attempt, index, *start_details))
    return True


def _reconcile_missing(round: Round, node: int, held: set[tuple[int, int, int]]) -> None:
    """What the node should have and the worker does not: orders are sent again, the rest is lost."""
    table = round.state.table
    if not round.state.nodes.tasks[node]:
        return
    rows = np.flatnonzero((table.node[: table.used] == node) & (table.state[: table.used] == _ASSIGNED))
    missing = [row for row in rows.tolist() if _task_key(round, row) not in held]
    for first_row, last_row in ranges_of(np.array(missing, np.int64)):
        for task_set, first, last, attempt in _uniform_ranges(round, first_row, last_row):
            round.outbox.order(task_set, first, last, attempt, node)
    exclude = held | {_task_key(round, row) for row in missing}
    mark_node_tasks_lost(round, node, "the worker came back without it", exclude)


def mark_node_tasks_lost(
    round: Round, node: int, reason: str, exclude: set[tuple[int, int, int]] | None = None
) -> None:
    """Mark every task on a node lost, but for the tasks (job, task set, index) in `exclude`."""
    state = round.state
    if not state.nodes.tasks[node]:
        return  # without a look at all tasks of the cluster: thousands of nodes may come at once
    rows = np.flatnonzero(state.table.node[: state.table.used] == node)
    live = rows[np.isin(state.table.state[rows], (_ASSIGNED, _RUNNING, _STOPPING))]
    if exclude:
        live = live[[_task_key(round, row) not in exclude for row in live.tolist()]]
    for first_row, last_row in ranges_of(live):
        for task_set, first, last, _ in _uniform_ranges(round, first_row, last_row):
            mark_lost(round, task_set, first, last, reason)


def _uniform_ranges(round: Round, first_row: int, last_row: int) -> Iterator[tuple[TaskSet, int, int, int]]:
    """Adjacent rows may belong to several task sets and attempts: cut the range where they differ."""
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


def _task_key(round: Round, row: int) -> tuple[int, int, int]:
    task_set = round.state.task_sets[round.state.table.group[row]]
    assert task_set is not None
    return task_set.job.id, task_set.number, row - task_set.base
