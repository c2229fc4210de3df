"""Reconciles one batch job: its Scheduling claims and releases it, it starts in the assigned slots, and is followed to
its end.

Called by the engine whenever the job, its claim, or its application has changed."""

from __future__ import annotations

import msgspec

from shunter.model.objects.batch_jobs import (
    NODE_LOSS_RESTARTS_MAX,
    RESTART,
    SCHEDULED_EVENTS_MAX,
    BatchJob,
    BatchJobState,
    BatchJobStatus,
    CreationRequest,
    ScheduledEvent,
)
from shunter.model.objects.object_lifecycles import BATCH_JOB, BatchJobEvent
from shunter.model.objects.schedulings import SchedulingState
from shunter.model.objects.testbeds import Slot, SlotState, Testbed
from shunter.testbeds.view import Application, ApplicationState, BatchJobOutcome, BatchJobView, StartApplication

_CLAIMED_STATES = (
    BatchJobState.IN_QUEUE,
    BatchJobState.SUBMITTED,
    BatchJobState.SCHEDULED,
    BatchJobState.RUNNING,
    BatchJobState.COMPLETED,
)
ACTIVE_STATES = (BatchJobState.SUBMITTED, BatchJobState.SCHEDULED, BatchJobState.RUNNING)


def reconcile_batch_job(view: BatchJobView) -> BatchJobOutcome:
    reconciliation = _Reconciliation(view)
    while reconciliation.step():
        pass
    return reconciliation.outcome()


def reset(job: BatchJob, now_ms: int) -> BatchJobStatus:
    """Make an unclaimed job in FailedState ready again. Raises InvalidMove in other states."""
    state = BATCH_JOB.move(job.status.state, BatchJobEvent.RESET)
    return msgspec.structs.replace(_cleared(job.status), state=state, since_ms=now_ms)


