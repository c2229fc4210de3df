"""A policy together with the view it decides on, which deltas keep up to date. Used in the manager's process, in
external schedulers, in shadow policies, and in replays."""

from __future__ import annotations

from shunter.model.protocol.scheduler_messages import DecisionRow, Situation
from shunter.planning.remote.decision_rows import decision_row
from shunter.planning.remote.view_reader import ViewReader
from shunter.planning.remote.view_scope import wants_of
from shunter.planning.view import ClusterView, Decides, Decision


class PolicyHost:
    def __init__(self, policy: Decides) -> None:
        self.policy = policy
        self._reader = ViewReader(wants_of(policy))

    def observe(self, situation: Situation) -> ClusterView:
        """Process a situation. Must be called for every situation in order, also for those on which it does not
        decide."""
        return self._reader.read(situation.delta)

    def decide(self, situation: Situation) -> DecisionRow:
        """Process a situation, and decide."""
        return self.decide_on(self.observe(situation), situation)

    def decide_on(self, view: ClusterView, situation: Situation) -> DecisionRow:
        """Decide on the view of a situation that was observed. Raises what the policy raises."""
        decision = self.policy.decide(view, situation.now, situation.budget)
        if not isinstance(decision, Decision):
            raise TypeError(f"decide returned {decision!r}, not a Decision")
        return decision_row(decision, situation.delta.number)

    @property
    def missing(self) -> int:
        """Queries of the policy that the deltas could not answer."""
        return self._reader.missing
