"""The arithmetic of the profiling scheduler: means, the matrix, which pair is next, who shares a node with whom."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shunter.schedulers.profiler.matrix import (
    Matrix,
    Mean,
    Pair,
    add_run,
    format_table,
    parse_mean,
    read_matrix,
    unreadable_cells,
)
from shunter.schedulers.profiler.pairing import SlotLayout, build_queue, choose_partners

DURATIONS = st.lists(st.integers(0, 10_000), min_size=1, max_size=50)
NAMES = st.lists(st.text("abcdef", min_size=1, max_size=4), unique=True, max_size=12)


def test_a_run_moves_the_mean_as_the_reference_does() -> None:
    """S1-26: in whole seconds, rounded down."""
    assert add_run([{"spark-pi": "24 (16)"}], "spark-pi", 41) == [{"spark-pi": "25 (17)"}]


@pytest.mark.parametrize(
    ("text", "mean"),
    [
        ("30", Mean(30, 1)),
        ("24 (16)", Mean(24, 16)),
        ("24(16)", Mean(24, 16)),
        (" 0 ( 1 ) ", Mean(0, 1)),
        ("24 (0)", None),
        ("-3", None),
        ("24 (16", None),
        ("2.5", None),
        ("", None),
        ("soon", None),
    ],
)
def test_a_number_alone_is_one_sample_and_what_is_no_mean_is_none(text: str, mean: Mean | None) -> None:
    """S1-26."""
    assert parse_mean(text) == mean


@given(st.integers(0, 10**9), st.integers(1, 10**9))
def test_what_is_written_is_read_back(seconds: int, samples: int) -> None:
    assert parse_mean(str(Mean(seconds, samples))) == Mean(seconds, samples)


@given(DURATIONS)
def test_a_mean_counts_every_run_and_stays_within_what_was_measured(durations_s: list[int]) -> None:
    mean = Mean(durations_s[0], 1)
    for duration_s in durations_s[1:]:
        mean = mean.add(duration_s)
    assert mean.samples == len(durations_s)
    assert min(durations_s) <= mean.seconds <= max(durations_s)


@given(st.integers(0, 10_000), st.integers(1, 100))
def test_a_mean_of_equal_runs_is_exact(duration_s: int, runs: int) -> None:
    mean = Mean(duration_s, 1)
    for _ in range(runs):
        mean = mean.add(duration_s)
    assert mean == Mean(duration_s, runs + 1)


def test_a_run_leaves_alone_what_is_noted_of_others() -> None:
    rows = [{"gone": "7 (2)", "b": "soon"}, {"c": "not a mean"}, {"b": "9 (3)"}]
    assert add_run(rows, "b", 13) == [{"gone": "7 (2)", "b": "10 (4)"}, {"c": "not a mean"}]
    assert add_run(rows, "d", 5) == [*rows, {"d": "5"}]
    assert add_run([], "b", 5) == [{"b": "5"}]


def test_the_matrix_has_the_jobs_that_are_there_and_no_diagonal() -> None:
    rows_by_job = {"b": [{"a": "24 (16)", "gone": "3", "b": "9"}], "a": [{"b": "soon"}], "c": []}
    matrix = read_matrix(rows_by_job)
    assert matrix.jobs == ("a", "b", "c")
    assert matrix.means == {("b", "a"): Mean(24, 16)}
    assert list(unreadable_cells(rows_by_job)) == [("a", "b", "soon")]


def test_the_table_has_a_slash_on_the_diagonal() -> None:
    matrix = Matrix(("flink-wc", "pi"), {("flink-wc", "pi"): Mean(28, 11)})
    assert format_table(matrix) == [
        "          flink-wc  pi",
        "flink-wc  /         28 (11)",
        "pi        -         /",
    ]


def test_the_pair_with_the_fewest_samples_is_next_and_a_failure_counts_as_one() -> None:
    means = {("a", "b"): Mean(9, 2), ("b", "a"): Mean(9, 2), ("a", "c"): Mean(9, 1), ("c", "a"): Mean(9, 1)}
    matrix = Matrix(("a", "b", "c"), means)
    assert matrix.samples_min == 0
    assert matrix.next_pair({}) == ("b", "c")
    assert matrix.next_pair({("b", "c"): 2, ("c", "b"): 2}) == ("a", "c")


def test_each_job_takes_the_unused_one_beside_which_it_was_quickest() -> None:
    """S1-25: the co-location with the least runtime."""
    means = {
        ("a", "c"): Mean(20, 1),
        ("a", "d"): Mean(10, 9),
        ("a", "b"): Mean(1, 1),  # has a node of its own already
        ("b", "d"): Mean(5, 1),  # taken by a
    }
    assert choose_partners(Matrix(("a", "b", "c", "d"), means), ("a", "b", "c", "d"), nodes=2) == [
        ("a", "d"),
        ("b", "c"),
    ]


def test_what_was_never_measured_is_chosen_last_but_chosen() -> None:
    matrix = Matrix(("a", "b", "c"), {("a", "c"): Mean(1000, 1)})
    assert choose_partners(matrix, ("a", "b", "c"), nodes=1) == [("a", "c")]
    assert choose_partners(Matrix(("a", "b", "c")), ("a", "b", "c"), nodes=1) == [("a", "b")]


@given(NAMES, st.integers(0, 8), st.randoms(use_true_random=False))
def test_no_job_is_chosen_twice_and_no_better_partner_was_left(names: list[str], nodes: int, chance: object) -> None:
    draw = chance.randrange  # type: ignore[attr-defined]
    means = {(a, b): Mean(draw(100), 1) for a in names for b in names if a != b and draw(3)}
    matrix = Matrix(tuple(names), means)
    chosen = choose_partners(matrix, names, nodes)
    used = [job for pair in chosen for job in pair]
    assert len(used) == len(set(used))
    assert len(chosen) == min(nodes, len(names) // 2)
    assert [first for first, _ in chosen] == names[: len(chosen)]
    for place, (first, second) in enumerate(chosen):
        firsts, earlier = names[: len(chosen)], [other for _, other in chosen[:place]]
        for other in set(names) - set(firsts) - set(earlier):
            mean = means.get((first, other))
            assert mean is None or means[first, second].seconds <= mean.seconds


@given(st.integers(1, 6), st.integers(2, 5), st.integers(1, 6))
def test_a_queue_puts_each_job_beside_its_partner_on_every_node(nodes: int, slots_per_node: int, count: int) -> None:
    pairs: list[Pair] = [(f"a{i}", f"b{i}") for i in range(min(count, nodes))]
    layout = SlotLayout(nodes, slots_per_node)
    queue = build_queue(pairs, layout)
    assert len(queue) == layout.slots - nodes * (slots_per_node % 2)
    on_node: dict[int, Counter[str]] = {}
    for slot, job in enumerate(queue):
        on_node.setdefault(slot % nodes, Counter())[job] += 1  # slots are numbered over all nodes first
    assert len(on_node) == nodes
    for jobs in on_node.values():
        assert tuple(sorted(jobs)) in pairs
        assert set(jobs.values()) == {slots_per_node // 2}
    executors = Counter(queue)
    assert set(executors) == {job for pair in pairs for job in pair}
    assert max(executors.values()) - min(executors.values()) <= slots_per_node // 2  # slots / jobs, or a node more


def test_on_one_node_with_two_slots_the_queue_is_the_pair() -> None:
    assert build_queue([("a", "b")], SlotLayout(1, 2)) == ["a", "b"]
    assert build_queue([("a", "b"), ("c", "d"), ("e", "f")], SlotLayout(3, 2)) == ["a", "c", "e", "b", "d", "f"]
