"""Whether a task that is not to use the node of its last attempt can have another. Asked by
`engine.placement.cluster_view` and `engine.placement.apply_decision`: where there is no other node, it takes the same
one again."""

from __future__ import annotations

import numpy as np

from shunter.engine.placement.job_presence import presence, repels, tally
from shunter.engine.state.records import ClassRecord, NodeRecord
from shunter.engine.state.state import State
from shunter.model.lifecycles import NodeState
from shunter.planning.filter.node_kinds import NodeKindIndex
from shunter.planning.view import BoolArray, Rules


def has_alternative_node(state: State, record: ClassRecord, node: int) -> bool:
    """Whether some other node that takes work is large enough for the class, and nobody keeps the class away from it
    now. Mostly one of the first does. What belongs on a node has no other."""
    if record.key.node:
        return False
    kinds, is_excluded = NodeKindIndex(state.nodes.view.kinds, state.nodes.view), _excluded_rows(state, record)
    return any(
        other.id != node
        and other.state is NodeState.READY
        and not other.cordoned_by
        and not is_excluded[other.id]
        and _is_feasible(state, record, other, kinds)
        for other in state.nodes.records.values()
    )


def _is_feasible(state: State, record: ClassRecord, node: NodeRecord, kinds: NodeKindIndex) -> bool:
    view, task_class = state.nodes.view, record.task_class
    is_large_enough = bool((view.capacity[node.id, : record.vector.size] >= record.vector).all())
    row = np.array([node.id])
    return (
        is_large_enough
        and bool(kinds.suit(task_class)[view.kind[node.id]])
        and all(kinds.hold_on(text, row).all() for text in task_class.constraints)
    )


def _excluded_rows(state: State, record: ClassRecord) -> BoolArray:
    """The rows from which the class is kept by those who are there: they may stay for ever."""
    view, rules = state.nodes.view, record.key.rules or Rules(0)
    owner = view.owner[: view.count]
    is_excluded: BoolArray = (owner != 0) & (owner != rules.job)
    if state.anti_affinity_task_sets and (repel_counts := repels(state, record.id)) is not None:
        is_excluded |= repel_counts > 0
    if rules.exclusive:
        is_excluded |= (view.tasks[: view.count] > 0) & (owner != rules.job)
    for rule in rules.affinity:
        if rule.to == "job" and rule.require:
            is_present = presence(state, rule.match) > 0
            is_excluded |= is_present if rule.anti else ~is_present
    return is_excluded | _conflicting_rows(state, record, rules.distinct) if rules.distinct else is_excluded


def _conflicting_rows(state: State, record: ClassRecord, label: str) -> BoolArray:
    """Those that share what is to be distinct with a task of the class's group, or do not have it."""
    is_conflicting = np.zeros(state.nodes.view.count, np.bool_)
    rows, nodes = list(tally(state, record.id)), state.nodes.records
    if label == "host":
        is_conflicting[rows] = True
        return is_conflicting
    values = {nodes[row].labels.get(label) for row in rows if row in nodes} | {None}
    for row, node in nodes.items():
        is_conflicting[row] = node.labels.get(label) in values
    return is_conflicting
