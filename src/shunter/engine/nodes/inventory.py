"""Belief and truth about a whole node brought together: when a worker connects with its inventory, and when a node is
lost. Called by the engine's rounds and by `engine.nodes.registration`.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from shunter.engine.nodes.drain import hear
from shunter.engine.nodes.reports import believed, lose, on_health, on_report, on_started
from shunter.engine.round import Round
from shunter.engine.state.records import TaskSet, ranges_of
from shunter.model.lifecycles import NodeState, TaskState
from shunter.model.protocol.worker_messages import Held, Inventory, Report, Started, StopRange

_ASSIGNED, _RUNNING, _STOPPING = int(TaskState.ASSIGNED), int(TaskState.RUNNING), int(TaskState.STOPPING)


def on_inventory(round: Round, node: int, inventory: Inventory) -> None:
    """Bring belief and truth together: results first, then what runs, then what is missing, then what is too much."""
    on_report(round, node, Report(inventory.seq, inventory.ended, lost=inventory.lost))
    held = {(run.job, run.group, index): run for run in inventory.held for index in range(run.first, run.last + 1)}
    known = {task for task, run in held.items() if _take_in_held(round, node, run, *task)}
    for health in inventory.health:
        on_health(round, node, health)
    _repair_missing(round, node, known)
    record = round.state.nodes.records[node]
    record.is_synced = True
    if record.state in (NodeState.DOWN, NodeState.SUSPECT):
        hear(round, record)
    round.state.nodes.refresh_eligible(record)


def _take_in_held(round: Round, node: int, run: Held, job: int, number: int, index: int) -> bool:
    """Whether it is the attempt that the engine believes in. An older one ends, and the present one is missing."""
    group = round.state.task_set(job, number)
    if group is None or not believed(round, group, node, index, index, run.attempt):
        stale = StopRange(job, number, index, index, 0.0, run.attempt)
        round.stops.setdefault(node, []).append(stale)
        return False
    if round.state.table.state[group.base + index] == _STOPPING:
        round.stop(group, index, index, node, group.spec.task.stop_grace_s)
    elif run.running:
        place = run.started_ms, run.segment, run.record, run.ports
        on_started(round, node, Started(job, number, run.attempt, index, *place))
    return True


def _repair_missing(round: Round, node: int, held: set[tuple[int, int, int]]) -> None:
    """What the engine believes on the node and the worker does not have: orders are sent again, the rest is lost."""
    table = round.state.table
    if not round.state.nodes.tasks[node]:
        return
    rows = np.flatnonzero((table.node[: table.used] == node) & (table.state[: table.used] == _ASSIGNED))
    missing = [row for row in rows.tolist() if _task_of(round, row) not in held]
    for first_row, last_row in ranges_of(np.array(missing, np.int64)):
        for group, first, last, attempt in _alike(round, first_row, last_row):
            round.order(group, first, last, attempt, node)
    spare = held | {_task_of(round, row) for row in missing}
    lose_node(round, node, "the worker came back without it", spare)


def lose_node(round: Round, node: int, reason: str, spare: set[tuple[int, int, int]] | None = None) -> None:
    """Everything that the engine believes on a node is lost, but for the tasks (job, group, index) in `spare`."""
    state = round.state
    if not state.nodes.tasks[node]:
        return  # without a look at all tasks of the cluster: thousands of nodes may come at once
    rows = np.flatnonzero(state.table.node[: state.table.used] == node)
    live = rows[np.isin(state.table.state[rows], (_ASSIGNED, _RUNNING, _STOPPING))]
    if spare:
        live = live[[_task_of(round, row) not in spare for row in live.tolist()]]
    for first_row, last_row in ranges_of(live):
        for group, first, last, _ in _alike(round, first_row, last_row):
            lose(round, group, first, last, reason)


def _alike(round: Round, first_row: int, last_row: int) -> Iterator[tuple[TaskSet, int, int, int]]:
    """Rows next to each other may belong to several groups and attempts: cut the run where they differ."""
    table = round.state.table
    row = first_row
    while row <= last_row:
        group = round.state.task_sets[table.group[row]]
        assert group is not None
        attempt, end = int(table.attempt[row]), row
        while end < last_row and table.group[end + 1] == group.slot and table.attempt[end + 1] == attempt:
            end += 1
        yield group, row - group.base, end - group.base, attempt
        row = end + 1


def _task_of(round: Round, row: int) -> tuple[int, int, int]:
    group = round.state.task_sets[round.state.table.group[row]]
    assert group is not None
    return group.job.id, group.number, row - group.base
