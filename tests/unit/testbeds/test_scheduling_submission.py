"""Schedulings submit in order, are confirmed in time, and fail with the reason, also when their testbed changes."""

from __future__ import annotations

from msgspec.structs import replace

from shunter.model.objects.batch_jobs import BatchJob, BatchJobState, Claim, CreationRequest
from shunter.model.objects.object_meta import ObjectName
from shunter.model.objects.schedulings import JobProgress, JobRecord
from shunter.testbeds.scheduling_reconcile import reconcile_scheduling
from tests.unit.testbeds.memory_cluster import object_name, queue_spec, slots_spec
from tests.unit.testbeds.scheduling_samples import build_cluster, holds, progress

# ---- submission and confirmation ----


def test_the_next_jobs_are_submitted_only_when_those_before_have_started() -> None:
    cluster = build_cluster("a", "b").scheduling("s", queue_spec("a", "b", "b", "b", "b")).settle()
    assert cluster.status("s").state.wire_name == "ConfirmationState"
    assert cluster.status("s").waits_for == "batch job default/a to start"
    cluster.completes("a", has_processes=True).settle()
    assert cluster.status("s").state.wire_name == "SubmissionState"
    assert cluster.status("s").waits_for == "4 free slots of testbed default/tb, for batch job default/b"


def test_who_waits_for_slots_of_a_testbed_in_trouble_says_so() -> None:
    cluster = build_cluster("a").settle()
    name = next(iter(cluster.nodes))
    cluster.nodes[name] = replace(cluster.nodes[name], is_ready=False)
    cluster.scheduling("s", queue_spec(*"aaaa")).settle()
    told = "4 free slots of testbed default/tb, for batch job default/a; nodes of the testbed have problems"
    assert cluster.status("s").waits_for == told
    cluster.nodes[name] = replace(cluster.nodes[name], is_ready=True)
    assert cluster.settle().status("s").waits_for == "batch job default/a to start"


def test_slots_of_a_completed_job_are_not_given_away_while_its_processes_are_there() -> None:
    """S1-11."""
    cluster = build_cluster("1", "2", slots=4).scheduling("s", queue_spec(*"111222")).settle()
    cluster.runs("1").settle()
    cluster.completes("1", has_processes=True).settle()
    assert cluster.job_state("1") == "CompletedState"
    assert cluster.requested == [("1", (0, 1, 2))]
    cluster.fake_application("1").has_processes = False
    cluster.settle()
    assert cluster.requested == [("1", (0, 1, 2)), ("2", (0, 1, 2))]


def test_scheduled_is_enough_once_none_of_its_slots_is_free_any_more() -> None:
    cluster = build_cluster("a", "b", slots=2).scheduling("s", queue_spec("a", "b", "b")).settle()
    cluster.schedules("a").settle()
    assert cluster.job_state("a") == "ScheduledState"
    assert cluster.status("s").state.wire_name == "SubmissionState"


def test_executors_that_never_start_fail_the_scheduling_after_its_time_out() -> None:
    """S1-14: with the reason; its claims are released when it is deleted."""
    cluster = build_cluster("a").scheduling("s", queue_spec("a", timeout_s=30)).settle()
    outcome = reconcile_scheduling(cluster.view_of_scheduling(object_name("s")))
    assert outcome.is_empty
    assert outcome.requeue_at_ms == cluster.now_ms + 30_000
    cluster.now_ms += 29_999
    cluster.settle()
    assert cluster.status("s").state.wire_name == "ConfirmationState"
    cluster.now_ms += 1
    cluster.settle()
    assert cluster.status("s").state.wire_name == "FailedState"
    assert cluster.status("s").problems == [
        "Batch job default/a did not start within 30s: it is in SubmittedState. `shunter why bj.a` explains why."
    ]
    assert holds(cluster, "s") == ["a", "tb"]
    assert reconcile_scheduling(cluster.view_of_scheduling(object_name("s"))).requeue_at_ms is None
    cluster.delete("s").settle()
    assert cluster.job_state("a") == "ReadyState"
    assert cluster.slot_states() == ["FREE"] * 4


def test_each_submission_has_the_whole_time_to_be_confirmed() -> None:
    cluster = build_cluster("a", "b", slots=1).scheduling("s", queue_spec("a", "b", timeout_s=30)).settle()
    cluster.runs("a").settle()
    cluster.now_ms += 100_000
    cluster.completes("a").settle()
    assert cluster.status("s").state.wire_name == "ConfirmationState"
    assert reconcile_scheduling(cluster.view_of_scheduling(object_name("s"))).requeue_at_ms == cluster.now_ms + 30_000


def test_strict_waits_for_the_slots_of_the_first_and_relaxed_goes_past_it() -> None:
    """S1-08."""
    jobs = (("a", [0]), ("b", [0, 1]), ("c", [2]))
    for mode, given in (("strict", ["a"]), ("relaxed", ["a", "c"])):
        cluster = build_cluster("a", "b", "c").scheduling("s", slots_spec(mode, *jobs)).settle()
        assert [name for name, _ in cluster.requested] == given
        cluster.runs(*given).settle()
        assert cluster.status("s").waits_for == "slot 0 of testbed default/tb, for batch job default/b"


def test_a_thousand_entries_on_four_slots_complete_in_order() -> None:
    """S1-09."""
    names = [f"j{number:03d}" for number in range(1_000)]
    cluster = build_cluster(*names).scheduling("s", queue_spec(*names))
    cluster.step_testbed(object_name("tb"))
    cluster.step_scheduling(object_name("s"))
    for name in names:
        cluster.step_job(object_name(name))
    running: list[str] = []
    while cluster.status("s").state.wire_name != "CompletedState":
        cluster.step_scheduling(object_name("s"))
        for name, _ in cluster.requested[len(running) :]:
            cluster.step_job(object_name(name))
            running.append(name)
        for name in running[-4:]:
            cluster.completes(name)
            cluster.step_job(object_name(name))
        cluster.step_testbed(object_name("tb"))
    assert [name for name, _ in cluster.requested] == names


