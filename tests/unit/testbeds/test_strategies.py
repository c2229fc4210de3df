"""Which jobs get which slots: every vector of the reference, and the rules behind them on random queues."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shunter.model.objects.schedulings import JobProgress, JobRecord, SchedulingSpec
from shunter.model.objects.testbeds import Testbed
from shunter.testbeds.queue_order import QueueOrder
from shunter.testbeds.strategies import Selection, infeasible_reasons, select
from tests.unit.testbeds.memory_cluster import MemoryCluster, object_name, queue_spec, slots_spec

FIGURE = ("j1", "j1", "j2", "j2", "j3", "j3", "j3", "j4", "j4", "j4")


def selected_jobs(
    spec: SchedulingSpec, free: list[int] | int, submitted: tuple[str, ...] = ()
) -> list[tuple[str, tuple[int, ...]]]:
    free = list(range(free)) if isinstance(free, int) else free
    return [(job.name, slot_ids) for job, slot_ids in select(spec, records(spec, submitted), free)]


def records(spec: SchedulingSpec, submitted: tuple[str, ...] = ()) -> list[JobRecord]:
    return [
        JobRecord(JobProgress.SUBMITTED if job.name in submitted else JobProgress.IN_QUEUE)
        for job in spec.distinct_jobs
    ]


def testbed_of(count: int) -> Testbed:
    return MemoryCluster().with_nodes(count).testbed().settle().testbeds[object_name("tb")]


# ---- the queue ----


def test_jobs_are_distinct_in_the_order_of_their_first_occurrence() -> None:
    spec = queue_spec("b", "a", "b", "c", "a")
    queue_order = QueueOrder(spec)
    assert [job.name for job in queue_order.jobs] == ["b", "a", "c"]
    assert [queue_order.executors[index] for index in range(3)] == [2, 2, 1]
    assert queue_order.queue == [0, 1, 0, 2, 1]


def test_ten_executors_on_eight_slots_leave_the_fourth_job_waiting_and_one_slot_free() -> None:
    """S1-10"""
    assert selected_jobs(queue_spec(*FIGURE), 8) == [("j1", (0, 1)), ("j2", (2, 3)), ("j3", (4, 5, 6))]


def test_the_fourth_job_gets_the_slots_of_the_second_and_the_one_left_over() -> None:
    """S1-10: it starts as a whole when the second has ended."""
    assert selected_jobs(queue_spec(*FIGURE), [7], ("j1", "j2", "j3")) == []
    assert selected_jobs(queue_spec(*FIGURE), [7, 2, 3], ("j1", "j2", "j3")) == [("j4", (2, 3, 7))]


def test_the_manifest_of_document_001_gives_the_crawler_the_outer_slots() -> None:
    """S1-05: repeated names are executors, and their places in the queue say which slots they get."""
    spec = queue_spec("spark-crawler", "batchjob-spark", "batchjob-spark", "spark-crawler")
    assert selected_jobs(spec, 4) == [("spark-crawler", (0, 3)), ("batchjob-spark", (1, 2))]


@pytest.mark.parametrize(
    ("queue", "slots", "expected"),
    [
        ("2121", 4, [("2", (0, 2)), ("1", (1, 3))]),
        ("111222", 4, [("1", (0, 1, 2))]),
        ("211212122", 8, [("1", (1, 2, 4, 6))]),  # the fifth executor of 2 stands behind the eighth slot
        ("12", 1, [("1", (0,))]),
        ("12", 0, []),
        ("", 4, []),
    ],
)
def test_vectors_of_the_reference(queue: str, slots: int, expected: list[tuple[str, tuple[int, ...]]]) -> None:
    assert selected_jobs(queue_spec(*queue), slots) == expected


def test_the_job_that_was_blocked_by_a_late_executor_goes_when_the_others_have_gone() -> None:
    assert selected_jobs(queue_spec(*"211212122"), 8, ("1",)) == [("2", (0, 1, 2, 3, 4))]


def test_a_later_job_does_not_pass_one_that_does_not_fit() -> None:
    """S0-18: the queue is in order."""
    assert selected_jobs(queue_spec("big", "big", "big", "small"), 2) == []
    assert selected_jobs(queue_spec("a", "big", "big", "big", "small"), 3) == [("a", (0,))]


queues = st.lists(st.sampled_from("abcdefg"), max_size=30)


@given(queues, st.sets(st.integers(0, 20)), st.sets(st.sampled_from("abcdefg")))
def test_each_executor_gets_the_free_slot_of_its_index_or_its_job_gets_none(
    queue: list[str], free: set[int], submitted: set[str]
) -> None:
    """The rule of the reference, word by word."""
    spec, slots = queue_spec(*queue), sorted(free)
    waiting = [name for name in queue if name not in submitted]
    expected = []
    for name in dict.fromkeys(waiting):
        indexes = [index for index, other in enumerate(waiting) if other == name]
        if max(indexes) < len(slots):
            expected.append((name, tuple(slots[index] for index in indexes)))
    assert selected_jobs(spec, slots, tuple(submitted)) == expected


def check_disjoint(selection: Selection, free: set[int]) -> None:
    slot_ids = [slot_id for _, ids in selection for slot_id in ids]
    assert len(set(slot_ids)) == len(slot_ids), "a slot was given twice"
    assert set(slot_ids) <= free


@given(queues, st.sets(st.integers(0, 20)))
def test_no_slot_of_a_queue_is_given_twice_and_no_job_gets_a_part(queue: list[str], free: set[int]) -> None:
    spec = queue_spec(*queue)
    selection = select(spec, records(spec), free)
    check_disjoint(selection, free)
    assert all(len(slot_ids) == queue.count(job.name) for job, slot_ids in selection)


@given(queues.filter(bool), st.integers(1, 8))
def test_a_queue_that_is_not_impossible_runs_to_its_end_and_an_impossible_one_does_not(
    queue: list[str], slots: int
) -> None:
    """S1-13: nothing waits for ever."""
    spec = queue_spec(*queue)
    submitted: set[str] = set()
    while found := selected_jobs(spec, slots, tuple(submitted)):  # and then all of these end
        submitted |= {name for name, _ in found}
    assert (submitted == set(queue)) == (infeasible_reasons(spec, testbed_of(slots)) == [])


# ---- by slot ids ----


def test_jobs_get_exactly_the_slots_that_they_name() -> None:
    """S1-07."""
    assert selected_jobs(slots_spec("strict", ("a", [3, 1]), ("b", [0])), 4) == [("a", (1, 3)), ("b", (0,))]


def test_with_the_first_job_blocked_strict_starts_nothing_and_relaxed_starts_the_second() -> None:
    """S1-08."""
    jobs = (("a", [0, 1]), ("b", [2]))
    assert selected_jobs(slots_spec("strict", *jobs), [1, 2, 3]) == []
    assert selected_jobs(slots_spec("relaxed", *jobs), [1, 2, 3]) == [("b", (2,))]


@pytest.mark.parametrize("mode", ["strict", "relaxed"])
def test_two_jobs_that_name_the_same_slot_run_one_after_the_other(mode: str) -> None:
    spec = slots_spec(mode, ("a", [0, 1]), ("b", [1, 2]))
    assert selected_jobs(spec, 3) == [("a", (0, 1))]
    assert selected_jobs(spec, [0, 2], ("a",)) == []
    assert selected_jobs(spec, 3, ("a",)) == [("b", (1, 2))]


def test_strict_stops_at_the_first_that_is_blocked_also_for_those_behind_it() -> None:
    jobs = (("a", [0]), ("b", [1]), ("c", [2]))
    assert selected_jobs(slots_spec("strict", *jobs), [0, 2]) == [("a", (0,))]
    assert selected_jobs(slots_spec("relaxed", *jobs), [0, 2]) == [("a", (0,)), ("c", (2,))]


slot_jobs = st.lists(st.sets(st.integers(0, 7), min_size=1), min_size=1, max_size=8)


@given(slot_jobs, st.sets(st.integers(0, 7)), st.sampled_from(["strict", "relaxed"]))
def test_jobs_by_slot_ids_get_all_theirs_or_none_and_strict_keeps_the_order(
    wanted: list[set[int]], free: set[int], mode: str
) -> None:
    spec = slots_spec(mode, *((f"j{number}", slot_ids) for number, slot_ids in enumerate(wanted)))
    selection = select(spec, records(spec), free)
    check_disjoint(selection, free)
    assert all(set(slot_ids) == wanted[int(job.name[1:])] for job, slot_ids in selection)
    if mode == "strict":
        assert [job.name for job, _ in selection] == [f"j{number}" for number in range(len(selection))]
        following = len(selection)
        taken = set().union(*wanted[:following])
        assert following == len(wanted) or not wanted[following] <= free - taken
    else:
        left = free - {slot_id for _, slot_ids in selection for slot_id in slot_ids}
        refused = [
            slot_ids for number, slot_ids in enumerate(wanted) if object_name(f"j{number}") not in dict(selection)
        ]
        assert not any(slot_ids <= left for slot_ids in refused)


# ---- what can never run ----


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        (queue_spec(*"aaa"), "Batch job default/a has 3 executors, but testbed default/tb has 2 slots"),
        (queue_spec(*"abcabc"), "Put the executors of each job next to each other in the queue"),
        (slots_spec("strict", ("a", [0, 2, 7])), "names slot 2, 7, but testbed default/tb has the slots 0 to 1"),
        (slots_spec("relaxed", ("a", [-1])), "names slot -1, but testbed default/tb has the slots 0 to 1"),
        (
            slots_spec("strict", ("a", [0]), ("a", [1])),
            "SlotScheduling needs distinct Jobs: batch job default/a is named 2",
        ),
        (slots_spec("strict", ("a", [0, 0])), "names slot 0 more than once"),
        (slots_spec("strict", ("a", [])), "names no slot"),
        (slots_spec("strict"), "has no batch job"),
        (queue_spec(), "has no batch job"),
    ],
)
def test_what_can_never_run_is_told_with_job_and_fix(spec: SchedulingSpec, words: str) -> None:
    """S1-13."""
    (problem,) = infeasible_reasons(spec, testbed_of(2))
    assert words in problem


def test_what_was_submitted_already_is_not_impossible_any_more() -> None:
    spec = queue_spec(*"aaab")
    assert infeasible_reasons(spec, testbed_of(2))
    assert infeasible_reasons(spec, testbed_of(2), {object_name("a")}) == []


def test_a_testbed_that_is_about_to_change_refuses_nobody() -> None:
    cluster = MemoryCluster().with_nodes(2).testbed().settle().testbed(slots_per_node=2)
    assert infeasible_reasons(queue_spec(*"aaa"), cluster.testbeds[object_name("tb")]) == []
    assert infeasible_reasons(queue_spec(*"aaa"), None) == []
    assert infeasible_reasons(queue_spec(*"aaa"), MemoryCluster().testbed().settle().testbeds[object_name("tb")]) == []


# ---- cost ----


@pytest.mark.parametrize("submitted", [0, 996], ids=["at-its-begin", "at-its-end"])
def test_a_thousand_entries_cost_one_walk(submitted: int) -> None:
    """S1-09: what a selection compares grows with the queue, not with its square."""
    names = [f"j{number}" for number in range(1_000)]
    spec = queue_spec(*names)
    progress = [JobRecord(JobProgress.COMPLETED)] * submitted + [JobRecord(JobProgress.IN_QUEUE)] * (1_000 - submitted)
    compared = Counter[str]()

    class Counting(str):
        __slots__ = ()
        __hash__ = str.__hash__

        def __eq__(self, other: object) -> bool:
            compared["names"] += 1
            return str.__eq__(self, other)

    counting = queue_spec(*(Counting(name) for name in names))
    expected = [(object_name(names[submitted + index]), (index,)) for index in range(4)]
    assert select(spec, progress, range(4)) == expected
    assert [job.name for job, _ in select(counting, progress, range(4))] == [job.name for job, _ in expected]
    assert compared["names"] < 5 * len(names)
