"""The policy of a simulated world: any policy, in or outside of rounds, recorded or not. Passed to `simulate`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from shunter.model.protocol.scheduler_messages import NAMES
from shunter.planning.planner import build_policy
from shunter.planning.remote.view_scope import wants_of
from shunter.planning.view import ClusterView, Decision, Policy
from shunter.ports.flight import FlightLog


@dataclass(frozen=True, slots=True)
class PolicyFactory:
    """`make` makes the policy of one manager's life, by the name that the seed drew; `record` says where the decisions
    of the life with this number are recorded, if anywhere."""

    make: Callable[[str], Policy] = build_policy
    record: Callable[[int], FlightLog | None] = lambda _: None


class BackgroundPolicy:
    """A policy, made to decide outside of rounds: it is shown deltas, and its decisions come in through the inbox."""

    fast = False

    def __init__(self, policy: Policy) -> None:
        self._policy = policy
        self.name, self.wants = policy.name, tuple(each for each in wants_of(policy) if each != NAMES)

    def decide(self, view: ClusterView, now: float, budget: int) -> Decision:
        return self._policy.decide(view, now, budget)


async def run_inline(decide: Callable[[], Any]) -> Any:
    """Virtual time needs no threads."""
    return decide()
