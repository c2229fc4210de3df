"""Simulated worlds whose scheduler, outside of rounds, is always wrong: all jobs end all the same."""

from __future__ import annotations

import numpy as np
import pytest

from shunter.planning.view import ClusterView, Decision, Placement
from shunter.simulation.workload.policies import BackgroundPolicy, PolicyFactory
from shunter.simulation.world import simulate


class WrongPolicy:
    """Places all tasks on a node that is not there."""

    name, fast, wants = "wrong", True, ("tasks",)

    def decide(self, view: ClusterView, _now: float, _budget: int) -> Decision:
        nowhere = np.array([view.nodes.count + 7])
        placements = [Placement(each.task_class.id, nowhere, np.array([1])) for each in view.queued]
        return Decision(view.version, placements=placements)


@pytest.mark.parametrize("seed", range(4))
def test_a_scheduler_whose_placements_are_all_invalid_starves_nobody(seed: int) -> None:
    simulate(seed, policy_factory=PolicyFactory(make=lambda _: BackgroundPolicy(WrongPolicy())))
