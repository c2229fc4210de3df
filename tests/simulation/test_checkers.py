"""The checkers can fail: each mistake, put into the engine, the store or the planner on purpose, is found within a few
seeds. A checker that finds nothing here would be no use in the simulations that pass."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from shunter.simulation.world import Failed, simulate
from tests.simulation.mistakes import durability, placement, services, start_rules

SEEDS_MAX = 200
# Worlds in which rare mistakes show, as the engine is today. Where one shows no more, the others are looked at.
SEED_HINTS = {
    "believe_any_attempt": 5, "write_off_silent_nodes": 3, "let_old_leaders_write": 116,
    "call_a_lost_attempt_failed": 2, "place_more_than_fits": 1, "forget_back_offs_in_recovery": 5,
    "overlook_the_rules_of_queues": 10, "overlook_running_max": 10, "let_gangs_be_torn_apart": 30,
    "start_gangs_before_all_are_back": 15, "forget_distinct_hosts": 3, "forget_exclusive_nodes": 10,
    "overlook_who_runs_there": 3,
    "give_a_port_to_three": 15, "forget_schedules_in_recovery": 13, "keep_missed_firings_quiet": 20,
    "go_back_to_the_same_node": 17, "go_on_after_too_many_failures": 26, "forget_to_start_what_is_missing": 5,
    "overlook_nodes_that_join": 12, "place_on_cordoned_nodes": 2, "quarantine_the_last_node": 61,
    "forget_where_a_task_was_to_go": 20, "overlook_exit_rules": 69, "forget_the_timeouts_of_jobs": 7,
}  # fmt: skip
MISTAKES = (*durability.MISTAKES, *placement.MISTAKES, *start_rules.MISTAKES, *services.MISTAKES)

Patch = pytest.MonkeyPatch


@pytest.mark.parametrize(("mistake", "found"), MISTAKES, ids=lambda value: getattr(value, "__name__", ""))
def test_a_mistake_is_found(mistake: Callable[[Patch], None], found: str, monkeypatch: Patch) -> None:
    mistake(monkeypatch)
    with pytest.raises(Failed, match=found):
        for seed in dict.fromkeys((SEED_HINTS.get(mistake.__name__, 0), *range(SEEDS_MAX))):
            simulate(seed)
