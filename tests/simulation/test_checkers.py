"""The checkers can fail: each mistake, put into the engine, the store or the planner on purpose, is found within a few
seeds. A checker that finds nothing here would be no use in the simulations that pass."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from shunter.simulation.world import Failed, simulate
from tests.simulation.mistakes import promises, room, upkeep, waits

SEEDS_MAX = 200
FIRST_SEEDS = {"let_old_leaders_write": 120}  # a leader that wakes in the middle of a write is rare
MISTAKES = (*promises.MISTAKES, *room.MISTAKES, *waits.MISTAKES, *upkeep.MISTAKES)

Patch = pytest.MonkeyPatch


@pytest.mark.parametrize(("mistake", "found"), MISTAKES, ids=lambda value: getattr(value, "__name__", ""))
def test_a_mistake_is_found(mistake: Callable[[Patch], None], found: str, monkeypatch: Patch) -> None:
    mistake(monkeypatch)
    with pytest.raises(Failed, match=found):
        for seed in range(FIRST_SEEDS.get(mistake.__name__, 0), SEEDS_MAX):
            simulate(seed)
