"""Giving queued tasks to nodes: lanes that ran low are refilled, then the policy places the rest. Called once a round.

A class on a node has one reservation of some width. While its tasks are short, more of them than lanes are
outstanding, so that keepers never wait for the engine; the reservation stays as wide as it was.
"""

from __future__ import annotations

import numpy as np

from shunter.engine import changes as c
from shunter.engine.cluster_view import build_view
from shunter.engine.decisions import apply_placement, carry_out, give
from shunter.engine.records import ClassRecord, Lanes
from shunter.engine.round import Round
from shunter.planning.view import Placement, Policy

RIVALS_MAX = 16  # classes ahead that are looked at before lanes are simply given up


def place(round: Round, policy: Policy) -> None:
    _refill(round)
    shrink(round)
    _place_pinned(round)
    view = build_view(round.state)
    if not view.queued:
        return
    decision = policy.decide(view, round.now_ms / 1000, round.settings.round_placements_max)
    carry_out(round, decision)
    round.is_partial = decision.is_partial


def _place_pinned(round: Round) -> None:
    """Tasks that belong on one node need no policy: they go there when they fit."""
    for record in list(round.state.classes.values()):
        node = record.key.node
        if node and record.queued:
            apply_placement(round, Placement(record.id, np.array([node]), np.array([record.queued])))


def recall_stuck(round: Round) -> None:
    """Take back what waits behind tasks that turned out long, so that it can run elsewhere."""
    for record in round.state.classes.values():
        for lanes in record.lanes.values():
            if lanes.outstanding <= lanes.width:
                continue
            round.has_backlog = True
            is_stuck = round.now_ms - lanes.progress_ms >= round.settings.recall_after_ms
            if is_stuck and not lanes.recalled:
                lanes.recalled = True
                record.depth = 1
                round.recalls.setdefault(lanes.node, []).append(record.id)


def _refill(round: Round) -> None:
    """Lanes that lost work get more of their class, class by class, unless one ahead could use the room."""
    hungry: dict[int, list[Lanes]] = {}
    for class_id, node in round.hungry:
        record = round.state.classes.get(class_id)
        lanes = record.lanes.get(node) if record else None
        if record is not None and lanes is not None and record.queued:
            hungry.setdefault(class_id, []).append(lanes)
    ahead: list[ClassRecord] = []
    for record in _in_order(round, set(hungry)):
        for lanes in hungry.get(record.id, ()):
            may_refill = lanes.may_refill and round.state.nodes.view.eligible[lanes.node] and not record.key.node
            may_refill &= not round.state.queues.get(record.key.queue).is_paused
            if record.queued and may_refill and not _is_wanted(round, lanes, ahead):
                _top_up(round, lanes)
        if record.queued:
            ahead.append(record)


def _in_order(round: Round, hungry: set[int]) -> list[ClassRecord]:
    if len(hungry) == 1 and len(round.state.classes) == 1:
        return list(round.state.classes.values())
    waiting = [record for record in round.state.classes.values() if record.queued]
    keyed = [(-record.task_class.priority, _since(record), record.id, record) for record in waiting]
    return [entry[3] for entry in sorted(keyed)]


def _since(record: ClassRecord) -> int:
    group = record.first_ready()
    return group.job.id if group else 0


def _is_wanted(round: Round, lanes: Lanes, ahead: list[ClassRecord]) -> bool:
    """Whether a class ahead would fit if one of these lanes were given up."""
    if len(ahead) > RIVALS_MAX:
        return True
    nodes, node = round.state.nodes.view, lanes.node
    mine = lanes.task_class.vector
    for rival in ahead:
        for column, need in enumerate(rival.vector.tolist()):
            free = nodes.capacity[node, column] - nodes.reserved[node, column]
            freed = int(mine[column]) if column < mine.size else 0
            if need and need > free + freed:
                break
        else:
            return True
    return False


def _top_up(round: Round, lanes: Lanes) -> None:
    record = lanes.task_class
    fair = max(record.queued // (2 * max(record.width, 1)), 1)  # near the end, leave something for the other lanes
    target = lanes.width * min(record.depth, fair)
    if lanes.outstanding * 2 <= target or lanes.outstanding < lanes.width:
        give(round, record, lanes.node, target - lanes.outstanding)
        round.has_backlog |= lanes.outstanding > lanes.width


def shrink(round: Round) -> None:
    """Lanes with nothing to run are given up."""
    for class_id, node in round.hungry:
        record = round.state.classes.get(class_id)
        lanes = record.lanes.get(node) if record else None
        if lanes is not None and lanes.outstanding < lanes.width:
            round.record(c.LanesSet(class_id, node, lanes.outstanding))
