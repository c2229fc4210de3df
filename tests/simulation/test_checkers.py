"""The checkers find each deliberate mistake in the engine, the store or the planner."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable

import pytest

from shunter.simulation.world import MANAGERS_FROM, NEIGHBOURS_FROM, OBJECTS_FROM, TENANTS_FROM, Failed, simulate
from tests.simulation.mistakes import durability, managers, placement, services, start_rules

SEEDS_MAX = 200
WORLDS = (0, OBJECTS_FROM, MANAGERS_FROM, TENANTS_FROM, NEIGHBOURS_FROM)
MISTAKES = (
    *durability.MISTAKES, *placement.MISTAKES, *start_rules.MISTAKES, *services.MISTAKES, *managers.MISTAKES,
)  # fmt: skip

Patch = pytest.MonkeyPatch


@pytest.mark.parametrize(("mistake", "violation", "hint"), MISTAKES, ids=[each[0].__name__ for each in MISTAKES])
def test_a_mistake_is_found(mistake: Callable[[Patch], None], violation: str, hint: int, monkeypatch: Patch) -> None:
    """In the world of the hint; in another one only if the engine has changed since the hint was written. Worlds in
    which another checker finds it first do not count."""
    mistake(monkeypatch)
    first = max(start for start in WORLDS if start <= hint)  # worlds of the same kind
    seeds = dict.fromkeys((hint, *range(first, first + SEEDS_MAX)))
    seed = next((seed for seed in seeds if re.search(violation, simulated_violation(seed))), None)
    assert seed is not None, f"not found in {SEEDS_MAX} worlds"
    if seed != hint:  # a search costs up to half a minute
        warnings.warn(f"{mistake.__name__}: write the hint {seed} instead of {hint}", stacklevel=1)


def simulated_violation(seed: int) -> str:
    """What the checkers say about this world; empty if they find nothing."""
    try:
        simulate(seed)
    except Failed as failed:
        return str(failed)
    return ""
