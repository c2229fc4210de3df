"""Guards the active policy, so that its failure costs no round. The engine calls it like any policy.

A plugin's policy may raise or return nonsense. Then the built-in default decides that round, and the list of policies
shows the error. Placements on nodes that refuse the task (`planning.filter.hard_rules`) are dropped. Whether the others
fit is checked when they are applied."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

import numpy as np

from shunter.engine.policy.refusals import RefusalRecord
from shunter.log import Log
from shunter.model.protocol.scheduler_messages import OBJECTS, TASKS
from shunter.planning.batch.batch_policy import BatchPolicy
from shunter.planning.filter.filters import FILTERS, Filter
from shunter.planning.filter.hard_rules import HardRules
from shunter.planning.filter.node_ledger import NodeLedger
from shunter.planning.planner import POLICY_DEFAULT, Planner, build_policy
from shunter.planning.policies import fork_policy
from shunter.planning.remote.view_scope import limit_view, read_only, wants_of
from shunter.planning.view import ClusterView, Decision, Placement, Policy

log = Log(__name__)
DEFAULT_FALLBACK = partial(build_policy, POLICY_DEFAULT)
REFUSED_PLACEMENTS = "it placed tasks on nodes that are not feasible; these placements were dropped"
LOCAL_PREFIX = "local:"  # begins the names of sessions of policies in this process that decide outside of rounds


class Nonsense(Exception):
    """The policy returned an impossible decision."""


class ActivePolicy:
    """`policy` decides. `last_error` is its last error, or nothing. `failures` counts how often the default decided
    instead."""

    fast = True

    def __init__(
        self,
        policy: Policy,
        make_fallback: Callable[[], Policy] = DEFAULT_FALLBACK,
        filters: tuple[Filter, ...] = FILTERS,
    ) -> None:
        self._make_fallback = make_fallback
        self._filters = filters
        self._ledger: NodeLedger | None = None
        self._fallback: Policy | None = None
        self.last_decision = Decision(0)  # the last decision, before any of it was dropped
        self.seen_objects_revision = 0  # the objects' revision at the policy's last decision
        self.use(policy)

    @property
    def filters(self) -> tuple[Filter, ...]:
        """The filters for explanations. Policies without filters of their own use the built-in ones."""
        return self.policy.filters if isinstance(self.policy, Planner) else self._filters

    @property
    def leader_session(self) -> str:
        """The session that decides outside of rounds (`engine.policy.sessions`); empty if the policy decides in
        rounds."""
        return (
            ""
            if getattr(self.policy, "fast", True)
            else getattr(self.policy, "scheduler", f"{LOCAL_PREFIX}{self.name}")
        )

    @property
    def round_policy(self) -> Policy:
        """The policy that decides in rounds: the active one, or the fallback while no session decides outside of
        them."""
        return self._fallback_policy() if self.leader_session else self.policy

    def renew(self, policy: Policy) -> None:
        """Start the policy that decides in rounds anew."""
        if self.leader_session:
            self._fallback = policy
        else:
            self.policy, self._fallback = policy, None

    def reset_fallback(self) -> None:
        """A session outside of rounds leads: when that ends, the fallback starts anew."""
        self._fallback = None

    def wants_objects(self, revision: int) -> bool:
        """Whether it wants to see objects, and they have changed since it last saw them."""
        return revision != self.seen_objects_revision and OBJECTS in wants_of(self.policy) and not self.leader_session

    def set_fallback(self, make: Callable[[], Policy]) -> None:
        """Set the policy that decides when the active one fails or is silent."""
        self._make_fallback, self._fallback = make, None

    def use(self, policy: Policy) -> None:
        """From the next round on."""
        self.policy, self.name, self._fallback = policy, policy.name, None
        self.last_error = ""
        self.failures = self.seen_objects_revision = 0
        self.refusals = RefusalRecord()  # of what it decided in rounds

    def decide(self, view: ClusterView, now: float, budget: int) -> Decision:
        if isinstance(self.policy, Planner | BatchPolicy) and self.policy.is_built_in:
            self.last_decision = self.policy.decide(view, now, budget)
            return self.last_decision
        if not self.leader_session:
            try:
                return self._decide_checked(view, now, budget)
            except (Exception, SystemExit) as error:  # code of a plugin
                self.record_failure(error)
        self.last_decision = self._fallback_policy().decide(view, now, budget)
        return self.last_decision

    def _fallback_policy(self) -> Policy:
        if self._fallback is None:
            self._fallback = self._make_fallback()
        return self._fallback

    def _decide_checked(self, view: ClusterView, now: float, budget: int) -> Decision:
        """Decide with a policy of a plugin: limit its view to what it wants, and validate its decision."""
        if isinstance(self.policy, Planner):
            self.last_decision = self.policy.decide(view, now, budget)
            check_decision(self.last_decision, view)
            return self.last_decision
        hard_rules, wants = self._hard_rules_for(view), wants_of(self.policy)
        scoped_view = limit_view(view, wants)
        if TASKS in wants:
            scoped_view = replace(scoped_view, accepts=self._hard_rules_for(scoped_view).accepts)
        with read_only(scoped_view.nodes):
            self.last_decision = self.policy.decide(scoped_view, now, budget)
        check_decision(self.last_decision, scoped_view)
        return self._enforce(self.last_decision, view, hard_rules)

    def fork(self) -> ActivePolicy:
        policy = self.policy if self.leader_session else fork_policy(self.policy)
        forked = ActivePolicy(policy, self._make_fallback, self._filters)
        forked.failures = -1  # what a copy does is not reported
        return forked

    def _hard_rules_for(self, view: ClusterView) -> HardRules:
        self._ledger = self._ledger or NodeLedger()
        self._ledger.sync(view.nodes)
        return HardRules(view, self._ledger, self._filters)

    def _enforce(self, decision: Decision, view: ClusterView, hard_rules: HardRules) -> Decision:
        """Drop placements on nodes that refuse the task, however much room they have."""
        classes = {queued.task_class.id: queued.task_class for queued in view.queued}
        placements = []
        for number, placement in enumerate(decision.placements):
            admitted = hard_rules.admit(classes[placement.class_id], placement)
            if admitted.counts.sum() < placement.counts.sum():
                self.report_problem(REFUSED_PLACEMENTS)
                dropped = np.setdiff1d(placement.nodes, admitted.nodes)
                node = view.nodes.names[int(dropped[0])] if dropped.size else ""
                self.refusals.refuse(f"placements[{number}]{f' on node {node}' if node else ''}: not feasible")
            if len(admitted.nodes):
                placements.append(admitted)
        if decision.placements:
            self.refusals.fruitless = 0 if placements else self.refusals.fruitless + 1
        return replace(decision, placements=placements)

    def record_failure(self, error: BaseException) -> None:
        """Record that the policy failed and the default decides."""
        self.report_problem(f"{type(error).__name__}: {error}")
        if self.failures >= 0:
            self.failures += 1

    def report_problem(self, last_error: str) -> None:
        """Record that a part of its decision could not be applied."""
        if self.failures >= 0 and last_error != self.last_error:  # once, not in every round
            log.error("policy.failed", policy=self.name, error=last_error)
        self.last_error = last_error


def check_decision(decision: Decision, view: ClusterView) -> None:
    """Raises Nonsense unless every item names tasks and nodes that exist."""
    if not isinstance(decision, Decision):
        raise Nonsense(f"decide returned {decision!r}, not a Decision")
    known = {queued.task_class.id for queued in view.queued}
    for placement in decision.placements:
        _check_placement(placement, known, view.nodes.count)


def _check_placement(placement: Placement, known: set[int], count: int) -> None:
    if not isinstance(placement, Placement) or placement.class_id not in known:
        raise Nonsense(f"{placement!r} is not a Placement of a pending class")
    rows, counts = np.asarray(placement.nodes), np.asarray(placement.counts)
    if rows.ndim != 1 or rows.shape != counts.shape or not np.issubdtype(rows.dtype, np.integer):
        raise Nonsense("nodes and counts of a Placement must be arrays of whole numbers of the same length")
    if not np.issubdtype(counts.dtype, np.integer) or (counts < 1).any():
        raise Nonsense("counts of a Placement must be whole numbers above 0")
    if ((rows < 1) | (rows >= count)).any():
        raise Nonsense(f"a Placement names a row that is not a node; rows are 1 to {count - 1}")
    if np.unique(rows).size != rows.size:
        raise Nonsense("a Placement names a row twice")
