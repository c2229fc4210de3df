"""The everyday share of simulated worlds with Testbeds, BatchJobs and Schedulings. `make sim-objects` runs ten
thousand."""

from __future__ import annotations

from collections import Counter
from typing import get_args

from shunter.engine.changes.objects import ObjectChange
from shunter.simulation.world import OBJECTS_FROM, simulate

SEEDS = 20  # `make sim-ci` runs the next ones


def test_no_slot_leaks_and_no_job_is_claimed_twice() -> None:
    """U-08."""
    happened: Counter[str] = Counter()
    for seed in range(OBJECTS_FROM, OBJECTS_FROM + SEEDS):
        happened.update(simulate(seed).changes)
    assert {kind.__name__ for kind in get_args(ObjectChange)} <= set(happened)
