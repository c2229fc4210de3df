"""Rules for Testbeds, BatchJobs and Schedulings, checked on the replayed state after every committed round.

Slots cannot leak: the holder of a slot has a live executor; every running executor has its slot; no slot is held twice;
no job or testbed is claimed twice. Called by `simulation.checks.checkers`."""

from __future__ import annotations

from collections.abc import Iterator

from shunter.engine.state.state import State
from shunter.model.lifecycles import JobState, TaskState
from shunter.model.objects.batch_jobs import BatchJob, BatchJobState
from shunter.model.objects.object_meta import ObjectName
from shunter.model.objects.objects import KINDS, SCHEDULING
from shunter.model.objects.schedulings import JobProgress, Scheduling, SchedulingState
from shunter.model.objects.testbeds import EXCLUSIVE, SlotPlace, SlotState, Testbed
from shunter.simulation.checks.reference_records import require
from shunter.testbeds.application_parts import EXECUTOR

_ENDED = (SchedulingState.COMPLETED, SchedulingState.FAILED, SchedulingState.FINISHED)
_HELD = (SlotState.RESERVED, SlotState.OCCUPIED)


def check_objects(state: State) -> None:
    registry = state.objects
    if not (registry.testbeds or registry.batch_jobs or registry.schedulings):
        return
    held: dict[tuple[ObjectName, SlotPlace], tuple[ObjectName, int]] = {}
    for testbed in registry.testbeds.values():
        _check_claims(state, testbed)
        for place, holder in _holders(testbed):
            held[testbed.meta.object_name, place] = holder
    running = dict(_executors(state))
    require(
        len(set(running.values())) == len(running), f"a slot has two executors: {sorted(map(str, running.values()))}"
    )
    for (job, executor), where in running.items():
        actual_holder = held.get(where)
        require(
            actual_holder == (job, executor), f"executor {executor} of {job} runs in {where}, which {actual_holder} has"
        )
    for where, (job, executor) in held.items():
        require((job, executor) in running, f"slot {where} is kept for executor {executor} of {job}, which is gone")
    for each in registry.batch_jobs.values():
        _check_job(state, each)
    for scheduling in registry.schedulings.values():
        _check_scheduling(scheduling)


def check_nothing_left(state: State) -> None:
    registry = state.objects
    left = [str(each.meta.object_name) for kind in KINDS for each in registry.all(kind)]
    require(not left, f"objects are left: {left}")
    require(
        not (registry.applications or registry.jobs_by_testbed or registry.claimed_jobs),
        "something is kept for objects that are gone",
    )


def _holders(testbed: Testbed) -> Iterator[tuple[SlotPlace, tuple[ObjectName, int]]]:
    places = [slot.place for slot in testbed.status.slots]
    require(len(set(places)) == len(places), f"{testbed.meta.object_name} has a slot twice: {places}")
    for slot in testbed.status.slots:
        require((slot.holder is not None) == (slot.state in _HELD), f"slot {slot} of {testbed.meta.object_name}")
        if slot.holder is not None:
            yield slot.place, (slot.holder.job, slot.holder.executor)


def _executors(state: State) -> Iterator[tuple[tuple[ObjectName, int], tuple[ObjectName, SlotPlace]]]:
    """Executors that are not gone, or not there yet, and the slots that their BatchJobs have for them."""
    for name, job in state.objects.batch_jobs.items():
        application_job, status = state.jobs.get(job.status.application), job.status
        if application_job is None or status.testbed is None:
            continue
        task_sets = [task_set for task_set in application_job.task_sets if task_set.spec.name == EXECUTOR]
        if not task_sets and application_job.state is not JobState.STOPPING:  # they wait for their driver
            yield from (((name, number), (status.testbed, place)) for number, place in enumerate(status.places))
        for task_set in task_sets:
            for index in range(task_set.count):
                task = TaskState(state.table.state[task_set.base + index])
                number = task_set.visible_index_of(index)
                if task < TaskState.SUCCEEDED:
                    place = status.places[number]
                    node = state.nodes.view.names[task_set.node]
                    require(node == place.node, f"executor {number} of {name} is pinned to {node}, its slot is {place}")
                    yield (name, number), (status.testbed, place)


def _check_claims(state: State, testbed: Testbed) -> None:
    claims, name = testbed.status.claims, testbed.meta.object_name
    require(len(set(claims)) == len(claims), f"testbed {name} is claimed twice: {claims}")
    for claim in claims:
        require(claim in state.objects.schedulings, f"testbed {name} is claimed by {SCHEDULING} {claim}, which is gone")
    if testbed.spec.sharing == EXCLUSIVE and testbed.meta.generation == 1:
        require(len(claims) <= 1, f"testbed {name} is claimed by {claims}")


def _check_scheduling(scheduling: Scheduling) -> None:
    """It completes with its last job, even if its testbed went before."""
    status = scheduling.status
    is_current = status.observed_generation == scheduling.meta.generation
    if is_current and status.jobs and not status.leaving and not scheduling.meta.is_deleting:
        has_completed = all(record.progress is JobProgress.COMPLETED for record in status.jobs)
        name, state = scheduling.meta.object_name, status.state
        require(
            not has_completed or state in _ENDED, f"all jobs of {SCHEDULING} {name} completed, it is {state.wire_name}"
        )


def _check_job(state: State, job: BatchJob) -> None:
    name, status, claim = job.meta.object_name, job.status, job.claim
    if claim is not None:
        is_there = claim.scheduling in state.objects.schedulings
        require(is_there, f"{name} is claimed by {claim.scheduling}, which is gone")
    if status.state is BatchJobState.READY:
        require(not status.application and not status.places, f"{name} is ready and has {status}")
    if status.state in (BatchJobState.SUBMITTED, BatchJobState.SCHEDULED, BatchJobState.RUNNING):
        require(status.application in state.jobs, f"{name} is {status.state.wire_name} and nothing runs for it")
    require(len(status.places) == len(status.slot_ids), f"{name} has slots {status.slot_ids} at {status.places}")
