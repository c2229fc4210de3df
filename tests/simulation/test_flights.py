"""Simulated worlds are recorded like real ones, and a replay of every manager process makes the same decisions."""

from __future__ import annotations

import pytest

from shunter.engine.policy.replay import Replay
from shunter.model.protocol.flight_records import Began, Step
from shunter.planning.planner import build_policy
from shunter.simulation.workload.policies import PolicyFactory
from shunter.simulation.world import simulate
from tests.unit.engine.memory_flight_log import MemoryFlightLog

SEEDS = (1, 2, 7, 12)  # in these worlds the policy decides in rounds


@pytest.mark.parametrize("seed", SEEDS)
def test_every_life_of_a_manager_is_flown_again_alike(seed: int) -> None:
    tapes: dict[int, MemoryFlightLog] = {}
    outcome = simulate(
        seed, policy_factory=PolicyFactory(record=lambda number: tapes.setdefault(number, MemoryFlightLog()))
    )
    decisions = 0
    for tape in tapes.values():
        records = tape.records()
        replays = list(Replay(build_policy).run(records))
        assert [each.made for each in replays] == [each.recorded for each in replays]
        assert all(each.is_fresh for each in records if isinstance(each, Began))
        assert len(replays) == sum(isinstance(each, Step) for each in records)
        decisions += len(replays)
    assert decisions > 10
    assert outcome.digest == simulate(seed).digest, "who records changes nothing"
