"""Reconciles one Scheduling: it claims its testbed and its jobs, submits jobs as slots become free, and waits for them.

Called by the engine whenever a Scheduling, one of its jobs, or its testbed has changed. `waits_for` lists what is
missing. A deleted Scheduling releases all it holds."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Set

import msgspec

from shunter.model.objects.batch_jobs import BatchJob, BatchJobState, CreationRequest
from shunter.model.objects.object_lifecycles import SCHEDULING, SchedulingEvent
from shunter.model.objects.object_meta import ObjectName
from shunter.model.objects.schedulings import JobProgress, JobRecord, SchedulingState, SchedulingStatus
from shunter.model.objects.testbeds import SlotState
from shunter.model.resources import format_duration
from shunter.testbeds.obstacles import (
    FAILED_STATES,
    Obstacle,
    holds_job,
    holds_testbed,
    job_obstacle,
    slot_conflict,
    testbed_obstacle,
)
from shunter.testbeds.progress import JobRecords, failure_message, has_started, most_advanced, record_of
from shunter.testbeds.slots import free_slot_ids
from shunter.testbeds.strategies import describe_slot_needs, infeasible_reasons, select_queued
from shunter.testbeds.view import SchedulingOutcome, SchedulingView

_ENDED_STATES = (BatchJobState.COMPLETED, *FAILED_STATES)


def reconcile_scheduling(view: SchedulingView) -> SchedulingOutcome:
    reconciliation = _Reconciliation(view)
    if view.scheduling.meta.is_deleting:
        return reconciliation.finish()
    if reconciliation.status.state is not SchedulingState.FINISHED:
        reconciliation.observe()
        while reconciliation.step():
            pass
    return reconciliation.outcome()


class _Reconciliation:
    """The states that one reconcile passes through."""

    def __init__(self, view: SchedulingView) -> None:
        scheduling = view.scheduling
        self.view = view
        self.spec, self.own_name, self.status = scheduling.spec, scheduling.meta.object_name, scheduling.status
        self.queue_order = view.cache.queue_order(scheduling.spec)
        self.jobs = self.queue_order.jobs
        self.records = view.cache.records(scheduling.status.jobs)
        self.leaving = scheduling.status.leaving
        self.generation = scheduling.status.observed_generation
        self.statuses: list[SchedulingStatus] = []
        self.claims: list[ObjectName] = []
        self.releases: list[ObjectName] = []
        self.requests: dict[ObjectName, CreationRequest] = {}
        self.claims_testbed = self.releases_testbed = False
        self.waits_for = ""
        self.problems = list(self.status.problems) if self.status.state is SchedulingState.FAILED else []

    # ---- what comes of it ----

    def outcome(self) -> SchedulingOutcome:
        last = self.snapshot()
        if self.statuses:
            self.statuses[-1] = last
        elif last != self.view.scheduling.status:
            self.statuses = [last]
        return SchedulingOutcome(
            statuses=tuple(self.statuses),
            touched_jobs=self.records.touched,
            claims=tuple(self.claims),
            releases=tuple(self.releases),
            requests=self.requests,
            claims_testbed=self.claims_testbed,
            releases_testbed=self.releases_testbed,
            requeue_at_ms=self.confirmation_deadline_ms()
            if self.status.state is SchedulingState.CONFIRMATION
            else None,
        )

    def finish(self) -> SchedulingOutcome:
        """It was deleted: release everything at once."""
        self.releases = [job.meta.object_name for job in self.view.claimed_jobs()]
        self.releases_testbed = holds_testbed(self.view.testbed, self.own_name)
        self.problems = self.status.problems
        if self.status.state is not SchedulingState.FINISHED:
            self.move(SchedulingEvent.RELEASED)
        return self.outcome()

    def snapshot(self) -> SchedulingStatus:
        return msgspec.structs.replace(
            self.status,
            since_ms=self.status.since_ms or self.view.now_ms,
            jobs=self.records.snapshot,
            waits_for=self.waits_for,
            problems=self.problems,
            observed_generation=self.generation,
            leaving=self.leaving,
        )

    def move(self, event: SchedulingEvent) -> bool:
        state = SCHEDULING.move(self.status.state, event)
        self.waits_for = ""
        self.status = msgspec.structs.replace(self.snapshot(), state=state, since_ms=self.view.now_ms)
        self.statuses.append(self.status)
        return True

    def wait(self, waits_for: str, *problems: str) -> bool:
        self.waits_for, self.problems = waits_for, [problem for problem in problems if problem]
        return False

    def fail(self, *problems: str) -> bool:
        self.problems = list(problems)
        return self.move(SchedulingEvent.FAILED)

    # ---- what it sees ----

    def observe(self) -> None:
        """Update its records from its jobs. After a change of the spec they are read again from the jobs' claims, so
        that each job keeps its progress at its new position."""
        generation = self.view.scheduling.meta.generation
        leaving = [self.view.job(name) for name in self.leaving]
        if self.generation != generation or len(self.records.all) != len(self.jobs):
            self.records = JobRecords(record_of(self.view.job(name), self.own_name) for name in self.jobs)
            named = set(self.jobs)
            leaving = [job for job in self.view.claimed_jobs() if job.meta.object_name not in named]
        self.generation = generation
        for index in tuple(self.records.active):
            seen = record_of(self.view.job(self.jobs[index]), self.own_name)
            self.records.put(index, most_advanced(self.records.all[index], seen))
        self.leaving = tuple(job.meta.object_name for job in leaving if job and self.release_unless_running(job))

    def release_unless_running(self, job: BatchJob) -> bool:
        """A job that the spec no longer names runs to its end, if it was submitted; it is released then."""
        if not holds_job(job, self.own_name):
            return False
        is_running = job.claim is not None and job.claim.request is not None and job.status.state not in _ENDED_STATES
        if not is_running:
            self.releases.append(job.meta.object_name)
        return is_running

    def active_jobs(self) -> list[BatchJob]:
        found = (self.view.job(self.jobs[index]) for index in self.records.active)
        return [job for job in found if job is not None]

    # ---- one step ----

    def step(self) -> bool:
        """Take the first possible step; returns whether there was one."""
        state = self.status.state
        if state in (SchedulingState.FAILED, SchedulingState.FINISHED):
            return False
        if state is SchedulingState.COMPLETED:
            return not self.records.are_completed and self.move(SchedulingEvent.UNCLAIMED)
        failed = [failure_message(job) for job in self.active_jobs() if job.status.state in FAILED_STATES]
        if failed:
            return self.fail(*failed)
        if state is SchedulingState.ACQUIRE:
            return self.acquire()
        if self.view.testbed is None and self.records.queued and not self.is_changed():
            return self.fail(self.missing_testbed_problem(self.jobs[self.records.queued[0]]))
        if self.is_unclaimed():
            return self.move(SchedulingEvent.UNCLAIMED)
        if self.records.are_completed and not self.leaving:
            return self.move(SchedulingEvent.COMPLETED)
        if state is SchedulingState.CONFIRMATION:
            return self.confirm()
        return self.submit() if state is SchedulingState.SUBMISSION else self.await_completion()

    def is_unclaimed(self) -> bool:
        """Whether something that it still needs is not its own. When all jobs are submitted, it needs no testbed: one
        that is being deleted goes with its last executor."""
        testbed = self.view.testbed
        if testbed is None or not holds_testbed(testbed, self.own_name):
            return bool(self.records.unacquired or self.records.queued)
        return bool(self.records.unacquired) or (self.is_changed() and slot_conflict(self.view, testbed) is not None)

    def is_changed(self) -> bool:
        return self.view.scheduling.status.observed_generation != self.view.scheduling.meta.generation

    def acquire(self) -> bool:
        """Claim everything that is missing, or nothing; go on when every job is queued."""
        wanted = {self.jobs[index]: index for index in sorted([*self.records.unacquired, *self.records.queued])}
        missing = [name for name in wanted if not holds_job(self.view.job(name), self.own_name)]
        infeasible, failed = infeasible_reasons(self.spec, self.view.testbed, self.submitted()), self.failures(wanted)
        if failed or (infeasible and not self.may_still_grow(missing)):
            return self.fail(*infeasible, *failed)
        if self.view.testbed is None and (restarting := self.restarting_job(wanted)):
            return self.fail(self.missing_testbed_problem(restarting))
        is_held = holds_testbed(self.view.testbed, self.own_name)
        if not wanted and not is_held:
            return self.move(SchedulingEvent.ACQUIRED)  # all are submitted, and the testbed is gone
        if obstacles := self.obstacles(missing, is_held):
            self.release_acquired(wanted, set(missing))
            if self.releases_testbed:
                obstacles = self.obstacles(missing, is_held=False)
            return self.wait(obstacles[0].waits_for, *(obstacle.problem for obstacle in obstacles), *infeasible)
        self.claims, self.claims_testbed = missing, not is_held
        return self.wait_until_queued(wanted)

    def wait_until_queued(self, wanted: Mapping[ObjectName, int]) -> bool:
        """Claims of this step take effect after it, so a later step queues the jobs."""
        unqueued = next((name for name in wanted if not self.is_queued(name)), None)
        if unqueued or self.claims or self.claims_testbed:
            job = self.view.job(unqueued) if unqueued else None
            problems = job.status.problems if job is not None else ()
            return self.wait(f"batch job {unqueued} to be queued" if unqueued else "", *problems)
        self.records.put_all(wanted.values(), JobRecord(JobProgress.IN_QUEUE))
        return self.move(SchedulingEvent.ACQUIRED)

    def restarting_job(self, wanted: Iterable[ObjectName]) -> ObjectName | None:
        """One of its jobs that waits to run again after the loss of a node."""
        own = (name for name in wanted if holds_job(self.view.job(name), self.own_name))
        return next((name for name in own if (job := self.view.job(name)) and job.status.restarts), None)

    def may_still_grow(self, missing: Iterable[ObjectName]) -> bool:
        """Whether its needs may still be created: a job is missing, and only the testbed's size is wrong."""
        return any(self.view.job(name) is None for name in missing) and not infeasible_reasons(self.spec, None)

    def obstacles(self, missing: Iterable[ObjectName], is_held: bool) -> list[Obstacle]:
        """Permanent obstacles first."""
        found = [testbed_obstacle(self.view, is_held), *(job_obstacle(self.view, name) for name in missing)]
        return sorted(filter(None, found), key=lambda obstacle: obstacle.transience)

    def release_acquired(self, wanted: Mapping[ObjectName, int], missing: Set[ObjectName]) -> None:
        self.records.put_all(wanted.values(), JobRecord())
        self.releases += [name for name in wanted if name not in missing]
        is_held = holds_testbed(self.view.testbed, self.own_name)
        self.releases_testbed = is_held and len(wanted) == len(self.jobs) and not self.leaving
        if is_held and not self.releases_testbed and self.is_changed():
            self.generation = self.view.scheduling.status.observed_generation  # not accepted yet

    def failures(self, wanted: Iterable[ObjectName]) -> list[str]:
        """The failures of unclaimed jobs that need a reset, and of its own jobs."""
        found = [job for name in wanted if (job := self.view.job(name)) is not None]
        return [
            failure_message(job)
            for job in found
            if (job.claim is None and job.status.state is BatchJobState.FAILED)
            or (holds_job(job, self.own_name) and job.status.state in FAILED_STATES)
        ]

    def is_queued(self, name: ObjectName) -> bool:
        job = self.view.job(name)
        return holds_job(job, self.own_name) and job is not None and job.status.state is BatchJobState.IN_QUEUE

    def submitted(self) -> set[ObjectName]:
        waiting = {*self.records.unacquired, *self.records.queued}
        return {name for index, name in enumerate(self.jobs) if index not in waiting}

    def confirm(self) -> bool:
        """Go on when every executor that was asked for is in its slot."""
        slots = self.view.testbed.status.slots if self.view.testbed else ()
        occupied = {slot.place for slot in slots if slot.state is not SlotState.FREE}
        waiting = next((job for job in self.active_jobs() if not has_started(job, occupied)), None)
        if waiting is None:
            return self.move(SchedulingEvent.CONFIRMED)
        name = waiting.meta.object_name
        if self.view.now_ms < self.confirmation_deadline_ms():
            return self.wait(f"batch job {name} to start")
        return self.fail(
            f"Batch job {name} did not start within {format_duration(self.spec.confirmation_timeout_s)}: it is in "
            f"{waiting.status.state.wire_name}. `shunter why bj.{name.name}` explains why."
        )

    def confirmation_deadline_ms(self) -> int:
        return self.status.since_ms + round(self.spec.confirmation_timeout_s * 1000)

    def submit(self) -> bool:
        queued, index = self.records.queued, self.queue_order.index
        if not queued:
            return self.move(SchedulingEvent.DRAINED)
        slots = self.view.testbed.status.slots if self.view.testbed else ()
        free = free_slot_ids(slots, self.active_jobs())
        selected = select_queued(self.queue_order, queued, free)
        lost_jobs = [name for name, _ in selected if not self.is_queued(name)]
        for name in lost_jobs:
            self.records.put(index[name], record_of(self.view.job(name), self.own_name))
        if lost_jobs:
            return True
        if not selected:
            return self.wait_for_slots(self.jobs[queued[0]], free)
        for name, slot_ids in selected:
            self.requests[name] = CreationRequest(self.spec.testbed, slot_ids)
            self.records.put(index[name], JobRecord(JobProgress.SUBMITTED, slot_ids))
        return self.move(SchedulingEvent.SUBMITTED)

    def wait_for_slots(self, first: ObjectName, free: Iterable[int]) -> bool:
        testbed, is_idle = self.view.testbed, not self.records.active and not self.leaving
        problems = infeasible_reasons(self.spec, testbed, self.submitted()) if is_idle else []
        if testbed is not None and testbed.meta.is_deleting:
            problems.append(self.missing_testbed_problem(first))
        if problems:
            return self.fail(*problems)
        needs = describe_slot_needs(self.queue_order, first, free)
        wanted = f"{needs} of testbed {self.spec.testbed}, for batch job {first}"
        has_node_problems = testbed is not None and bool(testbed.status.node_problems)
        return self.wait(wanted + ("; nodes of the testbed have problems" if has_node_problems else ""))

    def missing_testbed_problem(self, first: ObjectName) -> str:
        fate, job = "was deleted" if self.view.testbed is None else "is being deleted", self.view.job(first)
        if job is not None and job.status.restarts:
            reason = " ".join(job.status.problems)
            return f"Testbed {self.spec.testbed} {fate}, but batch job {first} must run again: {reason}"
        return f"Testbed {self.spec.testbed} {fate}, but batch job {first} has not run."

    def await_completion(self) -> bool:
        if self.records.queued:
            return self.move(SchedulingEvent.EXTENDED)
        names = [*(self.jobs[index] for index in self.records.active), *self.leaving]
        others = f" and {len(names) - 1} more" if len(names) > 1 else ""
        return self.wait(f"batch job {names[0]}{others} to complete")
