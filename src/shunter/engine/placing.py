"""Giving queued tasks to nodes: lanes that ran low are refilled, then the policy places the rest. Called once a round.

A class on a node has one reservation of some width. While its tasks are short, more of them than lanes are
outstanding, so that keepers never wait for the engine; the reservation stays as wide as it was.
"""

from __future__ import annotations

import numpy as np

from shunter.engine import changes as c
from shunter.engine.cluster_view import build_view
from shunter.engine.decisions import apply_placement, carry_out
from shunter.engine.refilling import refill
from shunter.engine.round import Round
from shunter.planning.view import Placement, Policy


def place(round: Round, policy: Policy) -> None:
    refill(round)
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


def shrink(round: Round) -> None:
    """Lanes with nothing to run are given up."""
    for class_id, node in round.hungry:
        record = round.state.classes.get(class_id)
        lanes = record.lanes.get(node) if record else None
        if lanes is not None and lanes.outstanding < lanes.width:
            round.record(c.LanesSet(class_id, node, lanes.outstanding))
