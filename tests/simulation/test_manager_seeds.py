"""The everyday share of simulated worlds with one to five managers on one store. `make sim-ci` runs hundreds more,
`make sim-managers` ten thousand."""

from __future__ import annotations

from collections import Counter
from functools import cache

import pytest

from shunter.simulation.runtime.manager_faults import KINDS
from shunter.simulation.world import MANAGERS_FROM, Outcome, simulate

SEEDS = 20  # `make sim-ci` runs the next ones
CHUNK = 5
EVENTFUL = (2000064,)  # something happens there that does not happen in the worlds above
EVENTFUL_MAX = 100  # worlds to try if the engine has changed, and something does not happen in those any more

EVENTS = (
    "read.of_leader", "read.of_follower", "read.refused", "read.cut_off", "submit.repeated", "manager.leads",
    "manager.follows", "manager.reloads", "leader.returned", "lease.granted", "lease.revoked", "commit.late",
    "commit.late_refused", "store.connection_lost", "upgrade.installed", "upgrade.reverted",
    "follow.left", "follow.ended", "follow.gone",
)  # fmt: skip
CHECKS = ("leader_answer", "read", "read_compared_completely", "recovery", "leader_returned", "status_event")


@cache
def outcome_of(seed: int) -> Outcome:
    """Tests that ask about the same world share one run of it."""
    return simulate(seed)


@pytest.mark.parametrize("first", range(MANAGERS_FROM, MANAGERS_FROM + SEEDS, CHUNK))
def test_every_invariant_holds_with_several_managers(first: int) -> None:
    for seed in range(first, first + CHUNK):
        outcome_of(seed)


def test_every_kind_of_fault_of_managers_occurs_and_every_checker_looks() -> None:
    happened: Counter[str] = Counter()
    checked: Counter[str] = Counter()
    worlds = range(MANAGERS_FROM, MANAGERS_FROM + EVENTFUL_MAX)
    seeds = iter(dict.fromkeys((*worlds[:SEEDS], *EVENTFUL, *worlds)))
    wanted = {f"fault.{kind}" for kind in KINDS} | set(EVENTS)
    while not (wanted <= set(happened) and set(CHECKS) <= set(checked)):
        seed = next(seeds, None)
        missing = f"never happened: {wanted - set(happened)}; never checked: {set(CHECKS) - set(checked)}"
        assert seed is not None, missing
        outcome = outcome_of(seed)
        happened.update(outcome.events)
        checked.update(outcome.checked)
