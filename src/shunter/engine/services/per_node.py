"""Selects the nodes of per-node jobs, which run one task on each matching node, including nodes that join later. Called
by `engine.services.reconcile`.

A node matches if it passes all filters of the planner except resources and owners, and all required affinities. The
task then waits on that node until it fits. Task i runs on node i + 1, in the order in which nodes joined."""

from __future__ import annotations

import numpy as np

from shunter.engine.placement.colocation import allowed_nodes
from shunter.engine.round import Round
from shunter.engine.services.rollout_view import DesiredIndexes
from shunter.engine.state.records import Job, NodeRecord, TaskSet
from shunter.engine.state.state import State
from shunter.model.job.spec import SYSTEM, GroupSpec
from shunter.model.lifecycles import NodeState, TaskState
from shunter.model.secrets import required_constraints
from shunter.planning.filter.filters import STATIC_FILTERS, feasible
from shunter.planning.filter.node_ledger import NodeLedger
from shunter.planning.filter.rules import is_required_node_affinity
from shunter.planning.view import BoolArray, IntArray, Rules, TaskClass


def mark_per_node_jobs_dirty(round: Round) -> None:
    """Any change of a node may affect every per-node job."""
    nodes, round.dirty.nodes = round.dirty.nodes, {}
    registry = round.state.services
    if not nodes or not registry.per_node:
        return
    _ledger(round.state).sync(round.state.nodes.view)
    for node in nodes:
        for job_id in registry.per_node:
            round.dirty.jobs[job_id, node] = None


def task_sets_on(state: State, job: Job, node: int) -> list[TaskSet]:
    task_sets_by_node = state.services.task_sets_by_node.get(job.id, {})
    return [task_set for spec in job.spec_version.groups for task_set in task_sets_by_node.get((spec.name, node), ())]


def desired_indexes(round: Round, job: Job, spec: GroupSpec, node: int) -> DesiredIndexes:
    """All matching nodes, or this one if it matches. A node that is silent, cordoned or has not reported yet keeps its
    task. A node that is down has lost it and gets another when it is back."""
    state, records = round.state, round.state.nodes.records
    if not records:
        return DesiredIndexes(())
    rows = np.array([node] if node else list(records), np.int64)
    matching = rows[_matching_rows(state, job, spec, rows)].tolist()
    desired = [row for row in matching if _may_stay(state, job, records[row])]
    startable = [row for row in desired if records[row].state is NodeState.READY and not records[row].cordoned_by]
    allowed = allowed_nodes(state, job, spec)
    if allowed is not None:
        desired = [row for row in desired if allowed[row] or _has_started(state, job, spec, row)]
        startable = [row for row in startable if allowed[row]]
    return DesiredIndexes([row - 1 for row in desired], {row - 1 for row in startable})


def system_tasks_on(state: State, node: int) -> int:
    """Tasks of system jobs that are on a node now: a drain stops them last."""
    return sum(
        sum(task_set.counts[TaskState.ASSIGNED : TaskState.SUCCEEDED])
        for job in state.services.per_node.values()
        if job.type == SYSTEM
        for task_set in task_sets_on(state, job, node)
    )


def _may_stay(state: State, job: Job, node: NodeRecord) -> bool:
    if node.state is NodeState.DRAINING:
        return job.type != SYSTEM or int(state.nodes.tasks[node.id]) > system_tasks_on(state, node.id)
    return node.state in (NodeState.READY, NodeState.SUSPECT)


def _has_started(state: State, job: Job, spec: GroupSpec, node: int) -> bool:
    """Whether it runs or has ended there, and does not wait to start."""
    task_sets = state.services.task_sets_by_node.get(job.id, {}).get((spec.name, node), ())
    return any(sum(task_set.counts[TaskState.ASSIGNED :]) for task_set in task_sets)


def _matching_rows(state: State, job: Job, spec: GroupSpec, rows: IntArray) -> BoolArray:
    ledger = _ledger(state)
    matches = feasible(class_of(job, spec), ledger, rows, STATIC_FILTERS)
    for rule in spec.affinity:
        if is_required_node_affinity(rule):
            matches = matches & (ledger.kinds.hold_on(rule.match, rows) != rule.anti)
    return matches


def class_of(job: Job, spec: GroupSpec) -> TaskClass:
    """The class by which nodes are filtered: whether they match, regardless of free resources."""
    rules = Rules(job.id, affinity=spec.affinity) if spec.affinity else None
    return TaskClass(
        0, {}, job.namespace, job.user, job.priority, spec.datacenters,
        required_constraints(spec.constraints, spec.task.secrets), runtime=spec.task.runtime, rules=rules,
    )  # fmt: skip


def _ledger(state: State) -> NodeLedger:
    registry = state.services
    if registry.ledger is None:
        registry.ledger = NodeLedger()
        registry.ledger.sync(state.nodes.view)
    return registry.ledger
