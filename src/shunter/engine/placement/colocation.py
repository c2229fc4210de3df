"""Beside whom tasks may start that belong on a node: those of jobs that run everywhere, and those that were moved. By
their own required affinities to jobs, by the anti-affinities of others, and by what is to be distinct. Called by
`engine.services.per_node` for whole jobs, and by `engine.placement.place` and `engine.placement.move` for one task.

What runs stays where it is, whoever comes or goes. Affinities to nodes are constraints: `engine.services.per_node` has
them."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from shunter.engine.placement.job_presence import job_facts
from shunter.engine.round import Round
from shunter.engine.state.records import Job, TaskSet
from shunter.engine.state.state import State
from shunter.model.job.spec import Affinity, GroupSpec
from shunter.model.lifecycles import TaskState
from shunter.planning.filter.cel import parse_job_match
from shunter.planning.filter.rules import HOST
from shunter.planning.view import BoolArray, IntArray

_ASSIGNED, _STOPPING = int(TaskState.ASSIGNED), int(TaskState.STOPPING)


def mark_dirty_by_colocation(round: Round) -> None:
    """Whoever came or left may let a job start on a node, or keep it from starting there."""
    state, registry = round.state, round.state.services
    if not registry.per_node or registry.colocation_tick == state.nodes.view.tick:
        return
    registry.colocation_tick = state.nodes.view.tick
    previous, registry.colocation_masks = registry.colocation_masks, {}
    for job in registry.per_node.values():
        for spec in job.spec_version.groups:
            if not _has_colocation_rules(state, spec):
                continue
            allowed = registry.colocation_masks[job.id, spec.name] = _allowed_nodes(state, job, spec, _live_rows(state))
            cached = previous.get((job.id, spec.name), allowed[:0])
            differs = allowed.copy()
            differs[: cached.size] ^= cached
            for node in np.flatnonzero(differs).tolist():
                round.dirty_jobs[job.id, node] = None


def allowed_nodes(state: State, job: Job, spec: GroupSpec) -> BoolArray | None:
    """The rows of nodes on which a task may start as far as others are concerned; None: on all."""
    if not _has_colocation_rules(state, spec):
        return None
    cached = state.services.colocation_masks.get((job.id, spec.name))
    if cached is not None and cached.size == state.nodes.view.count:
        return cached
    return _allowed_nodes(state, job, spec, _live_rows(state))


def colocation_allows(state: State, task_set: TaskSet, node: int) -> bool:
    """Whether a task of the group may start on the node, beside those that are there at this moment."""
    if not _is_distinct(state, task_set, node):
        return False
    if not _has_colocation_rules(state, task_set.spec):
        return True
    return bool(_allowed_nodes(state, task_set.job, task_set.spec, _live_rows(state, node))[node])


def _is_distinct(state: State, group: TaskSet, node: int) -> bool:
    """Whether no other task of its group shares with the node what is to be distinct. What it replaces itself does not
    count: that ends once it is up."""
    label, table, records = group.spec.distinct, state.table, state.nodes.records
    if not label:
        return True
    value = records[node].labels.get(label)
    if label != HOST and value is None:
        return False
    visible_indexes = {group.visible_index_of(index) for index in range(group.count)}
    for task_set in group.job.task_sets:
        if task_set.spec.name != group.spec.name:
            continue
        states = table.state[task_set.base : task_set.base + task_set.count]
        for index in np.flatnonzero((states >= _ASSIGNED) & (states <= _STOPPING)).tolist():
            other = int(table.node[task_set.base + index])
            is_same = (
                other == node if label == HOST else records[other].labels.get(label) == records[node].labels[label]
            )
            if is_same and task_set.visible_index_of(index) not in visible_indexes:
                return False
    return True


def _has_colocation_rules(state: State, spec: GroupSpec) -> bool:
    return bool(state.anti_affinity_task_sets) or any(rule.to == "job" and rule.require for rule in spec.affinity)


def _allowed_nodes(state: State, job: Job, spec: GroupSpec, live: IntArray) -> BoolArray:
    accepted = np.ones(state.nodes.view.count, np.bool_)
    for rule in spec.affinity:
        if rule.to == "job" and rule.require:
            present = _nodes_running(state, live, _matcher(rule, job))
            accepted &= ~present if rule.anti else present
    if state.anti_affinity_task_sets:
        accepted &= ~_nodes_running(state, live, lambda group: group.job is not job and _repels(group, job))
    return accepted


def _matcher(rule: Affinity, job: Job) -> Callable[[TaskSet], bool]:
    """A job keeps nobody of its own away, and may be the company that it asks for."""
    holds = parse_job_match(rule.match).holds
    return lambda group: (group.job is not job or not rule.anti) and holds(job_facts(group.job))


def _repels(task_set: TaskSet, job: Job) -> bool:
    return any(
        _is_required_anti_affinity(rule) and parse_job_match(rule.match).holds(job_facts(job))
        for rule in task_set.spec.affinity
    )


def _is_required_anti_affinity(rule: Affinity) -> bool:
    return rule.to == "job" and rule.anti and rule.require


def _live_rows(state: State, node: int | None = None) -> IntArray:
    """Rows of the task table that are on nodes, or on one of them."""
    table = state.table
    is_live = (table.state[: table.used] >= _ASSIGNED) & (table.state[: table.used] <= _STOPPING)
    if node is not None:
        is_live &= table.node[: table.used] == node
    return np.flatnonzero(is_live)


def _nodes_running(state: State, live: IntArray, is_match: Callable[[TaskSet], bool]) -> BoolArray:
    """The nodes with a live task of any group that is meant."""
    found = np.zeros(state.nodes.view.count, np.bool_)
    slots, inverse = np.unique(state.table.group[live], return_inverse=True)
    task_sets = [state.task_sets[slot] for slot in slots.tolist()]
    is_matching = np.array([group is not None and is_match(group) for group in task_sets], np.bool_)
    if is_matching.any():
        found[state.table.node[live[is_matching[inverse]]]] = True
    return found
