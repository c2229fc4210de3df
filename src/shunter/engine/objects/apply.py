"""Creates, changes and deletes Testbeds, BatchJobs and Schedulings at a user's request. Called by the engine's rounds.

`engine.objects.controller` reconciles them afterwards, in the same round."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import msgspec
from msgspec.structs import replace

from shunter.engine import changes as c
from shunter.engine.round import Round
from shunter.model.errors import Busy, Conflict, Invalid, NotFound, Problem
from shunter.model.objects.apply_rules import check_read_only_fields, is_unchanged, refuse_change, resolve_spec
from shunter.model.objects.batch_jobs import BatchJob, BatchJobState
from shunter.model.objects.documents import object_document
from shunter.model.objects.object_meta import Document, Meta, ObjectName
from shunter.model.objects.objects import BATCH_JOB, TESTBED, Draft, Object
from shunter.model.objects.schedulings import JobRecord, Scheduling, SchedulingSpec
from shunter.model.objects.testbeds import TestbedState
from shunter.testbeds.batch_job_reconcile import reset
from shunter.testbeds.strategies import infeasible_reasons

OBJECTS_MAX = 100_000  # of one kind
RECORDS_CHUNK_SIZE = 64  # of a Scheduling's jobs, compared as one
EXTERNAL_BYTES_MAX = 2**20  # of what schedulers keep with one BatchJob
CREATED, CONFIGURED, UNCHANGED = "created", "configured", "unchanged"


@dataclass(frozen=True, slots=True)
class ApplyResult:
    """The result for one draft."""

    kind: str
    name: ObjectName
    action: str


def on_apply(round: Round, drafts: list[Draft], user: str) -> list[ApplyResult]:
    """Apply all drafts or none."""
    check_drafts(round, drafts)
    return apply_drafts(round, drafts, user)


def apply_drafts(round: Round, drafts: list[Draft], user: str) -> list[ApplyResult]:
    """Apply drafts that `check_drafts` has accepted."""
    return [_apply_draft(round, draft, user) for draft in drafts]


def on_delete(round: Round, kind: str, name: ObjectName, revision: int | None = None) -> None:
    """Request the deletion of an object. It is deleted in this round unless something still needs it; a repeated
    request changes nothing."""
    object = find_object(round, kind, name)
    if revision is not None:
        _check_revision(kind, object, revision)
    if isinstance(object, BatchJob):
        _check_unused(object)
    if object.meta.is_deleting:
        return
    if kind == BATCH_JOB:
        round.record(c.ObjectDropped(kind, object.meta.uid, round.now_ms, str(name)))
    else:
        _set(round, kind, replace(object.meta, deleting_ms=round.now_ms), object.spec)


def _check_unused(job: BatchJob) -> None:
    """Raises Conflict while a Scheduling has the BatchJob, or tasks of a deleted Scheduling are still stopping."""
    if job.claim is None and not job.status.application:
        return
    name = job.meta.object_name
    scheduling = job.claim.scheduling if job.claim is not None else job.status.active_scheduling
    fault, fix = f"is in use by Scheduling '{scheduling}'", "delete the Scheduling first"
    if scheduling is None:
        fault, fix = "cannot be deleted: its last run is still stopping", "try again when it is in ReadyState"
    raise Conflict(f"BatchJob '{name}' {fault}; {fix}", (Problem("metadata.name", fault, str(name), fix),))


def on_write_external(round: Round, name: ObjectName, data: Mapping[str, list[dict[str, str]]]) -> None:
    """Replace these keys of the data that schedulers store with a BatchJob; a key without entries is removed."""
    job = find_object(round, BATCH_JOB, name)
    assert isinstance(job, BatchJob)
    external = {key: value for key, value in {**job.spec.external, **data}.items() if value}
    if len(msgspec.msgpack.encode(external)) > EXTERNAL_BYTES_MAX:
        fault = f"would exceed {EXTERNAL_BYTES_MAX} bytes"
        raise Invalid([Problem("externalScheduler", fault, sorted(data), "store less data with the BatchJob")])
    if external != job.spec.external:
        _set(round, BATCH_JOB, job.meta, replace(job.spec, external=external))


def on_reset(round: Round, name: ObjectName) -> None:
    """Let a failed BatchJob be scheduled again. A BatchJob that is ready, or will become ready by itself, is left
    alone."""
    job = find_object(round, BATCH_JOB, name)
    assert isinstance(job, BatchJob)
    if job.claim is not None:
        by = job.claim.scheduling
        raise Conflict(
            f"BatchJob '{name}' is in {job.status.state.wire_name} for Scheduling '{by}'; delete the Scheduling first"
        )
    if job.status.state is BatchJobState.FAILED:
        set_status(round, BATCH_JOB, job, reset(job, round.now_ms))
    else:
        round.state.objects.mark_dirty(BATCH_JOB, name)


def set_status(round: Round, kind: str, object: Any, status: Any, touched_jobs: Iterable[int] | None = None) -> None:
    """Set an object's status. Of a Scheduling's jobs, which may be many, only those that differ are written: if given,
    only `touched_jobs` may. A BatchJob's runs, up to a hundred, are written only when a run is added or ends."""
    registry, uid = round.state.objects, object.meta.uid
    name = registry.name_of(uid)
    assert name is not None, f"{kind} {uid} exists"
    records, before = c.NO_RECORDS, registry.get(kind, name)
    if isinstance(before, Scheduling) and len(before.status.jobs) == len(status.jobs):
        records = msgspec.Raw(msgspec.msgpack.encode(changed_records(before.status.jobs, status.jobs, touched_jobs)))
        status = replace(status, jobs=())
    elif isinstance(before, BatchJob) and before.status.events == status.events:
        records, status = c.SAME_EVENTS, replace(status, events=())
    body = msgspec.Raw(msgspec.msgpack.encode(status))
    round.record(c.ObjectStatusSet(kind, uid, body, round.now_ms, status.state.wire_name, str(name), records))


