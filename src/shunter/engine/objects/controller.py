"""Reconciles Testbeds, BatchJobs and Schedulings: runs the pure reconcile functions of `testbeds/` on dirty objects and
records their results, until nothing changes. Called by the engine's rounds.

Everything is derived from the state. A manager that takes over reconciles all objects once and continues."""

from __future__ import annotations

from collections.abc import Iterable, Set
from functools import partial

import msgspec
from msgspec.structs import replace

from shunter.engine import changes as c
from shunter.engine.jobs.finish import finish_jobs
from shunter.engine.objects.applications import (
    CannotStart,
    advance_application,
    observe_application,
    slot_uses,
    start_application,
    stop_application,
)
from shunter.engine.objects.apply import set_status
from shunter.engine.objects.scheduling_history import past_record
from shunter.engine.round import Round
from shunter.engine.services.reconcile import reconcile_services
from shunter.engine.state.registries.objects import Key, named_jobs
from shunter.engine.state.state import State
from shunter.engine.timers import TimerKind
from shunter.model.objects.batch_jobs import BatchJob, BatchJobState, BatchJobStatus, Claim
from shunter.model.objects.object_lifecycles import BATCH_JOB as LIFECYCLE
from shunter.model.objects.object_lifecycles import BatchJobEvent
from shunter.model.objects.object_meta import ObjectName
from shunter.model.objects.objects import BATCH_JOB, SCHEDULING, TESTBED
from shunter.model.objects.schedulings import Scheduling
from shunter.model.objects.testbeds import Testbed
from shunter.testbeds.batch_job_reconcile import reconcile_batch_job
from shunter.testbeds.queue_order import ReconcileCache
from shunter.testbeds.scheduling_reconcile import reconcile_scheduling
from shunter.testbeds.slots import LayoutCache
from shunter.testbeds.testbed_reconcile import reconcile_testbed
from shunter.testbeds.view import BatchJobOutcome, BatchJobView, LabelledNode, SchedulingOutcome, SchedulingView

RECONCILES_MAX = 20_000  # objects reconciled in one round; the rest follow in the next
_ORDER = {TESTBED: 0, BATCH_JOB: 1, SCHEDULING: 2}


def reconcile_objects(round: Round, *, is_placing_next: bool = False) -> None:
    """Reconcile until nothing changes: ended applications free slots, and free slots start applications. A Scheduling
    that has requested slots waits until its executors have nodes; if placement comes next, it is reconciled again after
    that."""
    _mark_dirty_by_nodes(round)
    reconciled = 0
    awaiting_placement: set[Key] = set()
    while keys := _next_dirty(round.state, awaiting_placement):
        for key in keys:
            reconciled += 1
            if _reconcile_one(round, *key) and is_placing_next:
                awaiting_placement.add(key)
        if round.dirty.maybe_finished:
            reconcile_services(round)
            finish_jobs(round)
        if reconciled > RECONCILES_MAX:
            round.is_partial = True
            return


def reconcile_placed_objects(round: Round) -> None:
    """Reconcile again after placement: executors may have nodes now, and released lanes make room for slots."""
    registry = round.state.objects
    for name in registry.submitted:
        registry.mark_dirty(BATCH_JOB, name)
    if registry.dirty_objects or registry.unplaced_testbeds:
        reconcile_objects(round)


def on_scheduling_due(round: Round, uid: int) -> None:
    name = round.state.objects.name_of(uid)
    if name is not None:
        round.state.objects.mark_dirty(SCHEDULING, name)


def _next_dirty(state: State, deferred: Set[Key]) -> list[Key]:
    """Take the objects to reconcile next. Schedulings come after their testbeds and jobs, so that each sees all their
    changes at once."""
    dirty_objects = state.objects.dirty_objects
    found = [key for key in dirty_objects if key[0] != SCHEDULING] or [
        key for key in dirty_objects if key not in deferred
    ]
    if len(found) > 1:
        found.sort(key=lambda key: (_ORDER[key[0]], _age(state, key)))
    for key in found:
        del dirty_objects[key]
    return found


def _age(state: State, key: tuple[str, ObjectName]) -> int:
    """Order by age, so that the object that has waited longest gets what becomes free."""
    object = state.objects.get(*key)
    return object.meta.uid if object is not None else 0


