"""Whether a task that is not to use the node of its last attempt can have another. Asked by `engine.cluster_view` and
`engine.decisions`: where there is no other node, it takes the same one again."""

from __future__ import annotations

import numpy as np

from shunter.engine.records import ClassRecord, NodeRecord
from shunter.engine.state import State
from shunter.model.lifecycles import NodeState
from shunter.planning.kinds import Kinds


def has_another(state: State, record: ClassRecord, node: int) -> bool:
    """Whether some other node that takes work could ever take the class. Mostly one of the first does."""
    kinds = Kinds(state.nodes.view.kinds, state.nodes.view)
    return any(
        other.id != node
        and other.state is NodeState.READY
        and not other.switched_by
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