class _Reconciliation:
    """The states that one reconcile passes through."""

    def __init__(self, view: BatchJobView) -> None:
        self.view = view
        self.status = view.job.status
        self.statuses: list[BatchJobStatus] = []
        self.start: StartApplication | None = None
        self.stop = self.drops_request = False
        self.stop_reason = ""

    def outcome(self) -> BatchJobOutcome:
        generation = self.view.job.meta.generation
        statuses = [_observed(status, generation) for status in self.statuses]
        if not statuses and self.status.observed_generation != generation:
            statuses = [_observed(self.status, generation)]
        return BatchJobOutcome(tuple(statuses), self.start, self.stop, self.stop_reason, self.drops_request)

    def step(self) -> bool:
        """Take the first possible step; returns whether there was one."""
        state = self.status.state
        if state in _CLAIMED_STATES and self.is_released():
            return self.release()
        if state is BatchJobState.READY:
            return self.enqueue()
        if state is BatchJobState.IN_QUEUE:
            return self.submit()
        if state in ACTIVE_STATES:
            return self.follow_application()
        if state is BatchJobState.PENDING_DELETION:
            return self.has_no_processes() and self.move(BatchJobEvent.GONE, self.status_when_gone())
        if state is BatchJobState.FAILED_SUBMISSION:
            return self.recover()
        return state is BatchJobState.FAILED and self.clear_claimant()

    def move(self, event: BatchJobEvent, status: BatchJobStatus) -> bool:
        state = BATCH_JOB.move(self.status.state, event)
        self.status = msgspec.structs.replace(status, state=state, since_ms=self.view.now_ms)
        self.statuses.append(self.status)
        return True

    # ---- claims ----

    def is_released(self) -> bool:
        """Its Scheduling has released it or was deleted, or another one has claimed it."""
        claim = self.view.job.claim
        return claim is None or self.view.scheduling is None or claim.scheduling != self.status.active_scheduling

    def enqueue(self) -> bool:
        claim = self.view.job.claim
        if claim is None or not self.can_run():
            return False
        return self.move(
            BatchJobEvent.ENQUEUED, msgspec.structs.replace(self.status, active_scheduling=claim.scheduling)
        )

    def can_run(self) -> bool:
        scheduling = self.view.scheduling
        return scheduling is not None and scheduling.status.state is not SchedulingState.FAILED

    def release(self) -> bool:
        application = self.view.application
        self.stop = application is not None and not (application.has_ended and self.has_no_processes())
        status = _with_closed_event(self.status, False, self.view.now_ms)
        return self.move(BatchJobEvent.RELEASED, msgspec.structs.replace(status, active_scheduling=None))

    def recover(self) -> bool:
        """A failed job that was released is ready again when none of its tasks is left."""
        if self.is_released() and self.has_no_processes():
            return self.move(BatchJobEvent.GONE, _cleared(self.status))
        return self.clear_claimant()

    def clear_claimant(self) -> bool:
        """A release does not change its failure; only the claimant is cleared."""
        if self.status.active_scheduling is None or not self.is_released():
            return False
        self.status = msgspec.structs.replace(self.status, active_scheduling=None)
        self.statuses.append(self.status)
        return True

    def has_no_processes(self) -> bool:
        application = self.view.application
        return application is None or not application.has_processes

    # ---- its application ----

    def submit(self) -> bool:
        claim = self.view.job.claim
        if claim is None or claim.request is None:
            return False
        request, testbed = claim.request, self.view.testbed
        problems = request_problems(self.view.job, request, testbed)
        if problems or testbed is None:
            return self.move(BatchJobEvent.FAILED, msgspec.structs.replace(self.status, problems=problems))
        slots = [testbed.status.slots[slot_id] for slot_id in request.slot_ids]
        places = tuple(slot.place for slot in slots)
        self.start = StartApplication(request, places, testbed.spec.resources_per_slot)
        status = msgspec.structs.replace(
            self.status,
            testbed=request.testbed,
            slot_ids=request.slot_ids,
            places=places,
            application=0,
            problems=[],
        )
        return self.move(BatchJobEvent.SUBMITTED, status)

    def follow_application(self) -> bool:
        application = self.view.application
        if self.start is not None:
            return False  # it was started by this very look
        if application is None:
            return self.on_vanished()
        state, now_ms = application.state, self.view.now_ms
        if state is ApplicationState.FAILED:
            return self.fail(application)
        if state is ApplicationState.LOST:
            return self.on_node_lost(application)
        if state is ApplicationState.COMPLETED:
            status = _with_open_event(self.status, application, now_ms)
            status = _with_closed_event(status, True, application.ended_ms or now_ms)
            return self.move(BatchJobEvent.COMPLETED, status)
        if self.status.state is BatchJobState.SUBMITTED and state >= ApplicationState.SCHEDULED:
            return self.move(BatchJobEvent.SCHEDULED, self.status)
        if self.status.state is BatchJobState.SCHEDULED and state >= ApplicationState.RUNNING:
            return self.move(BatchJobEvent.STARTED, _with_open_event(self.status, application, now_ms))
        return False

    def on_vanished(self) -> bool:
        """It vanished without a request, so it starts again while it is still claimed. An application that does not
        exist yet has no id."""
        if self.status.application == 0:
            return False
        return self.move(BatchJobEvent.VANISHED, _cleared(_with_closed_event(self.status, False, self.view.now_ms)))

    def on_node_lost(self, application: Application) -> bool:
        """A run succeeds or fails as a whole. One that shall restart gives back its slots when its last process is
        gone, and its Scheduling requests slots again."""
        if self.view.job.spec.on_node_loss != RESTART or self.status.restarts >= NODE_LOSS_RESTARTS_MAX:
            return self.fail(application)
        self.stop, self.stop_reason, self.drops_request = True, application.reason, True
        now_ms = self.view.now_ms
        status = _with_open_event(self.status, application, now_ms) if application.started_ms else self.status
        status = msgspec.structs.replace(
            _with_closed_event(status, False, now_ms, application.reason),
            problems=[application.reason],
            restarts=status.restarts + 1,
        )
        return self.move(BatchJobEvent.NODE_LOST, status)

    def status_when_gone(self) -> BatchJobStatus:
        """A run that shall restart shows why until it is submitted again."""
        claim, before, status = self.view.job.claim, self.status, _cleared(self.status)
        is_restarting = claim is not None and claim.scheduling == before.active_scheduling and self.can_run()
        if not is_restarting:
            return status
        return msgspec.structs.replace(status, restarts=before.restarts, problems=before.problems)

    def fail(self, application: Application) -> bool:
        self.stop, self.stop_reason = application.has_processes, application.reason
        now_ms = self.view.now_ms
        status = _with_open_event(self.status, application, now_ms) if application.started_ms else self.status
        problems = [application.reason or "The application failed."]
        status = msgspec.structs.replace(
            _with_closed_event(status, False, application.ended_ms or now_ms, problems[0]), problems=problems
        )
        return self.move(BatchJobEvent.FAILED, status)


