"""The checkers find each deliberate mistake in the engine, the store or the planner."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from shunter.simulation.world import MANAGERS_FROM, Failed, simulate
from tests.simulation.mistakes import durability, managers, placement, services, start_rules

SEEDS_MAX = 200
MISTAKES = (
    *durability.MISTAKES, *placement.MISTAKES, *start_rules.MISTAKES, *services.MISTAKES, *managers.MISTAKES,
)  # fmt: skip

Patch = pytest.MonkeyPatch


@pytest.mark.parametrize(("mistake", "violation", "hint"), MISTAKES, ids=[each[0].__name__ for each in MISTAKES])
def test_a_mistake_is_found(mistake: Callable[[Patch], None], violation: str, hint: int, monkeypatch: Patch) -> None:
    """In the world of the hint; in another one only if the engine has changed since the hint was written."""
    mistake(monkeypatch)
    with pytest.raises(Failed, match=violation):
        first = MANAGERS_FROM if hint >= MANAGERS_FROM else 0
        for seed in dict.fromkeys((hint, *range(first, first + SEEDS_MAX))):
            simulate(seed)
