"""Places queued tasks on nodes: refills lanes that ran low, then lets the policy place the rest. Called once per round.

A class has one reservation of a certain width on a node. While its tasks are short, the engine hands out more tasks
than there are lanes, so that keepers never wait for the engine. The reservation does not grow."""

from __future__ import annotations

import numpy as np

from shunter.engine import changes as c
from shunter.engine.objects.scheduling_items import apply_schedulings
from shunter.engine.placement.apply_decision import apply_decision, apply_placement, lanes_max
from shunter.engine.placement.cluster_view import refresh_pending, view_of_refreshed
from shunter.engine.placement.colocation import colocation_allows
from shunter.engine.placement.gang_restart import restart_broken_gangs
from shunter.engine.placement.move import place_moved_tasks
from shunter.engine.placement.refill import refill
from shunter.engine.policy.active_policy import ActivePolicy
from shunter.engine.round import Round
from shunter.engine.state.records import TaskSet
from shunter.planning.view import NO_HELD_ROWS, ClusterView, Decision, Placement, Policy

UNTRIED = -1  # as what a node's `changed` was
PINNED_MAX = 1_000  # classes bound to one node that are tried in one round


def place(round: Round, policy: Policy, has_leader: bool = False) -> None:
    """`has_leader`: a scheduler outside of rounds decides, and the policy decides nothing."""
    restart_broken_gangs(round)
    if has_leader:
        round.state.held_rows = round.now_ms, NO_HELD_ROWS  # a leader reports no reservations
    refill(round)
    release_idle_lanes(round)
    _place_pinned_classes(round)
    if round.state.moves.pinned:
        place_moved_tasks(round)
    if not has_leader:
        _place_by_policy(round, policy)


def _place_by_policy(round: Round, policy: Policy) -> None:
    refresh_pending(round.state)
    if not _needs_decision(round, policy):
        return
    view = view_of_refreshed(round.state)
    decision, changes_before = _decide(round, policy, view), len(round.changes)
    apply_decision(round, decision)
    if decision.schedulings or decision.withdrawals:
        apply_schedulings(round, decision, policy.name, lambda item, reason: _report_refused_item(policy, item, reason))
    if decision.kept is not None:
        round.state.held_rows = round.now_ms, decision.kept
    restart_broken_gangs(round)
    if decision.is_partial or decision.again_in_ms == 0:
        round.is_partial, round.is_unproductive = True, len(round.changes) == changes_before
    if decision.again_in_ms:
        round.next_placement_ms = round.now_ms + decision.again_in_ms


def _needs_decision(round: Round, policy: Policy) -> bool:
    """Whether tasks are pending, or objects changed that the policy wants to see. These then count as seen."""
    pending, revision = round.state.pending_queue, round.state.objects.revision
    if not isinstance(policy, ActivePolicy):
        return bool(pending)
    if not pending and not policy.wants_objects(revision):
        return False
    policy.seen_objects_revision = revision
    return True


def _report_refused_item(policy: Policy, item: str, reason: str) -> None:
    if isinstance(policy, ActivePolicy):
        policy.report_problem(f"{item} was rejected: {reason}")
        policy.refusals.refuse(f"{item}: {reason}")


def _decide(round: Round, policy: Policy, view: ClusterView) -> Decision:
    """Ask the policy, and show the decision to the observer if there is one."""
    now, budget, observer = round.now_ms / 1000, round.settings.round_placements_max, round.observer
    if observer is None:
        return policy.decide(view, now, budget)
    decision = policy.decide(observer.before_decision(view, now, budget), now, budget)
    observer.after_decision(policy.last_decision if isinstance(policy, ActivePolicy) else decision)
    return decision


def _place_pinned_classes(round: Round) -> None:
    """Place tasks that are bound to one node: they need no policy and start when they fit. Those that did not fit are
    tried again when their node has changed."""
    pinned, nodes = round.state.pinned, round.state.nodes.view
    tries = 0
    for record, tried_at in list(pinned.values()):
        if not record.queued or record.id not in round.state.classes:
            del pinned[record.id]
        elif nodes.changed[record.key.node] != tried_at:
            if tries == PINNED_MAX:
                round.is_partial = True
                return
            tries += 1
            task_set = record.first_ready()
            if task_set is not None and not _colocation_allows(round, task_set):
                # `distinct` may depend on other nodes, so it is checked in every round
                pinned[record.id] = record, UNTRIED if task_set.spec.distinct else int(nodes.changed[record.key.node])
                continue
            apply_placement(round, Placement(record.id, np.array([record.key.node]), np.array([record.queued])))
            if lanes_max(round, record):  # else it does not wait for the node
                pinned[record.id] = record, int(nodes.changed[record.key.node])


def _colocation_allows(round: Round, task_set: TaskSet) -> bool:
    """Executors go where their slots are, whatever runs there."""
    if task_set.job.options.application:
        return True
    return colocation_allows(round.state, task_set, range(task_set.count), task_set.node)


def recall_stuck_tasks(round: Round) -> None:
    """Recall tasks that wait behind long ones, so that they can run on other nodes."""
    for record in round.state.classes.values():
        for lanes in record.lanes.values():
            if lanes.outstanding <= lanes.width or not round.state.nodes.records[lanes.node].is_synced:
                continue
            round.has_backlog = True
            is_stuck = round.now_ms - lanes.last_progress_ms >= round.settings.recall_after_ms
            if is_stuck and not lanes.recalled:
                lanes.recalled = True
                record.depth = 1
                round.outbox.recall(lanes.node, record.id)


def release_idle_lanes(round: Round) -> None:
    """Release lanes that have nothing to run."""
    for class_id, node in round.dirty.underfilled:
        record = round.state.classes.get(class_id)
        lanes = record.lanes.get(node) if record else None
        if lanes is not None and lanes.outstanding < lanes.width:
            round.record(c.LanesSet(class_id, node, lanes.outstanding))
