"""Converts decisions to a form that can be sent and recorded, and back. Used wherever a policy decides outside of a
round, and by the flight recorder."""

from __future__ import annotations

import numpy as np

from shunter.model.protocol.scheduler_messages import DecisionRow, PlacementRow
from shunter.planning.view import Decision, LeftBehind, Placement


def decision_row(decision: Decision, number: int = 0) -> DecisionRow:
    left = decision.left
    return DecisionRow(
        based_on=decision.based_on,
        number=number,
        placements=[
            PlacementRow(each.class_id, np.asarray(each.nodes).tolist(), np.asarray(each.counts).tolist())
            for each in decision.placements
        ],
        preemptions=list(decision.preemptions),
        schedulings=list(decision.schedulings),
        withdrawals=list(decision.withdrawals),
        left=int(left.counts.sum()) if isinstance(left, LeftBehind) else sum(each.count for each in left),
        reasons=dict(decision.reasons),
        is_partial=decision.is_partial,
        atomic=decision.atomic,
        again_in_ms=decision.again_in_ms,
    )


def read_decision(row: DecisionRow) -> Decision:
    """Without tasks that stay queued: only their number is known."""
    return Decision(
        based_on=row.based_on,
        placements=[
            Placement(each.class_id, np.array(each.nodes, np.int64), np.array(each.counts, np.int64))
            for each in row.placements
        ],
        preemptions=list(row.preemptions),
        schedulings=list(row.schedulings),
        withdrawals=list(row.withdrawals),
        reasons=dict(row.reasons),
        is_partial=row.is_partial,
        atomic=row.atomic,
        again_in_ms=row.again_in_ms,
    )


def is_empty(row: DecisionRow) -> bool:
    """Whether it changes nothing."""
    return not (row.placements or row.preemptions or row.schedulings or row.withdrawals)
