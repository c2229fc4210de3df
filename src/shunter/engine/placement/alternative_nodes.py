"""Whether a task that is not to use the node of its last attempt can have another. Asked by
`engine.placement.cluster_view` and `engine.placement.apply_decision`: where there is no other node, it takes the same
one again."""

from __future__ import annotations

import numpy as np

from shunter.engine.placement.job_presence import presence, repels, tally
from shunter.engine.state.records import ClassRecord, NodeRecord
from shunter.engine.state.state import State
from shunter.model.lifecycles import NodeState
from shunter.planning.filter.node_kinds import Kinds
from shunter.planning.view import BoolArray, Rules


def has_another(state: State, record: ClassRecord, node: int) -> bool:
    """Whether some other node that takes work is large enough for the class, and nobody keeps the class away from it
    now. Mostly one of the first does. What belongs on a node has no other."""
    if record.key.node:
        return False
    kinds, shut = Kinds(state.nodes.view.kinds, state.nodes.view), _shut(state, record)
    return any(
        other.id != node
        and other.state is NodeState.READY
        and not other.cordoned_by
        and not shut[other.id]
        and _could_take(state, record, other, kinds)
        for other in state.nodes.records.values()
    )


def _could_take(state: State, record: ClassRecord, node: NodeRecord, kinds: Kinds) -> bool:
    view, task_class = state.nodes.view, record.task_class
    is_large = bool((view.capacity[node.id, : record.vector.size] >= record.vector).all())
    row = np.array([node.id])
    return (
        is_large
        and bool(kinds.suit(task_class)[view.kind[node.id]])
        and all(kinds.hold_on(text, row).all() for text in task_class.constraints)
    )


def _shut(state: State, record: ClassRecord) -> BoolArray:
    """The rows from which the class is kept by those who are there: they may stay for ever."""
    view, rules = state.nodes.view, record.key.rules or Rules(0)
    owner = view.owner[: view.count]
    shut: BoolArray = (owner != 0) & (owner != rules.job)
    if state.anti_affinity_task_sets and (others := repels(state, record.id)) is not None:
        shut |= others > 0
    if rules.exclusive:
        shut |= (view.tasks[: view.count] > 0) & (owner != rules.job)
    for rule in rules.affinity:
        if rule.to == "job" and rule.require:
            there = presence(state, rule.match) > 0
            shut |= there if rule.anti else ~there
    return shut | _taken(state, record, rules.distinct) if rules.distinct else shut


def _taken(state: State, record: ClassRecord, label: str) -> BoolArray:
    """Those that share what is to be distinct with a task of the class's group, or do not have it."""
    taken = np.zeros(state.nodes.view.count, np.bool_)
    rows, nodes = list(tally(state, record.id)), state.nodes.records
    if label == "host":
        taken[rows] = True
        return taken
    values = {nodes[row].labels.get(label) for row in rows if row in nodes} | {None}
    for row, node in nodes.items():
        taken[row] = node.labels.get(label) in values
    return taken
