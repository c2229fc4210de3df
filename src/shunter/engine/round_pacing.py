"""When the next round begins although no command has come, and what is done only from time to time. Owned by
`engine.engine`."""

from __future__ import annotations

from shunter.engine.identity.join_tokens import drop_expired_join_tokens
from shunter.engine.identity.keys import drop_expired_keys
from shunter.engine.jobs.submit import expire_idempotency_keys
from shunter.engine.placement.place import recall_stuck_tasks
from shunter.engine.policy.active_policy import ActivePolicy
from shunter.engine.round import Round
from shunter.engine.settings import EngineSettings
from shunter.engine.timers import Timers

UNPRODUCTIVE_ROUNDS_MAX = 200  # the planner processes a large cluster in about twenty slices
UNPRODUCTIVE_PAUSE_MS = 100
UNPRODUCTIVE_NOTE = "it repeatedly asks to decide again without placing anything; the engine calls it less often"


class RoundPacing:
    def __init__(self, settings: EngineSettings, active_policy: ActivePolicy) -> None:
        self._settings, self._active_policy = settings, active_policy
        self._has_backlog = True
        self._recall_at_ms = 0
        self._housekeeping_at_ms = 0
        self._next_placement_ms: int | None = None
        # consecutive rounds in which the policy had more to decide but changed nothing
        self._unproductive_rounds = 0

    def run_periodic_work(self, round: Round) -> None:
        if self._has_backlog and round.now_ms >= self._recall_at_ms:
            self._has_backlog = False
            recall_stuck_tasks(round)
            self._recall_at_ms = round.now_ms + self._settings.recall_after_ms
        if round.now_ms >= self._housekeeping_at_ms:
            self._housekeeping_at_ms = round.now_ms + int(self._settings.housekeeping_s * 1000)
            expire_idempotency_keys(round)
            drop_expired_keys(round)
            drop_expired_join_tokens(round)

    def on_placed(self, round: Round) -> None:
        self._has_backlog |= round.has_backlog

    def on_committed(self, round: Round, *, has_commands: bool) -> bool:
        """Whether the next round begins at once."""
        self._next_placement_ms = round.next_placement_ms
        return (
            has_commands
            or self._has_more_to_decide(round)
            or self._active_policy.wants_objects(round.state.objects.revision)
        )

    def next_ms(self, timers: Timers, lease_end_ms: int | None) -> int:
        """When the next round begins at the latest. `lease_end_ms` is that of the leading external scheduler."""
        next_ms = self._housekeeping_at_ms
        if timers.next_ms is not None:
            next_ms = min(next_ms, timers.next_ms)
        if self._has_backlog:
            next_ms = min(next_ms, self._recall_at_ms)
        if self._next_placement_ms is not None:
            next_ms = min(next_ms, self._next_placement_ms)
        return next_ms if lease_end_ms is None else min(next_ms, lease_end_ms)

    def _has_more_to_decide(self, round: Round) -> bool:
        """Whether the policy should decide again at once. A policy that repeatedly says so without changing anything
        has to pause."""
        self._unproductive_rounds = self._unproductive_rounds + 1 if round.is_unproductive else 0
        if self._unproductive_rounds > UNPRODUCTIVE_ROUNDS_MAX:
            self._active_policy.report_problem(UNPRODUCTIVE_NOTE)
            self._next_placement_ms = round.now_ms + UNPRODUCTIVE_PAUSE_MS
            return False
        return round.is_partial
