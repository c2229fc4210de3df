"""Schedulings: claims all at once or none, submission in order, confirmation in time, failure, extension, deletion."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from shunter.model.batch_jobs import BatchJob, BatchJobState, Claim, CreationRequest
from shunter.model.object_meta import ObjectName
from shunter.model.schedulings import JobProgress, JobRecord, SchedulingSpec
from shunter.testbeds.scheduling_reconcile import reconcile_scheduling
from tests.unit.testbeds.play import Play, named, queue_of, slots_of


def yard(*jobs: str, slots: int = 4) -> Play:
    return Play().labelled(slots).testbed().with_jobs(*jobs)


def progress(play: Play, name: str = "s") -> list[str]:
    return [record.progress.word for record in play.status(name).jobs]


def holds(play: Play, name: str) -> list[str]:
    """Everything that a Scheduling has claimed."""
    jobs = [job.meta.name for job in play.jobs.values() if job.claim and job.claim.scheduling.name == name]
    beds = [bed.meta.name for bed in play.testbeds.values() if named(name) in bed.status.claims]
    return [*jobs, *beds]


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


# ---- submission and confirmation ----


def test_the_next_jobs_are_submitted_only_when_those_before_have_started() -> None:
    play = yard("a", "b").scheduling("s", queue_of("a", "b", "b", "b", "b")).settle()
    assert play.status("s").state.word == "ConfirmationState"
    assert play.status("s").waits_for == "batch job default/a to start"
    play.completes("a", has_processes=True).settle()
    assert play.status("s").state.word == "SubmissionState"
    assert play.status("s").waits_for == "4 free slots of testbed default/tb, for batch job default/b"


def test_who_waits_for_slots_of_a_testbed_in_trouble_says_so() -> None:
    play = yard("a").settle()
    name = next(iter(play.nodes))
    play.nodes[name] = replace(play.nodes[name], is_ready=False)
    play.scheduling("s", queue_of(*"aaaa")).settle()
    told = "4 free slots of testbed default/tb, for batch job default/a; nodes of the testbed have problems"
    assert play.status("s").waits_for == told
    play.nodes[name] = replace(play.nodes[name], is_ready=True)
    assert play.settle().status("s").waits_for == "batch job default/a to start"


def test_slots_of_a_completed_job_are_not_given_away_while_its_processes_are_there() -> None:
    """S1-11."""
    play = yard("1", "2", slots=4).scheduling("s", queue_of(*"111222")).settle()
    play.runs("1").settle()
    play.completes("1", has_processes=True).settle()
    assert play.job_state("1") == "CompletedState"
    assert play.given == [("1", (0, 1, 2))]
    play.script("1").has_processes = False
    play.settle()
    assert play.given == [("1", (0, 1, 2)), ("2", (0, 1, 2))]


def test_scheduled_is_enough_once_none_of_its_slots_is_free_any_more() -> None:
    play = yard("a", "b", slots=2).scheduling("s", queue_of("a", "b", "b")).settle()
    play.schedules("a").settle()
    assert play.job_state("a") == "ScheduledState"
    assert play.status("s").state.word == "SubmissionState"


def test_executors_that_never_start_fail_the_scheduling_after_its_time_out() -> None:
    """S1-14: with the reason; its claims are released when it is deleted."""
    play = yard("a").scheduling("s", queue_of("a", timeout_s=30)).settle()
    outcome = reconcile_scheduling(play.view_of_scheduling(named("s")))
    assert outcome.is_empty
    assert outcome.look_again_ms == play.now_ms + 30_000
    play.now_ms += 29_999
    play.settle()
    assert play.status("s").state.word == "ConfirmationState"
    play.now_ms += 1
    play.settle()
    assert play.status("s").state.word == "FailedState"
    assert play.status("s").problems == [
        "Batch job default/a did not start within 30s: it is in SubmittedState. `shunter why bj.a` tells what it waits "
        "for."
    ]
    assert holds(play, "s") == ["a", "tb"]
    assert reconcile_scheduling(play.view_of_scheduling(named("s"))).look_again_ms is None
    play.delete("s").settle()
    assert play.job_state("a") == "ReadyState"
    assert play.slot_states() == ["FREE"] * 4


def test_each_submission_has_the_whole_time_to_be_confirmed() -> None:
    play = yard("a", "b", slots=1).scheduling("s", queue_of("a", "b", timeout_s=30)).settle()
    play.runs("a").settle()
    play.now_ms += 100_000
    play.completes("a").settle()
    assert play.status("s").state.word == "ConfirmationState"
    assert reconcile_scheduling(play.view_of_scheduling(named("s"))).look_again_ms == play.now_ms + 30_000


def test_strict_waits_for_the_slots_of_the_first_and_relaxed_goes_past_it() -> None:
    """S1-08."""
    jobs = (("a", [0]), ("b", [0, 1]), ("c", [2]))
    for mode, given in (("strict", ["a"]), ("relaxed", ["a", "c"])):
        play = yard("a", "b", "c").scheduling("s", slots_of(mode, *jobs)).settle()
        assert [name for name, _ in play.given] == given
        play.runs(*given).settle()
        assert play.status("s").waits_for == "slot 0 of testbed default/tb, for batch job default/b"


def test_a_thousand_entries_on_four_slots_complete_in_order() -> None:
    """S1-09."""
    names = [f"j{number:03d}" for number in range(1_000)]
    play = yard(*names).scheduling("s", queue_of(*names))
    play.look_at_testbed(named("tb"))
    play.look_at_scheduling(named("s"))
    for name in names:
        play.look_at_job(named(name))
    running: list[str] = []
    while play.status("s").state.word != "CompletedState":
        play.look_at_scheduling(named("s"))
        for name, _ in play.given[len(running) :]:
            play.look_at_job(named(name))
            running.append(name)
        for name in running[-4:]:
            play.completes(name)
            play.look_at_job(named(name))
        play.look_at_testbed(named("tb"))
    assert [name for name, _ in play.given] == names


def test_a_look_in_the_midst_of_a_long_queue_asks_only_for_the_jobs_that_run_or_start() -> None:
    """S1-09: neither the part that has completed nor the part that waits is asked for."""
    names = [f"j{number:03d}" for number in range(1_000)]
    play = yard(*names).scheduling("s", queue_of(*names)).settle()
    done, running = names[:500], names[500:504]
    view = play.view_of_scheduling(named("s"))
    records = [
        JobRecord(JobProgress.COMPLETED, (0,), 7) if name in done else
        JobRecord(JobProgress.SCHEDULED, (0,), 7) if name in running else JobRecord(JobProgress.IN_QUEUE)
        for name in names
    ]  # fmt: skip
    status = replace(view.scheduling.status, jobs=tuple(records))
    asked: list[str] = []

    def job(name: ObjectName) -> BatchJob | None:
        asked.append(name.name)
        request = CreationRequest(named("tb"), (0,)) if name.name in running else None
        state = BatchJobState.RUNNING if name.name in running else BatchJobState.IN_QUEUE
        found = play.jobs[name]
        return replace(found, claim=Claim(named("s"), request), status=replace(found.status, state=state, places=()))

    looked = replace(view, scheduling=replace(view.scheduling, status=status), job=job)
    reconcile_scheduling(looked)
    assert set(asked) <= {*running, *names[504:508]}
    assert len(asked) < 50


# ---- failure ----


def test_a_failed_job_fails_its_scheduling_which_submits_nothing_further_and_keeps_its_claims() -> None:
    play = yard("a", "b", "c", slots=2).scheduling("s", queue_of("a", "b", "c", "c")).settle()
    play.runs("a", "b").settle()
    play.fails("a", "executor 0 exited with 3").settle()
    assert play.job_state("a") == "FailedSubmissionState"
    assert play.status("s").state.word == "FailedState"
    assert play.status("s").problems == ["Batch job default/a is in FailedSubmissionState: executor 0 exited with 3"]
    play.completes("b").settle()
    assert progress(play) == ["Scheduled", "Completed", "InQueue"]
    assert [name for name, _ in play.given] == ["a", "b"]
    assert holds(play, "s") == ["a", "b", "c", "tb"]
    play.delete("s").settle()
    assert {play.job_state(name) for name in "abc"} == {"ReadyState"}
    assert play.jobs[named("a")].status.events[-1].successful is False


def test_a_failed_scheduling_leaves_the_problems_as_they_were() -> None:
    play = yard("a").settle().scheduling("s", queue_of(*"aaaaa")).settle()
    before = play.status("s")
    play.now_ms += 1_000
    play.settle()
    assert play.status("s") is before


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


# ---- a testbed that changes under it ----


def test_a_queue_that_a_smaller_testbed_can_never_finish_fails_with_the_reason() -> None:
    play = yard("a", "b", slots=2).scheduling("s", queue_of("a", "b", "b")).settle()
    play.runs("a").settle()
    del play.nodes["n1"]
    play.settle().completes("a").settle()
    assert play.status("s").state.word == "FailedState"
    assert play.status("s").problems == [
        "Batch job default/b has 2 executors, but testbed default/tb has 1 slot: name it at most 1 time, or give the "
        "testbed more slots."
    ]


def test_a_queue_whose_testbed_is_being_deleted_fails_and_what_runs_ends() -> None:
    play = yard("a", "b", slots=1).scheduling("s", queue_of("a", "b")).settle()
    play.runs("a").settle().delete("tb").settle()
    assert play.status("s").problems == ["Testbed default/tb is being deleted before batch job default/b has run."]
    assert play.job_state("a") == "RunningState"
    play.completes("a").settle().delete("s").settle()
    assert not play.testbeds
    assert {play.job_state("a"), play.job_state("b")} == {"ReadyState"}


def test_a_slot_whose_node_takes_no_work_is_passed_over() -> None:
    play = yard("a", "b", slots=3)
    play.nodes["n0"] = play.nodes["n0"].__class__("n0", "0", play.nodes["n0"].free, False, "it is drained")
    play.scheduling("s", queue_of("a", "b")).settle()
    assert play.given == [("a", (1,)), ("b", (2,))]


def test_slots_that_are_numbered_anew_do_not_confuse_what_runs() -> None:
    play = yard("a", "b", "c", slots=2).scheduling("s", queue_of("a", "b", "b")).settle()
    play.runs("a").settle()
    assert play.jobs[named("a")].status.places[0].node == "n0"
    play.nodes["n0"] = play.nodes["n0"].__class__("n0", "7", play.nodes["n0"].free)
    play.settle()
    assert play.slot_states() == ["FREE", "OCCUPIED"]
    play.completes("a").settle()
    assert play.given[-1] == ("b", (0, 1))
    assert [place.node for place in play.jobs[named("b")].status.places] == ["n1", "n0"]
