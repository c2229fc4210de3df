"""The checkers can fail: each mistake, put into the engine, the store or the planner on purpose, is found within a few
seeds. A checker that finds nothing here would be no use in the simulations that pass."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from shunter.simulation.world import Failed, simulate
from tests.simulation.mistakes import promises, room, upkeep, waits

SEEDS_MAX = 200
# Worlds in which rare mistakes show, as the engine is today. Where one shows no more, the others are looked at.
TELLING = {
    "believe_any_attempt": 56, "overlook_the_rules_of_queues": 18, "overlook_running_max": 21,
    "have_licences_for_all": 60, "give_a_port_to_three": 5, "forget_schedules_in_recovery": 9,
    "keep_missed_firings_quiet": 26, "overlook_exit_rules": 69, "go_back_to_the_same_node": 13,
    "go_on_after_too_many_failures": 9, "forget_the_timeouts_of_jobs": 7, "take_anything_for_well": 7,
    "overlook_nodes_that_join": 14, "call_a_draining_node_drained": 7, "place_on_cordoned_nodes": 8,
    "quarantine_the_last_node": 33, "let_old_leaders_write": 120, "forget_where_a_task_was_to_go": 85,
}  # fmt: skip
MISTAKES = (*promises.MISTAKES, *room.MISTAKES, *waits.MISTAKES, *upkeep.MISTAKES)

Patch = pytest.MonkeyPatch


@pytest.mark.parametrize(("mistake", "found"), MISTAKES, ids=lambda value: getattr(value, "__name__", ""))
def test_a_mistake_is_found(mistake: Callable[[Patch], None], found: str, monkeypatch: Patch) -> None:
    mistake(monkeypatch)
    with pytest.raises(Failed, match=found):
        for seed in dict.fromkeys((TELLING.get(mistake.__name__, 0), *range(SEEDS_MAX))):
            simulate(seed)
