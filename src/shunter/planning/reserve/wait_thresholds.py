"""How important an item must be to preempt others, and how long it waits before room is reserved for it. A stage of the
planner; the engine uses it to validate preemptions."""

from __future__ import annotations

from dataclasses import dataclass, replace

from shunter.planning.reserve.backfill import HOLD_AFTER_S, RESERVE_AFTER_S
from shunter.planning.reserve.preemption import PREEMPT_GAP
from shunter.planning.view import ClusterView


@dataclass(frozen=True, slots=True)
class WaitThresholds:
    preempt_gap: int = PREEMPT_GAP
    reserve_after_s: float = RESERVE_AFTER_S
    hold_after_s: float = HOLD_AFTER_S

    def with_overrides(self, view: ClusterView) -> WaitThresholds:
        """Apply the settings of the cluster, if any."""
        names = ("preempt_gap", "reserve_after_s", "hold_after_s")
        overrides = {name: value for name in names if (value := getattr(view, name)) is not None}
        return replace(self, **overrides) if overrides else self


WAIT_THRESHOLDS = WaitThresholds()
