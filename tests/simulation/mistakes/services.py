"""Mistakes in services and nodes: health, missing instances, drains, cordons, quarantine, moves, lost executors."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from shunter.engine.changes import NodeTransitioned
from shunter.engine.nodes import cordon, drain
from shunter.engine.objects import applications
from shunter.engine.placement import place as placement
from shunter.engine.round import Round
from shunter.engine.services import reconcile, rollout
from shunter.engine.services.instances import InstanceTask
from shunter.engine.state import apply_tasks
from shunter.engine.state.node_table import NodeTable
from shunter.engine.state.records import NodeRecord, TaskSet
from shunter.engine.state.state import State
from shunter.model.lifecycles import NodeEvent
from shunter.simulation.world import OBJECTS_FROM

Patch = pytest.MonkeyPatch


def treat_everything_as_healthy(patch: Patch) -> None:
    patch.setattr(InstanceTask, "is_healthy_at", lambda self, _now_ms: self.is_alive)


def skip_missing_instances(patch: Patch) -> None:
    patch.setattr(rollout._Decision, "start_missing", lambda _self: None)


def ignore_joining_nodes(patch: Patch) -> None:
    patch.setattr(reconcile, "mark_per_node_jobs_dirty", lambda round: round.dirty.nodes.clear())


def mark_draining_nodes_drained(patch: Patch) -> None:
    def hasty(round: Round, node: NodeRecord) -> None:
        round.record(NodeTransitioned(node.id, NodeEvent.EMPTIED, "", round.now_ms, node.name))

    patch.setattr(drain, "_advance_drain", hasty)


def place_on_cordoned_nodes(patch: Patch) -> None:
    def lax(_self: NodeTable, node: NodeRecord, by: str, reason: str) -> None:
        node.cordoned_by, node.cordon_reason = by, reason

    patch.setattr(NodeTable, "set_cordon", lax)
    patch.setattr(NodeTable, "refresh_eligible", _ignoring_cordons(NodeTable.refresh_eligible))


def _ignoring_cordons(refresh: Callable[[NodeTable, NodeRecord], None]) -> Callable[[NodeTable, NodeRecord], None]:
    def blind(self: NodeTable, node: NodeRecord) -> None:
        by, node.cordoned_by = node.cordoned_by, ""
        refresh(self, node)
        node.cordoned_by = by

    return blind


def quarantine_the_last_node(patch: Patch) -> None:
    patch.setattr(cordon, "_may_quarantine", lambda _round, _node: True)


def forget_task_moves(patch: Patch) -> None:
    requeue = apply_tasks._requeue

    def forgetful(state: State, task_set: TaskSet, first: int, last: int, not_before_ms: int) -> None:
        kept, state.moves.pinned = state.moves.pinned, {}
        requeue(state, task_set, first, last, not_before_ms)
        state.moves.pinned = kept

    patch.setattr(apply_tasks, "_requeue", forgetful)
    patch.setattr(placement, "place_moved_tasks", lambda _round: None)


def drop_a_task_set_too_early(patch: Patch) -> None:
    patch.setattr(TaskSet, "is_finished", property(lambda _self: True))


def run_lost_executors_alone(patch: Patch) -> None:
    patch.setattr(applications, "_loss", lambda _state, _job: "")


MISTAKES: tuple[tuple[Callable[[Patch], None], str, int], ...] = (
    (treat_everything_as_healthy, "was ended while it was needed", 13),
    (skip_missing_instances, "not come to rest", 13),
    (ignore_joining_nodes, "has no task on node", 24),
    (mark_draining_nodes_drained, "is called drained, and has tasks", 2),
    (place_on_cordoned_nodes, "which takes no work", 13),
    (quarantine_the_last_node, "no other takes work", 61),
    (forget_task_moves, "was to go elsewhere", 104),
    (run_lost_executors_alone, r"it is to fail \(lost\)", OBJECTS_FROM + 9),
    (drop_a_task_set_too_early, "left before it was over|ended while tasks are|is not over", 13),
)
