"""Moves a task to a given node. A service first starts its replacement there. A batch task is stopped and queued again
for that node only. Later attempts may run anywhere. Called by the engine's rounds."""

from __future__ import annotations

import numpy as np

from shunter.engine import changes as c
from shunter.engine.jobs.stop import find_task
from shunter.engine.nodes.drain import find_node
from shunter.engine.placement.apply_decision import evict_task, fits_on_node
from shunter.engine.placement.colocation import colocation_allows
from shunter.engine.round import Round
from shunter.engine.services.task_sets import add_task_set, retains_version
from shunter.engine.state.records import NodeRecord, TaskSet
from shunter.model.errors import Conflict, Problem
from shunter.model.job.spec import PER_NODE, SERVICE
from shunter.model.lifecycles import NodeState, TaskState
from shunter.planning.filter.filters import STATIC_FILTERS, format_amount_short
from shunter.planning.filter.rules import is_required_node_affinity, why_affinity_refuses

_QUEUED, _STOPPING = int(TaskState.QUEUED), int(TaskState.STOPPING)


def on_move(round: Round, job_id: int, task: tuple[str, int], node_name: str, user: str) -> None:
    """Refuse the move with a reason if the task can never run there. If it does not fit yet, it waits."""
    job = round.state.jobs.get(job_id)
    if job is None:
        raise Conflict("the job has ended")
    node = find_node(round, node_name)
    task_set, index = find_task(round.state, job, *task)
    _check_movable(round, task_set, index, node)
    reason = f"moved to node {node.name} by {user}"
    if job.type == SERVICE:
        group_index = next(
            group_index for group_index, spec in enumerate(job.spec_version.groups) if spec.name == task[0]
        )
        service_state, current_node = (
            round.state.services.jobs[job.id],
            int(round.state.table.node[task_set.base + index]),
        )
        copy_of = task_set if retains_version(service_state, task_set, index, current_node) else None
        add_task_set(round, job, group_index, [task[1]], node.id, reason, copy_of)
        round.dirty.jobs[job.id, 0] = None
        return
    round.record(
        c.TaskPinned(job.id, task_set.number, index, node.id, round.now_ms, reason, task_set.ref_of(index, index))
    )
    if round.state.table.state[task_set.base + index] != _QUEUED:
        evict_task(round, task_set, index, reason)


def place_moved_tasks(round: Round) -> None:
    """Place moved tasks as soon as they fit on their node. If the node never accepts them, they may go anywhere."""
    for (job_id, number, index), node_id in list(round.state.moves.pinned.items()):
        task_set = round.state.require_task_set(job_id, number)
        node, task_state = round.state.nodes.records[node_id], round.state.table.state[task_set.base + index]
        if task_state > _STOPPING or not _is_schedulable(node):
            _unpin(round, task_set, index, f"node {node.name} is not schedulable")
        elif task_state != _QUEUED:
            continue
        elif reasons := _infeasible_reasons(round, task_set, node):
            _unpin(round, task_set, index, f"cannot run on node {node.name}: {reasons[0]}")
        elif fits_on_node(round, task_set, node_id) and colocation_allows(round.state, task_set, [index], node_id):
            _place_task(round, task_set, index, node_id)


def _unpin(round: Round, task_set: TaskSet, index: int, reason: str) -> None:
    round.record(
        c.TaskPinned(task_set.job.id, task_set.number, index, 0, round.now_ms, reason, task_set.ref_of(index, index))
    )


def _is_schedulable(node: NodeRecord) -> bool:
    return node.state in (NodeState.READY, NodeState.SUSPECT) and not node.cordoned_by


def _place_task(round: Round, task_set: TaskSet, index: int, node: int) -> None:
    record = task_set.task_class
    lanes = record.lanes.get(node)
    round.record(c.LanesSet(record.id, node, 1 + (lanes.width if lanes else 0)))
    record.lanes[node].last_progress_ms = round.now_ms
    attempt = int(round.state.table.attempt[task_set.base + index]) + 1
    round.record(
        c.TasksPlaced(task_set.job.id, task_set.number, index, index, attempt, node, task_set.ref_of(index, index))
    )
    round.outbox.order(task_set, index, index, attempt, node)


def _check_movable(round: Round, task_set: TaskSet, index: int, node: NodeRecord) -> None:
    job, row = task_set.job, task_set.base + index
    name, task_state = task_set.task_name(index), TaskState(round.state.table.state[row])
    if job.options.application:
        raise _move_conflict(name, "belongs to a BatchJob, whose Scheduling determines where it runs")
    if job.type in PER_NODE:
        raise _move_conflict(name, f"belongs to a {job.type} job, which has one task on each matching node")
    if task_state > TaskState.RUNNING or task_state is TaskState.WAITING:
        raise _move_conflict(name, f"is {task_state.wire_name}; only queued and running tasks can be moved")
    if int(round.state.table.node[row]) == node.id and task_state is not TaskState.QUEUED:
        raise _move_conflict(name, f"is already on node '{node.name}'")
    if job.options.gang or task_set.spec.gang:
        raise _move_conflict(name, "belongs to a gang, whose tasks cannot be moved one by one")
    if not _is_schedulable(node):
        ineligible_reason = round.state.nodes.view.ineligible_because.get(node.id, node.state.wire_name)
        raise _move_conflict(name, f"cannot move to node '{node.name}', which is not schedulable ({ineligible_reason})")
    for reason in _infeasible_reasons(round, task_set, node):
        raise _move_conflict(name, f"cannot run on node '{node.name}': {reason}")


def _infeasible_reasons(round: Round, task_set: TaskSet, node: NodeRecord) -> list[str]:
    """Reasons why the task can never run on that node, whatever else runs there."""
    nodes = round.state.nodes.view
    ledger, rows = round.state.moves.ledger(nodes), np.array([node.id], np.int64)
    task_class = task_set.task_class.task_class
    reasons: list[str] = []
    for each in STATIC_FILTERS:
        passing = each.accepts(task_class, ledger, rows)
        if passing is not None and not passing[0]:
            reasons += [text for text, found in each.reasons(task_class, ledger, rows) if len(found)]
    for rule in task_set.spec.affinity:
        if is_required_node_affinity(rule) and ledger.kinds.hold_on(rule.match, rows)[0] == rule.anti:
            reasons.append(why_affinity_refuses(rule))
    for resource, need in task_set.spec.needs.items():
        if resource in nodes.resources:
            has = int(nodes.capacity[node.id, nodes.resources.index(resource)])
            if has < need:
                needed_text = format_amount_short(resource, need)
                reasons.append(f"{resource}: needs {needed_text}, the node has {format_amount_short(resource, has)}")
    return reasons


def _move_conflict(name: str, fault: str) -> Conflict:
    return Conflict(f"task '{name}' {fault}", (Problem("task", fault, name),))
