"""The everyday share of simulated worlds: the checkers verify every commit, order and start. `make sim-ci` runs
hundreds more, `make sim` thousands."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from functools import cache
from typing import get_args

import pytest

from shunter.engine.changes import Change
from shunter.engine.changes.audit import AuditChange
from shunter.engine.changes.identity import IdentityChange
from shunter.engine.changes.join_tokens import JoinTokenChange
from shunter.engine.changes.objects import ObjectChange
from shunter.engine.changes.secrets import SecretChange
from shunter.engine.changes.tenants import TenantChange
from shunter.simulation.runtime import loop
from shunter.simulation.runtime.faults import KINDS
from shunter.simulation.workload import actions, service_actions
from shunter.simulation.world import Failed, Outcome, simulate

SEEDS = 40  # `make sim-ci` runs the next ones
CHUNK = 10
# In these worlds, lines of the engine and the planner run that no other everyday test reaches.
RARE_SEEDS = (
    52, 71, 73, 82, 83, 102, 104, 138, 142, 159, 165, 168, 194,
    1000025, 1000026, 1000038, 1000042, 1000054, 1000056, 1000072,
)  # fmt: skip
EVENTFUL_MAX = 200  # worlds to try if the engine has changed, and something does not happen in those any more

EVENTS = (
    "commit.failed_before", "commit.failed_after", "message.lost", "message.duplicated", "message.late",
    "answer.lost", "snapshot.saved", "submit.refused", "stop.asked", "manager.killed", "manager.ended",
)  # fmt: skip
CHECKS = ("round", "audit", "snapshot", "recovery", "replay", "order", "start", "result", "secrets")


@cache
def outcome_of(seed: int) -> Outcome:
    """Tests that ask about the same world share one run of it."""
    return simulate(seed)


@pytest.mark.parametrize("first", range(0, SEEDS, CHUNK))
def test_every_invariant_holds(first: int) -> None:
    for seed in range(first, first + CHUNK):
        outcome_of(seed)


@pytest.mark.parametrize("seed", RARE_SEEDS)
def test_every_invariant_holds_in_rare_worlds(seed: int) -> None:
    outcome_of(seed)


def test_every_kind_of_fault_act_and_change_occurs_and_every_checker_looks() -> None:
    happened: Counter[str] = Counter()
    checked: Counter[str] = Counter()
    seeds = iter(dict.fromkeys((*range(SEEDS), *RARE_SEEDS, *range(EVENTFUL_MAX))))
    changes = {kind.__name__ for kind in get_args(Change)} - {kind.__name__ for kind in get_args(ObjectChange)}
    changes -= {"TaskSetUnpinned"}  # a move that finds no room is too rare
    changes -= {"NamesDropped"}  # earlier versions wrote it
    changes -= {"UsageAdded"}  # simulated workers measure nothing; see tests/unit/engine
    # Simulated users have no keys, tenants and secrets; see tests/unit/engine/identity and tests/unit/engine/secrets.
    # For the audit log, see test_tenant_seeds.
    for kinds in (IdentityChange, JoinTokenChange, TenantChange, SecretChange, AuditChange):
        changes -= {kind.__name__ for kind in get_args(kinds)}
    changes -= {"FormatRaised"}  # only where several managers are upgraded: see test_manager_seeds
    wanted = {f"fault.{kind}" for kind in KINDS} | {f"act.{kind}" for kind in (*actions.KINDS, *service_actions.KINDS)}
    wanted |= set(EVENTS) | changes
    while not (wanted <= set(happened) and set(CHECKS) <= set(checked)):
        seed = next(seeds, None)
        missing = f"never happened: {wanted - set(happened)}; never checked: {set(CHECKS) - set(checked)}"
        assert seed is not None, missing
        outcome = outcome_of(seed)
        happened.update(outcome.events)
        happened.update(kind.partition(".")[0] for kind in outcome.changes)
        checked.update(outcome.checked)


def test_a_seed_gives_the_same_history_every_time() -> None:
    """In another process as well, where texts have other hashes and sets another order."""
    seed = 12
    here = outcome_of(seed).digest
    assert simulate(seed).digest == here
    program = f"from shunter.simulation.world import simulate; print(simulate({seed}).digest)"
    there = subprocess.run(
        [sys.executable, "-c", program], env={"PYTHONHASHSEED": "1"}, capture_output=True, text=True, check=True
    )
    assert there.stdout.strip() == here


def test_seeds_differ() -> None:
    assert outcome_of(1).digest != outcome_of(2).digest


def test_a_world_that_stands_still_is_a_failure_of_its_seed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loop, "TURNS_AT_ONE_INSTANT_MAX", 3)
    with pytest.raises(Failed, match=r"^seed 12, step \d+: Livelock: more than 3 turns"):
        simulate(12)
