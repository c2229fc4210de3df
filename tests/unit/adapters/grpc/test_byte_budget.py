"""The limit on the bytes that relayed streams hold together."""

from __future__ import annotations

from contextlib import ExitStack

import pytest

from shunter.adapters.grpc.byte_budget import SMALL_BYTES_MAX, BudgetFull, ByteBudget

LARGE = SMALL_BYTES_MAX + 1


def test_what_does_not_fit_is_not_held() -> None:
    budget = ByteBudget(2 * LARGE)
    with budget.hold(LARGE), budget.hold(LARGE):
        with pytest.raises(BudgetFull), budget.hold(LARGE):
            pass
        assert budget.size == 2 * LARGE
    with budget.hold(2 * LARGE):
        assert budget.size == 2 * LARGE
    assert budget.size == 0


def test_small_messages_pass_a_full_budget_up_to_their_reserve() -> None:
    budget = ByteBudget(LARGE, reserve_max=3 * SMALL_BYTES_MAX)
    with budget.hold(LARGE), ExitStack() as held:
        for _ in range(3):
            held.enter_context(budget.hold(SMALL_BYTES_MAX))
        with pytest.raises(BudgetFull), budget.hold(1):
            pass
        assert (budget.size, budget.reserve_size) == (LARGE, 3 * SMALL_BYTES_MAX)
    assert (budget.size, budget.reserve_size) == (0, 0)


def test_small_messages_leave_the_reserve_alone_while_there_is_room() -> None:
    budget = ByteBudget(LARGE)
    with budget.hold(SMALL_BYTES_MAX):
        assert budget.reserve_size == 0


@pytest.mark.parametrize("size", [LARGE, 1], ids=["of the budget", "of the reserve"])
def test_what_fails_holds_nothing(size: int) -> None:
    budget = ByteBudget(LARGE)
    with ExitStack() as held:
        if size == 1:
            held.enter_context(budget.hold(LARGE))
        before = budget.size, budget.reserve_size
        with pytest.raises(OSError, match="lost"), budget.hold(size):
            raise OSError("lost")
        assert (budget.size, budget.reserve_size) == before