def request_problems(job: BatchJob, request: CreationRequest, testbed: Testbed | None) -> list[str]:
    """Why the job cannot have the slots that its Scheduling named."""
    if testbed is None:
        return [f"Testbed {request.testbed} does not exist."]
    slots = testbed.status.slots
    if not request.slot_ids:
        return [f"The request names no slot of testbed {request.testbed}."]
    unknown = [slot_id for slot_id in request.slot_ids if not 0 <= slot_id < len(slots)]
    if unknown:
        return [
            f"Testbed {request.testbed} has no slot {', '.join(map(str, unknown))}: it has {len(slots)} slots"
            f"{'; ' + '; '.join(testbed.status.problems) if testbed.status.problems else ''}."
        ]
    return [
        f"Slot {slot_id} of testbed {request.testbed} is {_describe_slot(slots[slot_id])}."
        for slot_id in request.slot_ids
        if not _is_available_to(job, slots[slot_id])
    ]


def _is_available_to(job: BatchJob, slot: Slot) -> bool:
    if slot.is_leaving:
        return False
    is_its_own = slot.holder is not None and slot.holder.job == job.meta.object_name
    return slot.state is SlotState.FREE or is_its_own


def _describe_slot(slot: Slot) -> str:
    held = f" by batch job {slot.holder.job}" if slot.holder else ""
    return f"{slot.state.wire_name}{held}{', and is being removed' if slot.is_leaving else ''}"


# ---- statuses ----


def _observed(status: BatchJobStatus, generation: int) -> BatchJobStatus:
    if status.observed_generation == generation:
        return status
    return msgspec.structs.replace(status, observed_generation=generation)


def _cleared(status: BatchJobStatus) -> BatchJobStatus:
    """The status without claimant and slots."""
    return msgspec.structs.replace(
        status, active_scheduling=None, testbed=None, slot_ids=(), places=(), application=0, problems=[], restarts=0
    )


def _with_open_event(status: BatchJobStatus, application: Application, now_ms: int) -> BatchJobStatus:
    """The status with an event for this run."""
    if status.testbed is None or status.active_scheduling is None or _has_open_event(status):
        return status
    event = ScheduledEvent(
        start_ms=application.started_ms or now_ms,
        scheduling=status.active_scheduling,
        testbed=status.testbed,
        slot_ids=status.slot_ids,
        job=status.application,
    )
    events = (*status.events, event)[-SCHEDULED_EVENTS_MAX:]
    return msgspec.structs.replace(status, events=events, runs=status.runs + 1)


def _with_closed_event(status: BatchJobStatus, successful: bool, at_ms: int, reason: str = "") -> BatchJobStatus:
    """The status with its open event closed, if it has one."""
    if not _has_open_event(status):
        return status
    event = status.events[-1]
    closed = msgspec.structs.replace(event, stop_ms=max(at_ms, event.start_ms), successful=successful, reason=reason)
    return msgspec.structs.replace(status, events=(*status.events[:-1], closed))


def _has_open_event(status: BatchJobStatus) -> bool:
    return bool(status.events) and status.events[-1].successful is None
