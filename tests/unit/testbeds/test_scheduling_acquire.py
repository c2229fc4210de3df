"""Schedulings claim all that they need at once or nothing, say for whom they wait, and share a testbed by its rules."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from shunter.model.objects.batch_jobs import BatchJobState
from shunter.model.objects.schedulings import SchedulingSpec
from shunter.testbeds.scheduling_reconcile import reconcile_scheduling
from tests.unit.testbeds.memory_cluster import Play, named, queue_of, slots_of
from tests.unit.testbeds.scheduling_samples import holds, yard

# ---- acquire ----


def test_all_is_claimed_at_once_in_one_look() -> None:
    play = yard("a", "b").scheduling("s", queue_of("a", "b"))
    play.look_at_testbed(named("tb"))
    outcome = reconcile_scheduling(play.view_of_scheduling(named("s")))
    assert outcome.claims == (named("a"), named("b"))
    assert outcome.claims_testbed
    assert not outcome.requests


def test_a_second_scheduling_waits_says_for_whom_holds_nothing_and_starts_when_the_first_is_deleted() -> None:
    """S1-06."""
    play = yard("a", "b").scheduling("first", queue_of("a")).settle()
    play.scheduling("second", queue_of("b")).settle()
    assert play.status("second").state.word == "AcquireState"
    assert play.status("second").waits_for == "scheduling default/first, which uses testbed default/tb"
    assert holds(play, "second") == []
    play.delete("first").settle()
    assert holds(play, "second") == ["b", "tb"]
    assert play.given[-1] == ("b", (1,)), "the slot of the first was not free yet"
    assert play.status("second").waits_for == "batch job default/b to start"


def test_who_lacks_one_job_claims_neither_the_others_nor_the_testbed() -> None:
    play = yard("a", "b").testbed("tb2").scheduling("first", queue_of("a")).settle()
    play.scheduling("second", queue_of("b", "a", testbed="tb2")).settle()
    assert play.status("second").waits_for == "scheduling default/first, which uses batch job default/a"
    assert holds(play, "second") == []
    assert play.job_state("b") == "ReadyState"


def test_what_does_not_exist_is_told_and_found_when_it_is_made() -> None:
    """S1-12."""
    play = Play().labelled(2).with_jobs("a").scheduling("s", queue_of("a", "b")).settle()
    assert play.status("s").problems == [
        "Testbed default/tb does not exist. Apply one of that name.",
        "Batch job default/b does not exist. Apply one of that name.",
    ]
    assert play.status("s").waits_for == "testbed default/tb"
    assert holds(play, "s") == []
    play.testbed().settle()
    assert play.status("s").waits_for == "batch job default/b"
    play.with_jobs("b").settle()
    assert play.status("s").problems == []
    assert play.given == [("a", (0,)), ("b", (1,))]


def test_what_is_being_deleted_counts_as_not_there() -> None:
    play = yard("a").settle()
    play.jobs[named("a")] = replace(play.jobs[named("a")], meta=replace(play.jobs[named("a")].meta, deleting_ms=5))
    play.testbeds[named("tb")] = replace(
        play.testbeds[named("tb")], meta=replace(play.testbeds[named("tb")].meta, deleting_ms=5)
    )
    play.scheduling("s", queue_of("a"))
    play.look_at_scheduling(named("s"))
    assert play.status("s").problems == [
        "Testbed default/tb is being deleted. Apply it again when it is gone, or name another one.",
        "Batch job default/a is being deleted. Apply it again when it is gone, or leave it out.",
    ]


def test_a_testbed_without_slots_is_waited_for_with_its_problem() -> None:
    play = Play().labelled(1, free={"cpu": 100}).testbed(size={"cpu": 500}).with_jobs("a")
    play.scheduling("s", queue_of("a")).settle()
    assert play.status("s").waits_for == "slots of testbed default/tb"
    assert play.status("s").problems == [
        "Testbed default/tb has no slots. Node n0: Requires 500m of cpu resources. Available: 100m"
    ]
    assert holds(play, "s") == []
    play.labelled(1).settle()
    assert play.given == [("a", (0,))]


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        (queue_of(*"aaaaa"), "Batch job default/a has 5 executors, but testbed default/tb has 4 slots"),
        (slots_of("strict", ("a", [4])), "names slot 4, but testbed default/tb has the slots 0 to 3"),
        (slots_of("relaxed", ("a", [0]), ("a", [1])), "SlotScheduling needs distinct Jobs"),
    ],
)
def test_what_is_impossible_fails_at_once_with_the_reason_and_claims_nothing(spec: SchedulingSpec, words: str) -> None:
    """S1-13."""
    play = yard("a").settle().scheduling("s", spec)
    play.look_at_scheduling(named("s"))
    assert play.status("s").state.word == "FailedState"
    assert words in play.status("s").problems[0]
    assert holds(play, "s") == []


def test_while_a_job_is_not_made_yet_a_testbed_that_still_grows_fails_nobody() -> None:
    """S1-12: people label their nodes one after the other."""
    play = Play().labelled(1).testbed().with_jobs("a").scheduling("s", queue_of("a", "a", "b")).settle()
    assert play.status("s").state.word == "AcquireState"
    assert play.status("s").waits_for == "batch job default/b"
    missing, small = play.status("s").problems
    assert missing == "Batch job default/b does not exist. Apply one of that name."
    assert small.startswith(
        "Batch job default/a has 2 executors, but testbed default/tb has 1 slot: name it at most 1 time,"
    )
    assert holds(play, "s") == []
    play.labelled(3).with_jobs("b").settle()
    assert play.status("s").problems == []
    assert play.given == [("a", (0, 1)), ("b", (2,))]


def test_once_all_jobs_are_there_what_is_impossible_fails() -> None:
    """S1-13: it does not wait for ever."""
    play = Play().labelled(1).testbed().with_jobs("a").scheduling("s", queue_of("a", "a", "b")).settle()
    play.with_jobs("b").settle()
    assert play.status("s").state.word == "FailedState"
    assert "has 2 executors" in play.status("s").problems[0]
    assert holds(play, "s") == []


def test_a_job_that_waits_for_a_reset_fails_the_scheduling_that_names_it() -> None:
    play = yard("a", "b")
    failed = replace(play.jobs[named("a")].status, state=BatchJobState.FAILED, problems=["no such slot"])
    play.jobs[named("a")] = replace(play.jobs[named("a")], status=failed)
    play.scheduling("s", queue_of("b", "a")).settle()
    assert play.status("s").state.word == "FailedState"
    assert play.status("s").problems == ["Batch job default/a is in FailedState: no such slot"]
    assert holds(play, "s") == []


def test_a_job_whose_last_processes_still_end_is_waited_for() -> None:
    play = yard("a").scheduling("s", queue_of("a")).settle()
    play.runs("a").settle()
    play.ends_at_once = False
    play.delete("s").settle().scheduling("t", queue_of("a")).settle()
    assert play.status("t").waits_for == "batch job default/a to be ready: it is in PendingDeletion"
    old = next(iter(play.applications.values()))
    assert old.is_stopped
    old.has_processes = False
    play.settle()
    assert play.status("t").state.word == "ConfirmationState"
    assert play.job_state("a") == "SubmittedState"


# ---- sharing ----


def test_schedulings_on_disjoint_slots_share_a_testbed_that_allows_it() -> None:
    """S1-36."""
    play = Play().labelled(4).testbed(sharing="disjoint").with_jobs(*"abcd")
    play.scheduling("s", slots_of("strict", ("a", [0, 1]))).settle()
    play.scheduling("t", slots_of("relaxed", ("b", [2]), ("c", [3]))).settle()
    assert play.given == [("a", (0, 1)), ("b", (2,)), ("c", (3,))]
    play.scheduling("u", slots_of("strict", ("d", [1, 2]))).settle()
    assert play.status("u").waits_for == "scheduling default/s, which uses slot 1 of testbed default/tb"
    play.delete("s").settle()
    assert play.status("u").waits_for == "scheduling default/t, which uses slot 2 of testbed default/tb"
    play.delete("t").settle()
    assert play.given[-1] == ("d", (1, 2))


def test_who_takes_slots_from_a_queue_shares_with_nobody() -> None:
    play = Play().labelled(4).testbed(sharing="disjoint").with_jobs(*"ab")
    play.scheduling("s", slots_of("strict", ("a", [0]))).settle().scheduling("t", queue_of("b")).settle()
    assert play.status("t").waits_for == "scheduling default/s, which uses testbed default/tb"
    play.delete("s").settle()
    assert play.given[-1][0] == "b"
    play.scheduling("s", slots_of("strict", ("a", [3]))).settle()
    assert play.status("s").waits_for == "scheduling default/t, which uses testbed default/tb"


def test_an_exclusive_testbed_is_not_shared_though_the_slots_are_disjoint() -> None:
    play = yard("a", "b").scheduling("s", slots_of("strict", ("a", [0]))).settle()
    play.scheduling("t", slots_of("strict", ("b", [1]))).settle()
    assert play.status("t").waits_for == "scheduling default/s, which uses testbed default/tb"


def test_who_is_extended_into_the_slots_of_another_waits_and_the_other_goes_on() -> None:
    play = Play().labelled(4).testbed(sharing="disjoint").with_jobs(*"abcd")
    play.scheduling("s", slots_of("strict", ("a", [0]))).settle()
    play.scheduling("t", slots_of("strict", ("b", [1]), ("c", [1]))).settle()
    play.scheduling("s", slots_of("strict", ("a", [0]), ("d", [1]))).settle()
    assert play.status("s").state.word == "AcquireState"
    assert play.status("s").waits_for == "scheduling default/t, which uses slot 1 of testbed default/tb"
    play.runs("a").completes("b").settle()
    assert play.given[-1] == ("c", (1,)), "the other is not disturbed"
    play.completes("c").settle().delete("t").settle()
    assert play.given[-1] == ("d", (1,))


def test_two_testbeds_share_a_node_that_has_room() -> None:
    """S1-36: and a third one, for which there is none, says so and disturbs nobody."""
    play = Play().labelled(1, free={"cpu": 3_000}).with_jobs("a", "b")
    play.testbed("one", size={"cpu": 1_000}).testbed("two", slots_per_node=2, size={"cpu": 1_000}).settle()
    play.testbed("three", size={"cpu": 1}).settle()
    assert play.testbeds[named("three")].status.node_problems == {"n0": ["Requires 1m of cpu resources. Available: 0m"]}
    play.scheduling("s", queue_of("a", testbed="one")).scheduling("t", queue_of("b", "b", testbed="two")).settle()
    assert play.given == [("a", (0,)), ("b", (0, 1))]
