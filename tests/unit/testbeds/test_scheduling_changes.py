"""Schedulings that are extended, cut down and deleted while their jobs wait and run."""

from __future__ import annotations

import pytest

from tests.unit.testbeds.memory_cluster import named, queue_of
from tests.unit.testbeds.scheduling_samples import holds, progress, yard

# ---- extension ----


def test_jobs_that_are_appended_while_it_awaits_completion_run() -> None:
    """S1-18."""
    play = yard("a", "b").scheduling("s", queue_of("a")).settle()
    play.runs("a").settle()
    assert play.status("s").state.word == "AwaitingCompletionState"
    play.scheduling("s", queue_of("a", "b")).settle()
    assert play.given == [("a", (0,)), ("b", (1,))]
    assert play.states("a").count("SubmittedState") == 1, "the first one runs on"
    play.completes("a", "b").settle()
    assert play.status("s").state.word == "CompletedState"


def test_a_job_may_be_added_at_any_place_and_the_others_keep_their_progress() -> None:
    """S1-18: records follow the jobs, not their places."""
    play = yard("a", "b", "c", "d", slots=1).scheduling("s", queue_of("a", "b", "c")).settle()
    play.completes("a").settle()
    assert progress(play) == ["Completed", "Submitted", "InQueue"]
    play.runs("b").settle()
    play.scheduling("s", queue_of("d", "a", "b", "c")).settle()
    assert progress(play) == ["InQueue", "Completed", "Scheduled", "InQueue"]
    for name in "bdc":
        play.completes(name).settle()
    assert play.status("s").state.word == "CompletedState"
    assert [name for name, _ in play.given] == ["a", "b", "d", "c"]


def test_it_may_be_extended_after_all_had_completed() -> None:
    play = yard("a", "b").scheduling("s", queue_of("a")).settle()
    play.completes("a").settle()
    assert play.status("s").state.word == "CompletedState"
    play.scheduling("s", queue_of("a", "b")).settle()
    play.completes("b").settle()
    assert play.status("s").state.word == "CompletedState"
    assert [name for name, _ in play.given] == ["a", "b"]


def test_a_queued_job_that_is_taken_out_is_released_and_a_running_one_ends_first() -> None:
    play = yard("a", "b", "c", slots=1).scheduling("s", queue_of("a", "b", "c")).settle()
    play.runs("a").settle()
    play.scheduling("s", queue_of("c")).settle()
    assert play.job_state("b") == "ReadyState"
    assert play.job_state("a") == "RunningState"
    assert play.status("s").leaving == (named("a"),)
    assert holds(play, "s") == ["a", "c", "tb"]
    play.completes("a").settle()
    assert play.job_state("a") == "ReadyState"
    assert play.status("s").leaving == ()
    play.completes("c").settle()
    assert play.status("s").state.word == "CompletedState"
    assert holds(play, "s") == ["c", "tb"]


def test_it_has_not_completed_before_a_job_that_was_taken_out_has_ended() -> None:
    play = yard("a", "b").scheduling("s", queue_of("a", "b")).settle()
    play.completes("b").runs("a").settle()
    play.scheduling("s", queue_of("b")).settle()
    assert play.status("s").state.word == "AwaitingCompletionState"
    assert play.status("s").waits_for == "batch job default/a to complete"
    play.fails("a", "it broke").settle()
    assert play.status("s").state.word == "CompletedState", "what it no longer names does not fail it"
    assert play.job_state("a") == "ReadyState"


def test_a_running_job_that_is_taken_out_and_put_back_runs_on() -> None:
    play = yard("a", "b").scheduling("s", queue_of("a", "b")).settle()
    play.runs("a", "b").settle()
    play.scheduling("s", queue_of("b")).settle()
    play.scheduling("s", queue_of("b", "a")).settle()
    assert progress(play) == ["Scheduled", "Scheduled"]
    assert play.status("s").leaving == ()
    assert play.states("a").count("SubmittedState") == 1


def test_an_extension_by_a_job_of_another_scheduling_waits_and_holds_only_what_is_under_way() -> None:
    """S1-06: so two that extend into each other's jobs name each other, and hold no third one."""
    play = yard("a", "b", "x", slots=1).testbed("tb2").scheduling("other", queue_of("x", testbed="tb2")).settle()
    play.scheduling("s", queue_of("a", "b")).settle().runs("a").settle()
    assert holds(play, "s") == ["a", "b", "tb"]
    play.scheduling("s", queue_of("a", "x", "b")).settle()
    assert play.status("s").state.word == "AcquireState"
    assert play.status("s").waits_for == "scheduling default/other, which uses batch job default/x"
    assert holds(play, "s") == ["a", "tb"]
    assert play.job_state("a") == "RunningState"
    play.delete("other").completes("a").settle()
    assert [name for name, _ in play.given] == ["x", "a", "x"]


def test_more_executors_for_a_job_that_was_submitted_change_nothing() -> None:
    play = yard("a", "b").scheduling("s", queue_of("a", "b")).settle()
    play.runs("a", "b").settle()
    play.scheduling("s", queue_of("a", "b", "a", "a")).settle()
    assert play.given == [("a", (0,)), ("b", (1,))]
    assert play.status("s").state.word == "AwaitingCompletionState"


# ---- deletion ----


@pytest.mark.parametrize("when", ["acquire", "confirmation", "running", "completed", "failed"])
def test_deletion_releases_everything_whatever_it_was_doing(when: str) -> None:
    """S1-17: a job is ready only when all its processes are gone."""
    play = yard("a", "b")
    if when == "acquire":
        play.scheduling("before", queue_of("a")).settle()
    play.scheduling("s", queue_of("a", "b")).settle()
    if when in ("running", "completed", "failed"):
        play.runs("a", "b").settle()
    if when == "completed":
        play.completes("a", "b").settle()
    if when == "failed":
        play.fails("a", "it broke", has_processes=True).settle()
    play.ends_at_once = False
    play.delete("s").settle()
    assert named("s") not in play.schedulings
    assert holds(play, "s") == []
    if when in ("confirmation", "running"):
        assert play.job_state("a") == play.job_state("b") == "PendingDeletion"
    for script in play.applications.values():
        script.has_processes = script.has_processes and when == "acquire"
    play.settle()
    if when != "acquire":
        assert play.job_state("a") == play.job_state("b") == "ReadyState"
        assert play.slot_states() == ["FREE"] * 4
