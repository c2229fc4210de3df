"""Drains nodes. Services first start on other nodes. Batch tasks run until a deadline and are then queued again. System
tasks stop last. Called by the engine's rounds; `engine.services.reconcile` moves services and system jobs."""

from __future__ import annotations

import numpy as np

from shunter.engine import changes as c
from shunter.engine.placement.apply_decision import evict_task
from shunter.engine.round import Round
from shunter.engine.services.per_node import system_tasks_on
from shunter.engine.state.records import NodeRecord
from shunter.engine.timers import TimerKind
from shunter.model.errors import Conflict, NotFound, Problem
from shunter.model.job.spec import BATCH, SYSTEM
from shunter.model.lifecycles import NODE, NodeEvent, TaskState
from shunter.planning.view import IntArray

_ASSIGNED, _RUNNING, _STOPPING = int(TaskState.ASSIGNED), int(TaskState.RUNNING), int(TaskState.STOPPING)


def on_drain(round: Round, name: str, deadline_s: float | None, user: str) -> None:
    """Start no more tasks on the node. A repeated request changes the deadline."""
    node = find_node(round, name)
    deadline_ms = 0 if deadline_s is None else round.now_ms + int(deadline_s * 1000)
    round.record(c.DrainSet(node.id, deadline_ms))
    if NODE.allows(node.state, NodeEvent.DRAIN_ASKED):
        begin_drain(round, node, f"requested by {user}")
    if deadline_ms:
        round.timers.add_for(deadline_ms, TimerKind.DRAIN, node.id)


def begin_drain(round: Round, node: NodeRecord, reason: str) -> None:
    round.record(c.NodeTransitioned(node.id, NodeEvent.DRAIN_ASKED, reason, round.now_ms, node.name))
    for row in _live_rows(round, node.id).tolist():
        task_set = round.state.task_sets[round.state.table.group[row]]
        assert task_set is not None
        if task_set.job.type != BATCH:
            round.dirty.jobs[task_set.job.id, 0] = None


def on_undrain(round: Round, name: str) -> None:
    node = find_node(round, name)
    if not node.is_drain_requested:
        fault = "is not being drained"
        raise Conflict(f"node '{name}' {fault}", (Problem("node", fault, name),))
    round.record(c.DrainSet(node.id, 0, False))
    if NODE.allows(node.state, NodeEvent.DRAIN_ENDED):
        round.record(c.NodeTransitioned(node.id, NodeEvent.DRAIN_ENDED, "", round.now_ms, node.name))


def restore_node(round: Round, node: NodeRecord, reason: str = "") -> None:
    """A node is back. If it was draining, the drain continues."""
    round.record(c.NodeTransitioned(node.id, NodeEvent.HEARD, reason, round.now_ms, node.name))
    if node.is_drain_requested:
        begin_drain(round, node, "drain continues")


def advance_drains(round: Round) -> None:
    for node_id in sorted(round.state.nodes.draining):
        _advance_drain(round, round.state.nodes.records[node_id])


def _advance_drain(round: Round, node: NodeRecord) -> None:
    state = round.state
    tasks = int(state.nodes.tasks[node.id])
    if not tasks:
        round.record(c.NodeTransitioned(node.id, NodeEvent.EMPTIED, "", round.now_ms, node.name))
        return
    if 0 < node.drain_deadline_ms <= round.now_ms:
        _requeue_remaining(round, node)
    if tasks == system_tasks_on(state, node.id) and _has_unstopped_tasks(round, node.id):
        for job_id, job in state.services.per_node.items():
            if job.type == SYSTEM:
                round.dirty.jobs[job_id, node.id] = None


def _requeue_remaining(round: Round, node: NodeRecord) -> None:
    """The deadline has passed: queue the remaining tasks again, for other nodes."""
    table = round.state.table
    for row in _live_rows(round, node.id).tolist():
        task_set = round.state.task_sets[table.group[row]]
        assert task_set is not None
        if task_set.job.type != SYSTEM and table.state[row] != _STOPPING:
            evict_task(
                round, task_set, row - task_set.base, f"node {node.name} is draining and its deadline has passed"
            )


def _has_unstopped_tasks(round: Round, node: int) -> bool:
    table = round.state.table
    return bool((table.state[_live_rows(round, node)] != _STOPPING).any())


def _live_rows(round: Round, node: int) -> IntArray:
    table = round.state.table
    states = table.state[: table.used]
    live: IntArray = np.flatnonzero(
        (table.node[: table.used] == node) & (states >= _ASSIGNED) & (states <= _STOPPING)
    ).astype(np.int64)
    return live


def find_node(round: Round, name: str) -> NodeRecord:
    node = round.state.nodes.by_name.get(name)
    if node is None:
        raise NotFound(f"node '{name}' does not exist")
    return node