def _mark_dirty_by_nodes(round: Round) -> None:
    """Testbeds depend on nodes. A testbed that does not fit is tried again when a node it lacks has changed."""
    registry, nodes = round.state.objects, round.state.nodes.view
    if not registry.testbeds:
        return
    if round.dirty.had_nodes:
        registry.mark_testbeds_dirty()
    for name, seen in registry.unplaced_testbeds.items():
        if any(int(nodes.changed[row]) != tick for row, tick in seen):
            registry.mark_dirty(TESTBED, name)


def _reconcile_one(round: Round, kind: str, name: ObjectName) -> bool:
    """Returns whether it is a Scheduling that has requested slots."""
    registry = round.state.objects
    if kind == BATCH_JOB and (job := registry.batch_jobs.get(name)) is not None:
        _reconcile_batch_job(round, job)
    elif kind == TESTBED and (testbed := registry.testbeds.get(name)) is not None:
        _reconcile_testbed(round, testbed)
    elif kind == SCHEDULING and (scheduling := registry.schedulings.get(name)) is not None:
        return _reconcile_scheduling(round, scheduling)
    return False


# ---- testbeds ----


def _reconcile_testbed(round: Round, testbed: Testbed) -> None:
    state, name = round.state, testbed.meta.object_name
    nodes = labelled_nodes(state, testbed)
    layouts = state.objects.testbed_layouts.setdefault(name, LayoutCache())
    status = reconcile_testbed(testbed, [node for _, node in nodes], slot_uses(state, testbed), round.now_ms, layouts)
    if status != testbed.status:
        set_status(round, TESTBED, testbed, status)
    if testbed.meta.is_deleting and not status.slots:
        state.objects.unplaced_testbeds.pop(name, None)
        round.record(c.ObjectDropped(TESTBED, testbed.meta.uid, round.now_ms, str(name)))
    elif status.node_problems:
        ticks = ((row, int(state.nodes.view.changed[row])) for row, node in nodes if node.name in status.node_problems)
        state.objects.unplaced_testbeds[name] = tuple(ticks)
    else:
        state.objects.unplaced_testbeds.pop(name, None)


def labelled_nodes(state: State, testbed: Testbed) -> list[tuple[int, LabelledNode]]:
    """The nodes with the testbed's label, and the resources that are free for it."""
    label, view = testbed.spec.node_label, state.nodes.view
    own: dict[str, dict[str, int]] = {}
    for slot in testbed.status.slots:
        amounts = own.setdefault(slot.place.node, {})
        for resource, amount in slot.size.items():
            amounts[resource] = amounts.get(resource, 0) + amount
    found = []
    for kind, node_kind in enumerate(view.kinds):
        value = node_kind.labels.get(label)
        if value is None:
            continue
        for row in (view.kind[: view.count] == kind).nonzero()[0].tolist():
            if row not in state.nodes.records:
                continue
            node, own_amounts = view.names[row], own.get(view.names[row], {})
            columns = zip(view.resources, view.capacity[row].tolist(), view.reserved[row].tolist(), strict=True)
            free = {
                resource: capacity - reserved + own_amounts.get(resource, 0) for resource, capacity, reserved in columns
            }
            ineligible_reason = view.ineligible_because.get(row, "")
            found.append((row, LabelledNode(node, value, free, bool(view.eligible[row]), ineligible_reason)))
    return found


# ---- batch jobs ----


def _reconcile_batch_job(round: Round, job: BatchJob) -> None:
    advance_application(round, job)
    registry, claim = round.state.objects, job.claim
    request = claim.request if claim is not None else None
    view = BatchJobView(
        job,
        registry.schedulings.get(claim.scheduling) if claim is not None else None,
        registry.testbeds.get(request.testbed) if request is not None else None,
        observe_application(round, job),
        round.now_ms,
    )
    outcome = reconcile_batch_job(view)
    for status in _statuses_with_application(round, job, outcome):
        set_status(round, BATCH_JOB, job, status)
    if outcome.stop:
        stop_application(round, job, outcome.stop_reason)
    if outcome.drops_request and claim is not None:
        _write_claim(round, claim.scheduling, job, Claim(claim.scheduling))