def test_a_look_in_the_midst_of_a_long_queue_asks_only_for_the_jobs_that_run_or_start() -> None:
    """S1-09: neither the part that has completed nor the part that waits is asked for."""
    names = [f"j{number:03d}" for number in range(1_000)]
    cluster = build_cluster(*names).scheduling("s", queue_spec(*names)).settle()
    done, running = names[:500], names[500:504]
    view = cluster.view_of_scheduling(object_name("s"))
    records = [
        JobRecord(JobProgress.COMPLETED, (0,), 7) if name in done else
        JobRecord(JobProgress.SCHEDULED, (0,), 7) if name in running else JobRecord(JobProgress.IN_QUEUE)
        for name in names
    ]  # fmt: skip
    status = replace(view.scheduling.status, jobs=tuple(records))
    asked: list[str] = []

    def job(name: ObjectName) -> BatchJob | None:
        asked.append(name.name)
        request = CreationRequest(object_name("tb"), (0,)) if name.name in running else None
        state = BatchJobState.RUNNING if name.name in running else BatchJobState.IN_QUEUE
        found = cluster.jobs[name]
        return replace(
            found, claim=Claim(object_name("s"), request), status=replace(found.status, state=state, places=())
        )

    looked = replace(view, scheduling=replace(view.scheduling, status=status), job=job)
    reconcile_scheduling(looked)
    assert set(asked) <= {*running, *names[504:508]}
    assert len(asked) < 50


# ---- failure ----


def test_a_failed_job_fails_its_scheduling_which_submits_nothing_further_and_keeps_its_claims() -> None:
    cluster = build_cluster("a", "b", "c", slots=2).scheduling("s", queue_spec("a", "b", "c", "c")).settle()
    cluster.runs("a", "b").settle()
    cluster.fails("a", "executor 0 exited with 3").settle()
    assert cluster.job_state("a") == "FailedSubmissionState"
    assert cluster.status("s").state.wire_name == "FailedState"
    assert cluster.status("s").problems == ["Batch job default/a is in FailedSubmissionState: executor 0 exited with 3"]
    cluster.completes("b").settle()
    assert progress(cluster) == ["Scheduled", "Completed", "InQueue"]
    assert [name for name, _ in cluster.requested] == ["a", "b"]
    assert holds(cluster, "s") == ["a", "b", "c", "tb"]
    cluster.delete("s").settle()
    assert {cluster.job_state(name) for name in "abc"} == {"ReadyState"}
    assert cluster.jobs[object_name("a")].status.events[-1].successful is False


def test_a_failed_scheduling_leaves_the_problems_as_they_were() -> None:
    cluster = build_cluster("a").settle().scheduling("s", queue_spec(*"aaaaa")).settle()
    before = cluster.status("s")
    cluster.now_ms += 1_000
    cluster.settle()
    assert cluster.status("s") is before


# ---- a testbed that changes under it ----


def test_a_queue_that_a_smaller_testbed_can_never_finish_fails_with_the_reason() -> None:
    cluster = build_cluster("a", "b", slots=2).scheduling("s", queue_spec("a", "b", "b")).settle()
    cluster.runs("a").settle()
    del cluster.nodes["n1"]
    cluster.settle().completes("a").settle()
    assert cluster.status("s").state.wire_name == "FailedState"
    assert cluster.status("s").problems == [
        "Batch job default/b has 2 executors, but testbed default/tb has 1 slot: name it at most 1 time, or give the "
        "testbed more slots."
    ]


def test_a_queue_whose_testbed_is_being_deleted_fails_and_what_runs_ends() -> None:
    cluster = build_cluster("a", "b", slots=1).scheduling("s", queue_spec("a", "b")).settle()
    cluster.runs("a").settle().delete("tb").settle()
    assert cluster.status("s").problems == ["Testbed default/tb is being deleted, but batch job default/b has not run."]
    assert cluster.job_state("a") == "RunningState"
    cluster.completes("a").settle().delete("s").settle()
    assert not cluster.testbeds
    assert {cluster.job_state("a"), cluster.job_state("b")} == {"ReadyState"}


def test_a_slot_whose_node_takes_no_work_is_passed_over() -> None:
    cluster = build_cluster("a", "b", slots=3)
    cluster.nodes["n0"] = cluster.nodes["n0"].__class__("n0", "0", cluster.nodes["n0"].free, False, "it is drained")
    cluster.scheduling("s", queue_spec("a", "b")).settle()
    assert cluster.requested == [("a", (1,)), ("b", (2,))]


def test_slots_that_are_numbered_anew_do_not_confuse_what_runs() -> None:
    cluster = build_cluster("a", "b", "c", slots=2).scheduling("s", queue_spec("a", "b", "b")).settle()
    cluster.runs("a").settle()
    assert cluster.jobs[object_name("a")].status.places[0].node == "n0"
    cluster.nodes["n0"] = cluster.nodes["n0"].__class__("n0", "7", cluster.nodes["n0"].free)
    cluster.settle()
    assert cluster.slot_states() == ["FREE", "OCCUPIED"]
    cluster.completes("a").settle()
    assert cluster.requested[-1] == ("b", (0, 1))
    assert [place.node for place in cluster.jobs[object_name("b")].status.places] == ["n1", "n0"]
