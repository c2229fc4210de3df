"""Schedulings submit in order, are confirmed in time, and fail with the reason, also when their testbed changes."""

from __future__ import annotations

from msgspec.structs import replace

from shunter.model.objects.batch_jobs import BatchJob, BatchJobState, Claim, CreationRequest
from shunter.model.objects.object_meta import ObjectName
from shunter.model.objects.schedulings import JobProgress, JobRecord
from shunter.testbeds.scheduling_reconcile import reconcile_scheduling
from tests.unit.testbeds.memory_cluster import named, queue_of, slots_of
from tests.unit.testbeds.scheduling_samples import holds, progress, yard

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