def _statuses_with_application(round: Round, job: BatchJob, outcome: BatchJobOutcome) -> Iterable[BatchJobStatus]:
    if outcome.start is None:
        return outcome.statuses
    try:
        application = start_application(round, job, outcome.start)
    except CannotStart as refusal:
        submitted = next(status for status in outcome.statuses if status.state is BatchJobState.SUBMITTED)
        failed = LIFECYCLE.move(BatchJobState.SUBMITTED, BatchJobEvent.FAILED)
        return [submitted, replace(submitted, state=failed, problems=refusal.problems)]
    return [
        replace(status, application=application) if status.slot_ids and not status.application else status
        for status in outcome.statuses
    ]


# ---- schedulings ----


def _reconcile_scheduling(round: Round, scheduling: Scheduling) -> bool:
    registry, name = round.state.objects, scheduling.meta.object_name
    is_usable = partial(round.state.tenants.share_owner, name.namespace)  # else it does not exist for the Scheduling
    testbed = registry.testbeds.get(scheduling.spec.testbed) if is_usable(scheduling.spec.testbed.namespace) else None
    view = SchedulingView(
        scheduling,
        lambda job: registry.batch_jobs.get(job) if is_usable(job.namespace) else None,
        testbed,
        round.now_ms,
        claimed_jobs=lambda: [registry.batch_jobs[job] for job in registry.claimed_jobs.get(name, ())],
        find_scheduling=registry.schedulings.get,
        cache=registry.scheduling_memories.setdefault(name, ReconcileCache()),
    )
    outcome = reconcile_scheduling(view)
    _claim(round, name, outcome)
    _claim_testbed(round, name, testbed, outcome)
    for status in outcome.statuses:
        set_status(round, SCHEDULING, scheduling, status, outcome.touched_jobs)
    if outcome.requeue_at_ms is not None:
        round.timers.add_for(outcome.requeue_at_ms, TimerKind.SCHEDULING, scheduling.meta.uid)
    if scheduling.meta.is_deleting and _has_released_all(round.state, scheduling):
        round.archived_objects.append(past_record(round, scheduling))
        round.record(c.ObjectDropped(SCHEDULING, scheduling.meta.uid, round.now_ms, str(name)))
        _mark_waiting_dirty(round.state, scheduling)
    return bool(outcome.requests)


def _claim(round: Round, name: ObjectName, outcome: SchedulingOutcome) -> None:
    jobs = round.state.objects.batch_jobs
    for job in outcome.claims:
        _write_claim(round, name, jobs[job], Claim(name))
    for job, request in outcome.requests.items():
        _write_claim(round, name, jobs[job], Claim(name, request))
    for job in outcome.releases:
        _write_claim(round, name, jobs[job], None)


def _write_claim(round: Round, by: ObjectName, job: BatchJob, claim: Claim | None) -> None:
    body = msgspec.Raw(msgspec.msgpack.encode(claim))
    round.record(c.BatchJobClaimed(job.meta.uid, body, round.now_ms, str(by), str(job.meta.object_name)))


def _claim_testbed(round: Round, name: ObjectName, testbed: Testbed | None, outcome: SchedulingOutcome) -> None:
    if testbed is None or not (outcome.claims_testbed or outcome.releases_testbed):
        return
    claims = tuple(each for each in testbed.status.claims if each != name)
    if outcome.claims_testbed:
        claims = (*claims, name)
    set_status(round, TESTBED, testbed, replace(testbed.status, claims=claims))


def _has_released_all(state: State, scheduling: Scheduling) -> bool:
    registry, name = state.objects, scheduling.meta.object_name
    testbed = registry.testbeds.get(scheduling.spec.testbed)
    return name not in registry.claimed_jobs and (testbed is None or name not in testbed.status.claims)


def _mark_waiting_dirty(state: State, deleted: Scheduling) -> None:
    """Mark the objects that wait for what it held."""
    registry = state.objects
    for name in registry.schedulings_by_testbed.get(deleted.spec.testbed, ()):
        registry.mark_dirty(SCHEDULING, name)
    for job in named_jobs(deleted.spec):
        for name in registry.schedulings_by_job.get(job, ()):
            registry.mark_dirty(SCHEDULING, name)
