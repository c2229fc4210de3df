"""Schedulings claim all they need at once or nothing, say what they wait for, and share a testbed by its rules."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from shunter.model.objects.batch_jobs import BatchJobState
from shunter.model.objects.schedulings import SchedulingSpec
from shunter.testbeds.scheduling_reconcile import reconcile_scheduling
from tests.unit.testbeds.memory_cluster import MemoryCluster, object_name, queue_spec, slots_spec
from tests.unit.testbeds.scheduling_samples import build_cluster, holds

# ---- acquire ----


def test_all_is_claimed_at_once_in_one_look() -> None:
    cluster = build_cluster("a", "b").scheduling("s", queue_spec("a", "b"))
    cluster.step_testbed(object_name("tb"))
    outcome = reconcile_scheduling(cluster.view_of_scheduling(object_name("s")))
    assert outcome.claims == (object_name("a"), object_name("b"))
    assert outcome.claims_testbed
    assert not outcome.requests


def test_a_second_scheduling_waits_says_for_whom_holds_nothing_and_starts_when_the_first_is_deleted() -> None:
    """S1-06."""
    cluster = build_cluster("a", "b").scheduling("first", queue_spec("a")).settle()
    cluster.scheduling("second", queue_spec("b")).settle()
    assert cluster.status("second").state.wire_name == "AcquireState"
    assert cluster.status("second").waits_for == "scheduling default/first, which uses testbed default/tb"
    assert holds(cluster, "second") == []
    cluster.delete("first").settle()
    assert holds(cluster, "second") == ["b", "tb"]
    assert cluster.requested[-1] == ("b", (1,)), "the slot of the first was not free yet"
    assert cluster.status("second").waits_for == "batch job default/b to start"


def test_who_lacks_one_job_claims_neither_the_others_nor_the_testbed() -> None:
    cluster = build_cluster("a", "b").testbed("tb2").scheduling("first", queue_spec("a")).settle()
    cluster.scheduling("second", queue_spec("b", "a", testbed="tb2")).settle()
    assert cluster.status("second").waits_for == "scheduling default/first, which uses batch job default/a"
    assert holds(cluster, "second") == []
    assert cluster.job_state("b") == "ReadyState"


def test_what_does_not_exist_is_told_and_found_when_it_is_made() -> None:
    """S1-12."""
    cluster = MemoryCluster().with_nodes(2).with_jobs("a").scheduling("s", queue_spec("a", "b")).settle()
    assert cluster.status("s").problems == [
        "Testbed default/tb does not exist. Apply one with that name.",
        "Batch job default/b does not exist. Apply one with that name.",
    ]
    assert cluster.status("s").waits_for == "testbed default/tb"
    assert holds(cluster, "s") == []
    cluster.testbed().settle()
    assert cluster.status("s").waits_for == "batch job default/b"
    cluster.with_jobs("b").settle()
    assert cluster.status("s").problems == []
    assert cluster.requested == [("a", (0,)), ("b", (1,))]


def test_what_is_being_deleted_counts_as_not_there() -> None:
    cluster = build_cluster("a").settle()
    cluster.jobs[object_name("a")] = replace(
        cluster.jobs[object_name("a")], meta=replace(cluster.jobs[object_name("a")].meta, deleting_ms=5)
    )
    cluster.testbeds[object_name("tb")] = replace(
        cluster.testbeds[object_name("tb")], meta=replace(cluster.testbeds[object_name("tb")].meta, deleting_ms=5)
    )
    cluster.scheduling("s", queue_spec("a"))
    cluster.step_scheduling(object_name("s"))
    assert cluster.status("s").problems == [
        "Testbed default/tb is being deleted. Apply it again when it is gone, or use another one.",
        "Batch job default/a is being deleted. Apply it again when it is gone, or remove it from the scheduling.",
    ]


def test_a_testbed_without_slots_is_waited_for_with_its_problem() -> None:
    cluster = MemoryCluster().with_nodes(1, free={"cpu": 100}).testbed(size={"cpu": 500}).with_jobs("a")
    cluster.scheduling("s", queue_spec("a")).settle()
    assert cluster.status("s").waits_for == "slots of testbed default/tb"
    assert cluster.status("s").problems == [
        "Testbed default/tb has no slots. Node n0: Requires 500m of cpu resources. Available: 100m"
    ]
    assert holds(cluster, "s") == []
    cluster.with_nodes(1).settle()
    assert cluster.requested == [("a", (0,))]


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        (queue_spec(*"aaaaa"), "Batch job default/a has 5 executors, but testbed default/tb has 4 slots"),
        (slots_spec("strict", ("a", [4])), "names slot 4, but testbed default/tb has the slots 0 to 3"),
        (slots_spec("relaxed", ("a", [0]), ("a", [1])), "SlotScheduling needs distinct Jobs"),
    ],
)
def test_what_is_impossible_fails_at_once_with_the_reason_and_claims_nothing(spec: SchedulingSpec, words: str) -> None:
    """S1-13."""
    cluster = build_cluster("a").settle().scheduling("s", spec)
    cluster.step_scheduling(object_name("s"))
    assert cluster.status("s").state.wire_name == "FailedState"
    assert words in cluster.status("s").problems[0]
    assert holds(cluster, "s") == []


def test_while_a_job_is_not_made_yet_a_testbed_that_still_grows_fails_nobody() -> None:
    """S1-12: people label their nodes one after the other."""
    cluster = MemoryCluster().with_nodes(1).testbed().with_jobs("a").scheduling("s", queue_spec("a", "a", "b")).settle()
    assert cluster.status("s").state.wire_name == "AcquireState"
    assert cluster.status("s").waits_for == "batch job default/b"
    missing, small = cluster.status("s").problems
    assert missing == "Batch job default/b does not exist. Apply one with that name."
    assert small.startswith(
        "Batch job default/a has 2 executors, but testbed default/tb has 1 slot: name it at most 1 time,"
    )
    assert holds(cluster, "s") == []
    cluster.with_nodes(3).with_jobs("b").settle()
    assert cluster.status("s").problems == []
    assert cluster.requested == [("a", (0, 1)), ("b", (2,))]


def test_once_all_jobs_are_there_what_is_impossible_fails() -> None:
    """S1-13: it does not wait for ever."""
    cluster = MemoryCluster().with_nodes(1).testbed().with_jobs("a").scheduling("s", queue_spec("a", "a", "b")).settle()
    cluster.with_jobs("b").settle()
    assert cluster.status("s").state.wire_name == "FailedState"
    assert "has 2 executors" in cluster.status("s").problems[0]
    assert holds(cluster, "s") == []


def test_a_job_that_waits_for_a_reset_fails_the_scheduling_that_names_it() -> None:
    cluster = build_cluster("a", "b")
    failed = replace(cluster.jobs[object_name("a")].status, state=BatchJobState.FAILED, problems=["no such slot"])
    cluster.jobs[object_name("a")] = replace(cluster.jobs[object_name("a")], status=failed)
    cluster.scheduling("s", queue_spec("b", "a")).settle()
    assert cluster.status("s").state.wire_name == "FailedState"
    assert cluster.status("s").problems == ["Batch job default/a is in FailedState: no such slot"]
    assert holds(cluster, "s") == []


def test_a_job_whose_last_processes_still_end_is_waited_for() -> None:
    cluster = build_cluster("a").scheduling("s", queue_spec("a")).settle()
    cluster.runs("a").settle()
    cluster.ends_at_once = False
    cluster.delete("s").settle().scheduling("t", queue_spec("a")).settle()
    assert cluster.status("t").waits_for == "batch job default/a to be ready (it is in PendingDeletion)"
    old = next(iter(cluster.applications.values()))
    assert old.is_stopped
    old.has_processes = False
    cluster.settle()
    assert cluster.status("t").state.wire_name == "ConfirmationState"
    assert cluster.job_state("a") == "SubmittedState"


# ---- sharing ----


def test_schedulings_on_disjoint_slots_share_a_testbed_that_allows_it() -> None:
    """S1-36."""
    cluster = MemoryCluster().with_nodes(4).testbed(sharing="disjoint").with_jobs(*"abcd")
    cluster.scheduling("s", slots_spec("strict", ("a", [0, 1]))).settle()
    cluster.scheduling("t", slots_spec("relaxed", ("b", [2]), ("c", [3]))).settle()
    assert cluster.requested == [("a", (0, 1)), ("b", (2,)), ("c", (3,))]
    cluster.scheduling("u", slots_spec("strict", ("d", [1, 2]))).settle()
    assert cluster.status("u").waits_for == "scheduling default/s, which uses slot 1 of testbed default/tb"
    cluster.delete("s").settle()
    assert cluster.status("u").waits_for == "scheduling default/t, which uses slot 2 of testbed default/tb"
    cluster.delete("t").settle()
    assert cluster.requested[-1] == ("d", (1, 2))


def test_who_takes_slots_from_a_queue_shares_with_nobody() -> None:
    cluster = MemoryCluster().with_nodes(4).testbed(sharing="disjoint").with_jobs(*"ab")
    cluster.scheduling("s", slots_spec("strict", ("a", [0]))).settle().scheduling("t", queue_spec("b")).settle()
    assert cluster.status("t").waits_for == "scheduling default/s, which uses testbed default/tb"
    cluster.delete("s").settle()
    assert cluster.requested[-1][0] == "b"
    cluster.scheduling("s", slots_spec("strict", ("a", [3]))).settle()
    assert cluster.status("s").waits_for == "scheduling default/t, which uses testbed default/tb"


def test_an_exclusive_testbed_is_not_shared_though_the_slots_are_disjoint() -> None:
    cluster = build_cluster("a", "b").scheduling("s", slots_spec("strict", ("a", [0]))).settle()
    cluster.scheduling("t", slots_spec("strict", ("b", [1]))).settle()
    assert cluster.status("t").waits_for == "scheduling default/s, which uses testbed default/tb"


def test_who_is_extended_into_the_slots_of_another_waits_and_the_other_goes_on() -> None:
    cluster = MemoryCluster().with_nodes(4).testbed(sharing="disjoint").with_jobs(*"abcd")
    cluster.scheduling("s", slots_spec("strict", ("a", [0]))).settle()
    cluster.scheduling("t", slots_spec("strict", ("b", [1]), ("c", [1]))).settle()
    cluster.scheduling("s", slots_spec("strict", ("a", [0]), ("d", [1]))).settle()
    assert cluster.status("s").state.wire_name == "AcquireState"
    assert cluster.status("s").waits_for == "scheduling default/t, which uses slot 1 of testbed default/tb"
    cluster.runs("a").completes("b").settle()
    assert cluster.requested[-1] == ("c", (1,)), "the other is not disturbed"
    cluster.completes("c").settle().delete("t").settle()
    assert cluster.requested[-1] == ("d", (1,))


def test_two_testbeds_share_a_node_that_has_room() -> None:
    """S1-36: and a third one, for which there is none, says so and disturbs nobody."""
    cluster = MemoryCluster().with_nodes(1, free={"cpu": 3_000}).with_jobs("a", "b")
    cluster.testbed("one", size={"cpu": 1_000}).testbed("two", slots_per_node=2, size={"cpu": 1_000}).settle()
    cluster.testbed("three", size={"cpu": 1}).settle()
    assert cluster.testbeds[object_name("three")].status.node_problems == {
        "n0": ["Requires 1m of cpu resources. Available: 0m"]
    }
    cluster.scheduling("s", queue_spec("a", testbed="one")).scheduling(
        "t", queue_spec("b", "b", testbed="two")
    ).settle()
    assert cluster.requested == [("a", (0,)), ("b", (0, 1))]
