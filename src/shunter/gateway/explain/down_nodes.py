"""Explains what the tasks of a job on down nodes wait for. Called by `gateway.explain.why`."""

from __future__ import annotations

import numpy as np

from shunter.engine.nodes.disconnect import replacement_due_ms
from shunter.engine.state.records import Job, NodeRecord, TaskSet
from shunter.engine.state.state import State
from shunter.model.lifecycles import NodeState, TaskState
from shunter.model.resources import format_duration
from shunter.model.rest.plan_views import ReasonView


def describe_tasks_on_down_nodes(state: State, job: Job, now_ms: int) -> str:
    """Empty if there are none, which costs little: few nodes are down."""
    down = [
        node for node in state.nodes.records.values() if node.state is NodeState.DOWN and state.nodes.tasks[node.id]
    ]
    sentences = []
    for node in down:
        for task_set in job.task_sets:
            count = _count_on(state, task_set, node.id)
            if count:
                sentences.append(_describe(task_set, node, count, now_ms))
    return " ".join(sentences)


def describe_only_down(state: State, reason: ReasonView) -> str:
    """If what a task waits for is one node that is down: `its only matching node, n1, is down: no heartbeat`."""
    node = state.nodes.by_name.get(reason.examples[0]) if reason.nodes == 1 and reason.examples else None
    if node is None or node.state is not NodeState.DOWN or not reason.text.startswith("down"):
        return ""
    return f"its only matching node, {node.name}, is {reason.text}"


def _count_on(state: State, task_set: TaskSet, node: int) -> int:
    rows = slice(task_set.base, task_set.base + task_set.count)
    live = (state.table.state[rows] >= TaskState.ASSIGNED) & (state.table.state[rows] <= TaskState.STOPPING)
    return int(np.count_nonzero(live & (state.table.node[rows] == node)))


def _describe(task_set: TaskSet, node: NodeRecord, count: int, now_ms: int) -> str:
    due_ms = replacement_due_ms(task_set.spec, node.down_since_ms or now_ms)
    subject = f"{count:,} task waits" if count == 1 else f"{count:,} tasks wait"
    wait = "" if due_ms is None else f" in {format_duration(max(due_ms - now_ms, 0) / 1000)}"
    if not task_set.spec.at_most_once:
        return f"{subject} for node {node.name}, which is down, and may run on another node{wait}."
    until = f", or{wait}, when its worker has stopped what it had" if wait else ""
    return (
        f"{subject} for node {node.name}, which is down: the job runs at most once, and the old attempt may still run "
        f"there. It goes on when {node.name} returns{until}. If the machine is off for good: "
        f"`shunter node forget {node.name}`."
    )
