"""Cycles are found, and nothing else is taken for one."""

from __future__ import annotations

from graphlib import CycleError, TopologicalSorter
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shunter.model.graph import find_cycle, format_cycle


@pytest.mark.parametrize(
    ("waits_for", "cycle"),
    [
        ({}, None),
        ({"a": []}, None),
        ({"a": ["b"], "b": ["c"], "d": ["b", "c"]}, None),
        ({"a": ["a"]}, "a -> a"),
        ({"a": ["b"], "b": ["a"]}, "a -> b -> a"),
        ({"x": ["a"], "a": ["b", "c"], "c": ["d"], "d": ["a"]}, "a -> c -> d -> a"),
        ({"a": ["gone"]}, None),
    ],
)
def test_a_cycle_is_shown_from_where_it_closes(waits_for: dict[str, list[str]], cycle: str | None) -> None:
    found = find_cycle(waits_for)
    assert (found and format_cycle(found)) == cycle


def test_a_chain_of_any_length_is_walked() -> None:
    chain = {n: [n + 1] for n in range(100_000)}
    assert find_cycle(chain) is None
    assert find_cycle(chain | {100_000: [0]}) is not None


@given(st.dictionaries(st.integers(0, 8), st.lists(st.integers(0, 8), max_size=4), max_size=9))
def test_every_cycle_is_real_and_none_is_missed(waits_for: dict[int, list[int]]) -> None:
    cycle = find_cycle(waits_for)
    try:
        TopologicalSorter(waits_for).prepare()
    except CycleError:
        assert cycle is not None
        assert cycle[0] == cycle[-1]
        assert all(after in waits_for[before] for before, after in pairwise(cycle))
    else:
        assert cycle is None
