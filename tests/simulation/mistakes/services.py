"""Jobs that last and the upkeep of nodes: health, missing instances, drains, cordons, quarantine, moves."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from shunter.engine.changes import NodeMoved
from shunter.engine.nodes import cordon, drain
from shunter.engine.placement import place as placement
from shunter.engine.round import Round
from shunter.engine.services import reconcile
from shunter.engine.services.instances import Member
from shunter.engine.services.rollout import Keeping
from shunter.engine.state import apply_tasks
from shunter.engine.state.node_table import NodeColumns
from shunter.engine.state.records import Group, NodeRecord
from shunter.engine.state.state import State
from shunter.model.lifecycles import NodeEvent

Patch = pytest.MonkeyPatch


def take_anything_for_well(patch: Patch) -> None:
    patch.setattr(Member, "is_well", lambda self, _now_ms: self.is_alive)


def forget_to_start_what_is_missing(patch: Patch) -> None:
    patch.setattr(Keeping, "_start_missing", lambda _self: None)


def overlook_nodes_that_join(patch: Patch) -> None:
    patch.setattr(reconcile, "stir_nodes", lambda round: round.stirred_nodes.clear())


def call_a_draining_node_drained(patch: Patch) -> None:
    def hasty(round: Round, node: NodeRecord) -> None:
        round.record(NodeMoved(node.id, NodeEvent.EMPTIED, "", round.now_ms, node.name))

    patch.setattr(drain, "_advance", hasty)


def place_on_cordoned_nodes(patch: Patch) -> None:
    def lax(_self: NodeColumns, node: NodeRecord, by: str, reason: str) -> None:
        node.switched_by, node.switched_because = by, reason

    patch.setattr(NodeColumns, "switch", lax)
    patch.setattr(NodeColumns, "refresh_eligible", _blind_to_switches(NodeColumns.refresh_eligible))


def _blind_to_switches(refresh: Callable[[NodeColumns, NodeRecord], None]) -> Callable[[NodeColumns, NodeRecord], None]:
    def blind(self: NodeColumns, node: NodeRecord) -> None:
        by, node.switched_by = node.switched_by, ""
        refresh(self, node)
        node.switched_by = by

    return blind


def quarantine_the_last_node(patch: Patch) -> None:
    patch.setattr(cordon, "_may_lose", lambda _round, _node: True)


def forget_where_a_task_was_to_go(patch: Patch) -> None:
    requeue = apply_tasks._requeue

    def forgetful(state: State, group: Group, first: int, last: int, not_before_ms: int) -> None:
        kept, state.moves.bound = state.moves.bound, {}
        requeue(state, group, first, last, not_before_ms)
        state.moves.bound = kept

    patch.setattr(apply_tasks, "_requeue", forgetful)
    patch.setattr(placement, "place_bound", lambda _round: None)


def let_a_piece_go_before_it_is_over(patch: Patch) -> None:
    patch.setattr(Group, "is_over", property(lambda _self: True))


MISTAKES: tuple[tuple[Callable[[Patch], None], str], ...] = (
    (take_anything_for_well, "was ended while it was needed"),
    (forget_to_start_what_is_missing, "not come to rest"),
    (overlook_nodes_that_join, "has no task on node"),
    (call_a_draining_node_drained, "is called drained, and has tasks"),
    (place_on_cordoned_nodes, "which takes no work"),
    (quarantine_the_last_node, "no other takes work"),
    (forget_where_a_task_was_to_go, "was to go elsewhere"),
    (let_a_piece_go_before_it_is_over, "left before it was over|ended while tasks are|is not over"),
)