def changed_records(
    before: tuple[JobRecord, ...], after: tuple[JobRecord, ...], touched: Iterable[int] | None = None
) -> list[tuple[int, JobRecord]]:
    """The records that differ, by index. If it is not known which may, blocks are compared: nearly all records are
    identical objects, and comparing a block of those is much faster than comparing its records one by one."""
    if before is after:
        return []
    if touched is not None:
        return [(index, after[index]) for index in sorted(touched) if before[index] != after[index]]
    return [
        (index, after[index])
        for first in range(0, len(after), RECORDS_CHUNK_SIZE)
        if before[first : first + RECORDS_CHUNK_SIZE] != after[first : first + RECORDS_CHUNK_SIZE]
        for index in range(first, min(first + RECORDS_CHUNK_SIZE, len(after)))
        if before[index] != after[index]
    ]


def find_object(round: Round, kind: str, name: ObjectName) -> Any:
    object = round.state.objects.get(kind, name)
    if object is None:
        raise NotFound(f"{kind} '{name}' does not exist")
    return object


# ---- one draft ----


def _apply_draft(round: Round, draft: Draft, user: str) -> ApplyResult:
    before: Any = round.state.objects.get(draft.kind, draft.name)
    if before is None:
        name = draft.name
        meta = Meta(
            round.state.objects.next_uid, name.namespace, name.name, round.now_ms, user,
            labels=draft.labels, annotations=draft.annotations,
        )  # fmt: skip
        _set(round, draft.kind, meta, draft.spec)
        return ApplyResult(draft.kind, draft.name, CREATED)
    spec, meta = resolve_spec(draft, before), before.meta
    if is_unchanged(draft, spec, before):
        return ApplyResult(draft.kind, draft.name, UNCHANGED)
    generation = meta.generation + (spec != before.spec)
    meta = replace(meta, generation=generation, labels=draft.labels, annotations=draft.annotations)
    _set(round, draft.kind, meta, spec)
    return ApplyResult(draft.kind, draft.name, CONFIGURED)


def _set(round: Round, kind: str, meta: Meta, spec: Any) -> None:
    round.record(c.ObjectSet(kind, meta, msgspec.Raw(msgspec.msgpack.encode(spec)), round.now_ms))


# ---- refusals ----


def check_drafts(round: Round, drafts: list[Draft]) -> None:
    """Raises before anything is recorded. A conflict with a newer version is reported first."""
    registry, problems = round.state.objects, []
    seen: set[tuple[str, ObjectName]] = set()
    for number, draft in enumerate(drafts):
        path = f"items[{number}]." if len(drafts) > 1 else ""
        if (draft.kind, draft.name) in seen:
            problems.append(Problem(f"{path}metadata.name", "appears twice in this file", str(draft.name)))
        seen.add((draft.kind, draft.name))
        before: Any = registry.get(draft.kind, draft.name)
        resolve_spec(draft, before)  # raises Conflict where it is based on another version
        if before is not None:
            refuse_change(draft, before)
        if isinstance(draft.spec, SchedulingSpec):
            problems += _infeasible_problems(round, draft.spec, drafts, path)
    check_read_only_fields(
        drafts, [_document_of(registry.get(draft.kind, draft.name)) if draft.own else None for draft in drafts]
    )
    if problems:
        raise Invalid(problems)
    _check_object_limit(round, drafts)


def _check_object_limit(round: Round, drafts: list[Draft]) -> None:
    registry = round.state.objects
    for kind in {draft.kind for draft in drafts}:
        added = sum(draft.kind == kind and registry.get(kind, draft.name) is None for draft in drafts)
        if sum(1 for _ in registry.all(kind)) + added > OBJECTS_MAX:
            raise Busy(f"the cluster has the maximum of {OBJECTS_MAX} objects of kind {kind}", 5.0)


def _document_of(object: Object | None) -> Document | None:
    return None if object is None else object_document(object)


def _check_revision(kind: str, object: Any, revision: int) -> None:
    if object.meta.revision != revision:
        raise Conflict(
            f"{kind} {object.meta.object_name} has changed: resourceVersion is {revision} in the request, but now "
            f"{object.meta.revision}",
            (Problem("metadata.resourceVersion", "is not the current version", revision, "read it again first"),),
        )


def _infeasible_problems(round: Round, spec: SchedulingSpec, drafts: list[Draft], path: str) -> list[Problem]:
    """Refuse jobs that can never run on a known testbed. For a testbed that is created later, this is checked then."""
    testbed = round.state.objects.testbeds.get(spec.testbed)
    known = any(draft.kind == TESTBED and draft.name == spec.testbed for draft in drafts)
    if testbed is None or known or testbed.status.state in (TestbedState.INITIAL, TestbedState.ERROR):
        return []
    return [Problem(f"{path}spec", fault) for fault in infeasible_reasons(spec, testbed)]
