"""Schedulings that are extended, cut down and deleted while their jobs wait and run."""

from __future__ import annotations

import pytest

from tests.unit.testbeds.memory_cluster import object_name, queue_spec
from tests.unit.testbeds.scheduling_samples import build_cluster, holds, progress

# ---- extension ----


def test_jobs_that_are_appended_while_it_awaits_completion_run() -> None:
    """S1-18."""
    cluster = build_cluster("a", "b").scheduling("s", queue_spec("a")).settle()
    cluster.runs("a").settle()
    assert cluster.status("s").state.wire_name == "AwaitingCompletionState"
    cluster.scheduling("s", queue_spec("a", "b")).settle()
    assert cluster.requested == [("a", (0,)), ("b", (1,))]
    assert cluster.states("a").count("SubmittedState") == 1, "the first one runs on"
    cluster.completes("a", "b").settle()
    assert cluster.status("s").state.wire_name == "CompletedState"


def test_a_job_may_be_added_at_any_place_and_the_others_keep_their_progress() -> None:
    """S1-18: records follow the jobs, not their places."""
    cluster = build_cluster("a", "b", "c", "d", slots=1).scheduling("s", queue_spec("a", "b", "c")).settle()
    cluster.completes("a").settle()
    assert progress(cluster) == ["Completed", "Submitted", "InQueue"]
    cluster.runs("b").settle()
    cluster.scheduling("s", queue_spec("d", "a", "b", "c")).settle()
    assert progress(cluster) == ["InQueue", "Completed", "Scheduled", "InQueue"]
    for name in "bdc":
        cluster.completes(name).settle()
    assert cluster.status("s").state.wire_name == "CompletedState"
    assert [name for name, _ in cluster.requested] == ["a", "b", "d", "c"]


def test_it_may_be_extended_after_all_had_completed() -> None:
    cluster = build_cluster("a", "b").scheduling("s", queue_spec("a")).settle()
    cluster.completes("a").settle()
    assert cluster.status("s").state.wire_name == "CompletedState"
    cluster.scheduling("s", queue_spec("a", "b")).settle()
    cluster.completes("b").settle()
    assert cluster.status("s").state.wire_name == "CompletedState"
    assert [name for name, _ in cluster.requested] == ["a", "b"]


def test_a_queued_job_that_is_taken_out_is_released_and_a_running_one_ends_first() -> None:
    cluster = build_cluster("a", "b", "c", slots=1).scheduling("s", queue_spec("a", "b", "c")).settle()
    cluster.runs("a").settle()
    cluster.scheduling("s", queue_spec("c")).settle()
    assert cluster.job_state("b") == "ReadyState"
    assert cluster.job_state("a") == "RunningState"
    assert cluster.status("s").leaving == (object_name("a"),)
    assert holds(cluster, "s") == ["a", "c", "tb"]
    cluster.completes("a").settle()
    assert cluster.job_state("a") == "ReadyState"
    assert cluster.status("s").leaving == ()
    cluster.completes("c").settle()
    assert cluster.status("s").state.wire_name == "CompletedState"
    assert holds(cluster, "s") == ["c", "tb"]


def test_it_has_not_completed_before_a_job_that_was_taken_out_has_ended() -> None:
    cluster = build_cluster("a", "b").scheduling("s", queue_spec("a", "b")).settle()
    cluster.completes("b").runs("a").settle()
    cluster.scheduling("s", queue_spec("b")).settle()
    assert cluster.status("s").state.wire_name == "AwaitingCompletionState"
    assert cluster.status("s").waits_for == "batch job default/a to complete"
    cluster.fails("a", "it broke").settle()
    assert cluster.status("s").state.wire_name == "CompletedState", "what it no longer names does not fail it"
    assert cluster.job_state("a") == "ReadyState"


def test_a_running_job_that_is_taken_out_and_put_back_runs_on() -> None:
    cluster = build_cluster("a", "b").scheduling("s", queue_spec("a", "b")).settle()
    cluster.runs("a", "b").settle()
    cluster.scheduling("s", queue_spec("b")).settle()
    cluster.scheduling("s", queue_spec("b", "a")).settle()
    assert progress(cluster) == ["Scheduled", "Scheduled"]
    assert cluster.status("s").leaving == ()
    assert cluster.states("a").count("SubmittedState") == 1


def test_an_extension_by_a_job_of_another_scheduling_waits_and_holds_only_what_is_under_way() -> None:
    """S1-06: so two that extend into each other's jobs name each other, and hold no third one."""
    cluster = (
        build_cluster("a", "b", "x", slots=1)
        .testbed("tb2")
        .scheduling("other", queue_spec("x", testbed="tb2"))
        .settle()
    )
    cluster.scheduling("s", queue_spec("a", "b")).settle().runs("a").settle()
    assert holds(cluster, "s") == ["a", "b", "tb"]
    cluster.scheduling("s", queue_spec("a", "x", "b")).settle()
    assert cluster.status("s").state.wire_name == "AcquireState"
    assert cluster.status("s").waits_for == "scheduling default/other, which uses batch job default/x"
    assert holds(cluster, "s") == ["a", "tb"]
    assert cluster.job_state("a") == "RunningState"
    cluster.delete("other").completes("a").settle()
    assert [name for name, _ in cluster.requested] == ["x", "a", "x"]


def test_more_executors_for_a_job_that_was_submitted_change_nothing() -> None:
    cluster = build_cluster("a", "b").scheduling("s", queue_spec("a", "b")).settle()
    cluster.runs("a", "b").settle()
    cluster.scheduling("s", queue_spec("a", "b", "a", "a")).settle()
    assert cluster.requested == [("a", (0,)), ("b", (1,))]
    assert cluster.status("s").state.wire_name == "AwaitingCompletionState"


# ---- deletion ----


@pytest.mark.parametrize("when", ["acquire", "confirmation", "running", "completed", "failed"])
def test_deletion_releases_everything_whatever_it_was_doing(when: str) -> None:
    """S1-17: a job is ready only when all its processes are gone."""
    cluster = build_cluster("a", "b")
    if when == "acquire":
        cluster.scheduling("before", queue_spec("a")).settle()
    cluster.scheduling("s", queue_spec("a", "b")).settle()
    if when in ("running", "completed", "failed"):
        cluster.runs("a", "b").settle()
    if when == "completed":
        cluster.completes("a", "b").settle()
    if when == "failed":
        cluster.fails("a", "it broke", has_processes=True).settle()
    cluster.ends_at_once = False
    cluster.delete("s").settle()
    assert object_name("s") not in cluster.schedulings
    assert holds(cluster, "s") == []
    if when in ("confirmation", "running"):
        assert cluster.job_state("a") == cluster.job_state("b") == "PendingDeletion"
    for fake_application in cluster.applications.values():
        fake_application.has_processes = fake_application.has_processes and when == "acquire"
    cluster.settle()
    if when != "acquire":
        assert cluster.job_state("a") == cluster.job_state("b") == "ReadyState"
        assert cluster.slot_states() == ["FREE"] * 4
