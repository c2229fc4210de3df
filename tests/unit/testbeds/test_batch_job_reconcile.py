"""Batch jobs: what each state does when its claim, its request or its application changes."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from shunter.model.errors import InvalidMove
from shunter.model.objects.batch_jobs import (
    RESTART,
    SCHEDULED_EVENTS_MAX,
    BatchJob,
    BatchJobSpec,
    BatchJobState,
    BatchJobStatus,
    Claim,
    CreationRequest,
    ScheduledEvent,
)
from shunter.model.objects.object_meta import Meta
from shunter.model.objects.schedulings import Scheduling, SchedulingState, SchedulingStatus
from shunter.model.objects.testbeds import SlotHolder, SlotState, Testbed
from shunter.testbeds.batch_job_reconcile import reconcile_batch_job, reset
from shunter.testbeds.view import Application, ApplicationState, BatchJobOutcome, BatchJobView
from tests.unit.testbeds.memory_cluster import SLOT_SIZE, MemoryCluster, object_name, queue_spec

NOW = 50_000
ME, OTHER, TB = object_name("s"), object_name("other"), object_name("tb")
REQUEST = CreationRequest(TB, (1, 3))
TESTBED: Testbed = MemoryCluster().with_nodes(4).testbed().settle().testbeds[TB]
PLACES = tuple(TESTBED.status.slots[number].place for number in (1, 3))
B, A = BatchJobState, ApplicationState
ACTIVE_STATES = (B.SUBMITTED, B.SCHEDULED, B.RUNNING)


def scheduling(state: SchedulingState = SchedulingState.SUBMISSION) -> Scheduling:
    return Scheduling(Meta(9, "default", "s", 1, "ann"), queue_spec("a", "a"), SchedulingStatus(state))


def batch_job(state: BatchJobState, claim: Claim | None = None, **fields: Any) -> BatchJob:
    """As it is in that state."""
    known: dict[str, Any] = {}
    if state in (*ACTIVE_STATES, B.COMPLETED, B.PENDING_DELETION, B.FAILED_SUBMISSION):
        known = {"testbed": TB, "slot_ids": (1, 3), "places": PLACES, "application": 7}
    if state not in (B.READY, B.PENDING_DELETION):
        known["active_scheduling"] = ME
    if state in (B.RUNNING, B.COMPLETED):
        over = state is B.COMPLETED
        known["events"] = (ScheduledEvent(40_000, ME, TB, (1, 3), 7, 45_000 * over, True if over else None),)
        known["runs"] = 1
    status = BatchJobStatus(state, observed_generation=1, since_ms=40_000, **(known | fields))
    return BatchJob(Meta(1, "default", "a", 1, "ann"), BatchJobSpec(command={}), claim, status)


def application(state: ApplicationState, has_processes: bool = True, reason: str = "") -> Application:
    return Application(7, state, has_processes, 42_000 if state >= A.RUNNING else 0, reason=reason)


def view(job: BatchJob, application: Application | None = None, **fields: Any) -> BatchJobView:
    known: dict[str, Any] = {"scheduling": scheduling(), "testbed": TESTBED, "now_ms": NOW}
    return BatchJobView(job=job, application=application, **(known | fields))


def states(outcome: BatchJobOutcome) -> list[BatchJobState]:
    return [status.state for status in outcome.statuses]


def after(view: BatchJobView, outcome: BatchJobOutcome) -> BatchJobView:
    """As the engine leaves it when the answer is carried out."""
    job, application = view.job, view.application
    for status in outcome.statuses:
        is_new = outcome.start is not None and status.slot_ids and not status.application
        job = replace(job, status=replace(status, application=8) if is_new else status)
    if outcome.start is not None:
        application = Application(8, A.SUBMITTED, True)
    return BatchJobView(job, view.scheduling, view.testbed, application, view.now_ms)


MINE, ASKED = Claim(ME), Claim(ME, REQUEST)


# ---- claims ----


def test_a_claim_takes_a_ready_job_into_the_queue() -> None:
    outcome = reconcile_batch_job(view(batch_job(B.READY, MINE)))
    assert states(outcome) == [B.IN_QUEUE]
    assert outcome.statuses[0].active_scheduling == ME
    assert outcome.statuses[0].since_ms == NOW


def test_an_unclaimed_job_stays_ready() -> None:
    assert reconcile_batch_job(view(batch_job(B.READY))).is_empty


@pytest.mark.parametrize("scheduling", [None, scheduling(SchedulingState.FAILED)], ids=["no more", "failed"])
def test_the_claim_of_a_scheduling_that_is_no_more_or_has_failed_takes_nobody_with_it(
    scheduling: Scheduling | None,
) -> None:
    assert reconcile_batch_job(view(batch_job(B.READY, MINE), scheduling=scheduling)).is_empty


@pytest.mark.parametrize("state", [B.IN_QUEUE, *ACTIVE_STATES, B.COMPLETED])
@pytest.mark.parametrize("how", ["let go", "taken", "no more"])
def test_a_released_job_ends_its_application_and_waits_for_its_last_process(state: BatchJobState, how: str) -> None:
    """S1-17."""
    claim = {"let go": None, "taken": Claim(OTHER), "no more": MINE}[how]
    running = None if state is B.IN_QUEUE else application(A.COMPLETED if state is B.COMPLETED else A.RUNNING)
    claimant = None if how == "no more" else scheduling()
    outcome = reconcile_batch_job(view(batch_job(state, claim), running, scheduling=claimant))
    assert states(outcome)[0] is B.PENDING_DELETION
    assert outcome.statuses[0].active_scheduling is None
    if state is B.IN_QUEUE:
        assert states(outcome)[1] is B.READY, "there is nothing to wait for"
    else:
        assert outcome.stop
        assert outcome.statuses[-1].places == PLACES, "its slots are its own until its processes are gone"


def test_a_job_that_completed_and_has_no_process_is_ready_at_once_when_it_is_released() -> None:
    outcome = reconcile_batch_job(view(batch_job(B.COMPLETED), application(A.COMPLETED, has_processes=False)))
    assert states(outcome) == [B.PENDING_DELETION, B.READY]
    assert not outcome.stop
    last = outcome.statuses[-1]
    assert (last.testbed, last.slot_ids, last.places, last.application) == (None, (), (), 0)
    assert last.events[-1].successful is True


def test_a_run_that_is_cut_off_by_its_release_was_not_successful() -> None:
    outcome = reconcile_batch_job(view(batch_job(B.RUNNING), application(A.RUNNING)))
    event = outcome.statuses[0].events[-1]
    assert (event.start_ms, event.stop_ms, event.successful) == (40_000, NOW, False)


def test_deletion_is_pending_until_the_last_process_is_gone() -> None:
    """S1-17."""
    job = batch_job(B.PENDING_DELETION)
    assert reconcile_batch_job(view(job, application(A.RUNNING))).is_empty
    assert reconcile_batch_job(view(job, application(A.FAILED, has_processes=True))).is_empty
    for gone in (None, application(A.FAILED, has_processes=False)):
        assert states(reconcile_batch_job(view(job, gone))) == [B.READY]


def test_a_job_that_another_scheduling_took_is_queued_for_that_when_it_is_ready() -> None:
    claimant = replace(scheduling(), meta=Meta(10, "default", "other", 1, "ann"))
    outcome = reconcile_batch_job(view(batch_job(B.IN_QUEUE, Claim(OTHER)), scheduling=claimant))
    assert states(outcome) == [B.PENDING_DELETION, B.READY, B.IN_QUEUE]
    assert outcome.statuses[-1].active_scheduling == OTHER


# ---- requests ----


def test_a_request_starts_one_executor_in_each_slot() -> None:
    outcome = reconcile_batch_job(view(batch_job(B.IN_QUEUE, ASKED)))
    assert states(outcome) == [B.SUBMITTED]
    assert outcome.start is not None
    assert (outcome.start.request, outcome.start.places) == (REQUEST, PLACES)
    assert outcome.start.size == SLOT_SIZE
    status = outcome.statuses[0]
    assert (status.testbed, status.slot_ids, status.replication, status.places) == (TB, (1, 3), 2, PLACES)


def test_claim_and_request_that_come_together_are_both_followed() -> None:
    assert states(reconcile_batch_job(view(batch_job(B.READY, ASKED)))) == [B.IN_QUEUE, B.SUBMITTED]


def testbed_with_slot(state: SlotState, **fields: Any) -> Testbed:
    slots = list(TESTBED.status.slots)
    slots[3] = replace(slots[3], state=state, **fields)
    return replace(TESTBED, status=replace(TESTBED.status, slots=tuple(slots)))


@pytest.mark.parametrize(
    ("testbed", "request_", "words"),
    [
        (None, REQUEST, "Testbed default/tb does not exist."),
        (TESTBED, CreationRequest(TB, (1, 4, 9)), "Testbed default/tb has no slot 4, 9: it has 4 slots."),
        (TESTBED, CreationRequest(TB, ()), "The request names no slot of testbed default/tb."),
        (
            testbed_with_slot(SlotState.OCCUPIED, holder=SlotHolder(object_name("b"), 0, OTHER)),
            REQUEST,
            "Slot 3 of testbed default/tb is OCCUPIED by batch job default/b.",
        ),
        (testbed_with_slot(SlotState.ERROR), REQUEST, "Slot 3 of testbed default/tb is ERROR."),
        (
            testbed_with_slot(SlotState.FREE, is_leaving=True),
            REQUEST,
            "Slot 3 of testbed default/tb is FREE, and is being removed.",
        ),
    ],
)
def test_a_request_that_cannot_be_fulfilled_fails_the_job_with_the_reason(
    testbed: Testbed | None, request_: CreationRequest, words: str
) -> None:
    outcome = reconcile_batch_job(view(batch_job(B.IN_QUEUE, Claim(ME, request_)), testbed=testbed))
    assert states(outcome) == [B.FAILED]
    assert outcome.statuses[0].problems == [words]
    assert outcome.start is None


# ---- its application ----


@pytest.mark.parametrize(
    ("state", "seen", "through"),
    [
        (B.SUBMITTED, A.SUBMITTED, []),
        (B.SUBMITTED, A.SCHEDULED, [B.SCHEDULED]),
        (B.SUBMITTED, A.RUNNING, [B.SCHEDULED, B.RUNNING]),
        (B.SUBMITTED, A.COMPLETED, [B.COMPLETED]),
        (B.SUBMITTED, A.FAILED, [B.FAILED_SUBMISSION]),
        (B.SCHEDULED, A.SUBMITTED, []),
        (B.SCHEDULED, A.SCHEDULED, []),
        (B.SCHEDULED, A.RUNNING, [B.RUNNING]),
        (B.SCHEDULED, A.COMPLETED, [B.COMPLETED]),
        (B.SCHEDULED, A.FAILED, [B.FAILED_SUBMISSION]),
        (B.RUNNING, A.SUBMITTED, []),
        (B.RUNNING, A.SCHEDULED, []),
        (B.RUNNING, A.RUNNING, []),
        (B.RUNNING, A.COMPLETED, [B.COMPLETED]),
        (B.RUNNING, A.FAILED, [B.FAILED_SUBMISSION]),
        (B.COMPLETED, A.COMPLETED, []),
        (B.COMPLETED, A.FAILED, []),
    ],
)
def test_every_state_against_every_state_of_the_application(
    state: BatchJobState, seen: ApplicationState, through: list[BatchJobState]
) -> None:
    """S0-24: states may be skipped."""
    assert states(reconcile_batch_job(view(batch_job(state, ASKED), application(seen)))) == through


def test_a_run_is_remembered_with_when_where_and_by_whom() -> None:
    outcome = reconcile_batch_job(view(batch_job(B.SCHEDULED, ASKED), application(A.RUNNING)))
    assert outcome.statuses[0].events == (ScheduledEvent(42_000, ME, TB, (1, 3), 7),)
    assert outcome.statuses[0].runs == 1


@pytest.mark.parametrize("state", [B.SUBMITTED, B.SCHEDULED])
def test_a_run_that_was_over_before_its_start_was_seen_is_remembered_too(state: BatchJobState) -> None:
    outcome = reconcile_batch_job(view(batch_job(state, ASKED), application(A.COMPLETED)))
    assert outcome.statuses[-1].events == (ScheduledEvent(42_000, ME, TB, (1, 3), 7, NOW, True),)
    assert outcome.statuses[-1].runs == 1


@pytest.mark.parametrize("state", ACTIVE_STATES)
def test_a_failed_application_fails_the_job_with_its_reason_and_ends_what_is_left_of_it(state: BatchJobState) -> None:
    """Once, because the stop is asked for with the move."""
    broken = application(A.FAILED, reason="executor 1 exited with 3")
    outcome = reconcile_batch_job(view(batch_job(state, ASKED), broken))
    assert outcome.statuses[-1].problems == ["executor 1 exited with 3"]
    assert outcome.statuses[-1].events[-1].successful is False
    assert outcome.stop
    over = application(A.FAILED, has_processes=False)
    assert not reconcile_batch_job(view(batch_job(state, ASKED), over)).stop


def test_only_the_last_runs_are_remembered_and_all_are_counted() -> None:
    past = tuple(ScheduledEvent(n, ME, TB, (0,), n, n + 1, True) for n in range(1, SCHEDULED_EVENTS_MAX + 1))
    job = batch_job(B.SCHEDULED, ASKED, events=past, runs=500)
    status = reconcile_batch_job(view(job, application(A.RUNNING))).statuses[-1]
    assert len(status.events) == SCHEDULED_EVENTS_MAX
    assert status.events[:-1] == past[1:]
    assert status.runs == 501


@pytest.mark.parametrize("state", ACTIVE_STATES)
def test_an_application_that_vanished_starts_anew_while_its_claim_stands(state: BatchJobState) -> None:
    """S0-24: vanished application."""
    outcome = reconcile_batch_job(view(batch_job(state, ASKED), None))
    assert states(outcome) == [B.READY, B.IN_QUEUE, B.SUBMITTED]
    assert outcome.start is not None
    assert all(event.successful is False for event in outcome.statuses[-1].events)


def test_an_application_that_vanished_while_its_slots_are_still_its_own_gets_them_again() -> None:
    held = testbed_with_slot(SlotState.OCCUPIED, holder=SlotHolder(object_name("a"), 1, ME))
    outcome = reconcile_batch_job(view(batch_job(B.RUNNING, ASKED), None, testbed=held))
    assert states(outcome)[-1] is B.SUBMITTED


def test_one_that_completed_does_not_run_again_because_its_application_is_forgotten() -> None:
    assert reconcile_batch_job(view(batch_job(B.COMPLETED, ASKED), None)).is_empty


def test_an_application_that_was_not_numbered_yet_has_not_vanished() -> None:
    assert reconcile_batch_job(view(batch_job(B.SUBMITTED, ASKED, application=0), None)).is_empty


# ---- failures ----


def test_a_failed_submission_is_ready_again_when_it_is_released_and_nothing_is_left_of_it() -> None:
    over, ending = application(A.FAILED, has_processes=False), application(A.FAILED)
    assert reconcile_batch_job(view(batch_job(B.FAILED_SUBMISSION, ASKED), over)).is_empty, "it is not released"
    outcome = reconcile_batch_job(view(batch_job(B.FAILED_SUBMISSION), ending))
    assert states(outcome) == [B.FAILED_SUBMISSION]
    assert outcome.statuses[0].active_scheduling is None
    assert outcome.statuses[0].places == PLACES
    outcome = reconcile_batch_job(view(batch_job(B.FAILED_SUBMISSION, problems=["out of memory"]), over))
    assert states(outcome) == [B.READY]
    assert outcome.statuses[0].problems == []
    assert outcome.statuses[0].places == ()


def test_a_failed_job_stays_failed_until_it_is_reset() -> None:
    assert reconcile_batch_job(view(batch_job(B.FAILED, ASKED, problems=["no slot"]))).is_empty
    outcome = reconcile_batch_job(view(batch_job(B.FAILED, problems=["no slot"])))
    assert states(outcome) == [B.FAILED]
    assert outcome.statuses[0].active_scheduling is None
    assert outcome.statuses[0].problems == ["no slot"]
    status = reset(batch_job(B.FAILED, problems=["no slot"]), NOW)
    assert (status.state, status.problems, status.active_scheduling, status.since_ms) == (B.READY, [], None, NOW)


@pytest.mark.parametrize("state", [state for state in B if state is not B.FAILED])
def test_only_a_failed_job_can_be_reset(state: BatchJobState) -> None:
    with pytest.raises(InvalidMove):
        reset(batch_job(state), NOW)


def test_a_changed_spec_is_noted_as_seen_without_any_move() -> None:
    job = batch_job(B.RUNNING, ASKED)
    job = replace(job, meta=replace(job.meta, generation=4))
    outcome = reconcile_batch_job(view(job, application(A.RUNNING)))
    assert states(outcome) == [B.RUNNING]
    assert outcome.statuses[0].observed_generation == 4


# ---- lost nodes ----


@pytest.mark.parametrize("state", ACTIVE_STATES)
def test_a_run_that_lost_a_node_fails_with_the_reason(state: BatchJobState) -> None:
    lost = application(A.LOST, reason="node n1 is down")
    outcome = reconcile_batch_job(view(batch_job(state, ASKED), lost))
    [status] = outcome.statuses
    assert (status.state, status.problems) == (B.FAILED_SUBMISSION, ["node n1 is down"])
    assert (outcome.stop, outcome.stop_reason, outcome.drops_request) == (True, "node n1 is down", False)
    assert (status.events[-1].stop_ms, status.events[-1].successful) == (NOW, False)
    assert status.events[-1].reason == "node n1 is down"


@pytest.mark.parametrize("state", ACTIVE_STATES)
def test_a_run_that_lost_a_node_restarts_with_a_new_request_when_its_processes_are_gone(state: BatchJobState) -> None:
    lost = application(A.LOST, reason="node n1 is down")
    job = batch_job(state, ASKED)
    job = replace(job, spec=replace(job.spec, on_node_loss=RESTART))
    outcome = reconcile_batch_job(view(job, lost))
    [status] = outcome.statuses
    assert (status.state, status.problems, status.restarts) == (B.PENDING_DELETION, ["node n1 is down"], 1)
    assert (outcome.stop, outcome.drops_request, status.places) == (True, True, PLACES)
    job = replace(job, claim=MINE, status=status)
    assert reconcile_batch_job(view(job, application(A.RUNNING))).is_empty, "until its last process is gone"
    outcome = reconcile_batch_job(view(job, application(A.FAILED, has_processes=False)))
    assert states(outcome) == [B.READY, B.IN_QUEUE]
    assert outcome.statuses[-1].restarts == 1
    assert outcome.statuses[-1].problems == ["node n1 is down"], "until it is submitted again"
    submitted = reconcile_batch_job(view(replace(job, claim=ASKED, status=outcome.statuses[-1]))).statuses[-1]
    assert (submitted.state, submitted.problems, submitted.restarts) == (B.SUBMITTED, [], 1)
    [run] = outcome.statuses[-1].events
    assert (run.successful, run.reason) == (False, "node n1 is down")


# ---- whatever is seen ----

applications = st.none() | st.builds(
    application, st.sampled_from(ApplicationState), st.booleans(), st.sampled_from(["", "broken"])
)
claims = st.sampled_from([None, MINE, ASKED, Claim(OTHER), Claim(OTHER, REQUEST), Claim(ME, CreationRequest(TB, (9,)))])
schedulings = st.none() | st.builds(scheduling, st.sampled_from(SchedulingState))
testbeds = st.sampled_from(
    [None, TESTBED, testbed_with_slot(SlotState.ERROR), testbed_with_slot(SlotState.FREE, is_leaving=True)]
)


@settings(max_examples=1_000)
@given(st.sampled_from(BatchJobState), claims, applications, schedulings, testbeds)
def test_a_second_look_at_what_the_first_left_writes_nothing(
    state: BatchJobState,
    claim: Claim | None,
    seen: Application | None,
    claimant: Scheduling | None,
    testbed: Testbed | None,
) -> None:
    """S0-01."""
    first = view(batch_job(state, claim), seen, scheduling=claimant, testbed=testbed)
    outcome = reconcile_batch_job(first)
    again = reconcile_batch_job(after(first, outcome))
    assert again.is_empty
    assert (outcome.start is not None) == (B.SUBMITTED in states(outcome))
    if outcome.statuses:
        last = outcome.statuses[-1]
        assert (last.state is B.READY) <= (not last.places and not last.application)
