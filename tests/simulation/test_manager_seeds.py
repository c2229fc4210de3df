"""The everyday share of simulated worlds with one to five managers on one store. `make sim-ci` runs hundreds more,
`make sim-managers` ten thousand."""

from __future__ import annotations

from collections import Counter

import pytest

from shunter.simulation.runtime.manager_faults import KINDS
from shunter.simulation.world import MANAGERS_FROM, simulate

SEEDS = 20  # `make sim-ci` runs the next ones
CHUNK = 5
# In these worlds together everything happens. If the engine has changed and something is missing, the others run too.
EVENTFUL = (2000058, 2000003, 2000002)
EVENTFUL_MAX = 60

EVENTS = (
    "read.of_leader", "read.of_follower", "read.refused", "read.cut_off", "submit.repeated", "manager.leads",
    "manager.follows", "manager.reloads", "leader.returned", "lease.granted", "lease.revoked", "commit.late",
    "commit.late_refused", "store.connection_lost",
)  # fmt: skip
CHECKS = ("leader_answer", "read", "read_compared_completely", "recovery", "leader_returned")


@pytest.mark.parametrize("first", range(MANAGERS_FROM, MANAGERS_FROM + SEEDS, CHUNK))
def test_every_invariant_holds_with_several_managers(first: int) -> None:
    for seed in range(first, first + CHUNK):
        simulate(seed)


def test_every_kind_of_fault_of_managers_occurs_and_every_checker_looks() -> None:
    happened: Counter[str] = Counter()
    checked: Counter[str] = Counter()
    seeds = iter(dict.fromkeys((*EVENTFUL, *range(MANAGERS_FROM, MANAGERS_FROM + EVENTFUL_MAX))))
    wanted = {f"fault.{kind}" for kind in KINDS} | set(EVENTS)
    while not (wanted <= set(happened) and set(CHECKS) <= set(checked)):
        seed = next(seeds, None)
        missing = f"never happened: {wanted - set(happened)}; never checked: {set(CHECKS) - set(checked)}"
        assert seed is not None, missing
        outcome = simulate(seed)
        happened.update(outcome.events)
        checked.update(outcome.checked)
