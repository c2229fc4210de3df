"""Explains the state of a Testbed, BatchJob or Scheduling: one sentence, and what a user should fix. Called by
`gateway.explain.explain`, and by plans for objects that would be applied."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from shunter.engine.state.state import State
from shunter.model.job.spec import NAMESPACE_DEFAULT
from shunter.model.objects.batch_jobs import BatchJob, BatchJobState
from shunter.model.objects.documents import APPLICATION_PREFIX
from shunter.model.objects.object_meta import ObjectName
from shunter.model.objects.objects import Object
from shunter.model.objects.schedulings import JobProgress, Scheduling, SchedulingState
from shunter.model.objects.testbeds import Testbed, TestbedState
from shunter.model.rest.plan_views import ReasonView, WhyView

NAMED_MAX = 5  # jobs or slots in one sentence
_ENDED = (SchedulingState.COMPLETED, SchedulingState.FINISHED, SchedulingState.FAILED)
_FAILED = (BatchJobState.FAILED, BatchJobState.FAILED_SUBMISSION)


def why_object(state: State, each: Object) -> WhyView:
    if isinstance(each, Testbed):
        sentence, counts = _describe_testbed(state, each), Counter(slot.state.wire_name for slot in each.status.slots)
    elif isinstance(each, BatchJob):
        sentence, counts = _describe_batch_job(state, each), Counter()
    else:
        sentence, counts = _describe_scheduling(state, each), Counter(r.progress.wire_name for r in each.status.jobs)
    return WhyView(
        name=str(each.meta.object_name),
        state=each.status.state.wire_name,
        sentence=sentence,
        counts=dict(counts),
        reasons=object_reasons(each),
    )


def object_reasons(each: Object) -> list[ReasonView]:
    """What its status says that is wrong, first of the whole object, then of single nodes."""
    by_node: dict[str, list[str]] = {}
    for node, problems in each.status.node_problems.items() if isinstance(each, Testbed) else ():
        for problem in problems:
            by_node.setdefault(problem.replace(f"node label {node} ", "node label NODE "), []).append(node)
    return [
        *(ReasonView(text=problem, nodes=0) for problem in each.status.problems),
        *(ReasonView(text=text, nodes=len(nodes), examples=nodes[:3]) for text, nodes in by_node.items()),
    ]


# ---- testbeds ----


def _describe_testbed(state: State, testbed: Testbed) -> str:
    name, status = f"Testbed {testbed.meta.object_name}", testbed.status
    slots = f"{len(status.slots):,} slot{'' if len(status.slots) == 1 else 's'}"
    if testbed.meta.is_deleting:
        return f"{name} is being deleted, and waits for the end of what runs in its {slots}."
    if not status.slots:
        what = "is not reconciled yet" if status.state is TestbedState.INITIAL else "has no slots"
        first = next((reason for reason in object_reasons(testbed)), None)
        detail = "" if first is None else f": {f'{first.examples[0]}: ' if first.examples else ''}{first.text}"
        return f"{name} {what}{detail.rstrip('.')}."
    nodes = len({slot.place.node for slot in status.slots})
    states = Counter(slot.state.wire_name.lower() for slot in status.slots)
    counts = ", ".join(f"{count:,} {word}" for word, count in states.items())
    users = " and ".join(_describe_user(state, claim) for claim in status.claims)
    used = f"Used by {users}." if users else "No Scheduling uses it."
    return f"{name} has {slots} on {nodes:,} node{'' if nodes == 1 else 's'}: {counts}. {used}"


def _describe_user(state: State, name: ObjectName) -> str:
    scheduling = state.objects.schedulings.get(name)
    if scheduling is None or scheduling.status.state not in _ENDED:
        return f"Scheduling {name}"
    return f"Scheduling {name}, which has ended and holds it until it is deleted ({_delete(name)})"


def _delete(name: ObjectName) -> str:
    return f"shunter delete scheduling {name.name}{_space(name)}"


def _space(name: ObjectName) -> str:
    return "" if name.namespace == NAMESPACE_DEFAULT else f" -n {name.namespace}"


# ---- batch jobs ----


def _describe_batch_job(state: State, job: BatchJob) -> str:
    name, own, status = f"BatchJob {job.meta.object_name}", job.meta.object_name, job.status
    if status.state in _FAILED:
        problems = " ".join(status.problems).rstrip(".")
        return f"{name} has failed{f': {problems}' if problems else ''}; {_describe_recovery(job)}."
    by = status.active_scheduling or (job.claim.scheduling if job.claim is not None else None)
    if status.state is BatchJobState.IN_QUEUE:
        return f"{name} {_describe_queued(state, job, by)}."
    if _will_restart(job):
        return f"{name} restarts: {' '.join(status.problems).rstrip('.')}. Its last tasks are stopping."
    if status.state is BatchJobState.READY:
        return f"{name} has not been submitted: {_describe_unclaimed(state, own)}."
    if status.state is BatchJobState.COMPLETED:
        return f"{name} has completed for Scheduling {by}, which holds it until it is deleted."
    if status.state is BatchJobState.PENDING_DELETION:
        return f"{name} was released, and its last tasks are stopping."
    slots = _format_slots(status.slot_ids)
    why = f"see `shunter why {APPLICATION_PREFIX}{own.name}{_space(own)}`"
    return f"{name} was submitted by Scheduling {by} to {slots} of testbed {status.testbed}; {why}."


def describe_next_run(state: State, job: BatchJob) -> str:
    """For a BatchJob that has run before: what it waits for before it runs again."""
    own, by = job.meta.object_name, job.claim.scheduling if job.claim is not None else None
    if job.status.state is BatchJobState.READY and not _will_restart(job):
        return f"It has not been submitted again: {_describe_unclaimed(state, own)}."
    return _describe_batch_job(state, job) if by is None else f"It {_describe_queued(state, job, by)}."


def _describe_queued(state: State, job: BatchJob, by: ObjectName | None) -> str:
    """A BatchJob that a Scheduling has claimed, and that waits for slots."""
    claimant = None if by is None else state.objects.schedulings.get(by)
    if claimant is not None and claimant.status.state in _ENDED:
        release = f"it is ready again when that is deleted ({_delete(claimant.meta.object_name)})"
        return f"will not run: Scheduling {by}, which has claimed it, has failed; {release}"
    claimed = f"Scheduling {by} has claimed it, and it waits for free slots"
    claimed += _describe_waits(state, claimant) if claimant is not None else ""
    if _will_restart(job):
        return f"restarts: {' '.join(job.status.problems).rstrip('.')}. {claimed}"
    return f"has not been submitted: {claimed}"


def _will_restart(job: BatchJob) -> bool:
    """Whether it has lost a node, and was not submitted again yet."""
    return bool(job.status.restarts and job.status.problems) and job.claim is not None


def _describe_recovery(job: BatchJob) -> str:
    """Only a BatchJob that could not be submitted at all needs a reset."""
    own, by = job.meta.object_name, None if job.claim is None else job.claim.scheduling
    if job.status.state is BatchJobState.FAILED:
        released = "" if by is None else f"after Scheduling {by} is deleted, "
        return f"{released}it can run again after `shunter batchjob reset {own.name}{_space(own)}`"
    if by is None:
        return "it is ready again when its last tasks have stopped"
    return f"it is ready again when Scheduling {by} is deleted ({_delete(by)})"


def _describe_unclaimed(state: State, job: ObjectName) -> str:
    named_by = state.objects.schedulings_by_job.get(job, {})
    for name in named_by:
        scheduling = state.objects.schedulings[name]
        is_usable = state.tenants.share_owner(name.namespace, job.namespace)
        if is_usable and scheduling.status.state not in _ENDED:
            return f"Scheduling {name} names it, and has not claimed it yet{_describe_waits(state, scheduling)}"
    return "no Scheduling names it. Apply one that does"


def _describe_waits(state: State, scheduling: Scheduling) -> str:
    """What a Scheduling waits for; if that is an ended Scheduling, how to end the wait."""
    awaited = scheduling.status.waits_for
    if not awaited:
        return ""
    return f"; the Scheduling waits for {awaited}{_describe_ended_holder(state, scheduling)}"


def _describe_ended_holder(state: State, scheduling: Scheduling) -> str:
    for name, other in state.objects.schedulings.items():
        if other.status.state in _ENDED and f"scheduling {name}," in scheduling.status.waits_for:
            return f", and has ended: `{_delete(name)}` releases it"
    return ""


# ---- schedulings ----


def _describe_scheduling(state: State, scheduling: Scheduling) -> str:
    own, status = scheduling.meta.object_name, scheduling.status
    name, problems = f"Scheduling {own}", " ".join(status.problems).rstrip(".")
    if scheduling.meta.is_deleting:
        return f"{name} is being deleted, and waits until its jobs have stopped."
    if status.state is SchedulingState.FAILED:
        return f"{name} has failed{f': {problems}' if problems else ''}; delete it with `{_delete(own)}`."
    if status.state in _ENDED:
        return f"{name} has ended. It holds its testbed and jobs until you delete it: `{_delete(own)}`."
    details, testbed = describe_progress(scheduling), state.objects.testbeds.get(scheduling.spec.testbed)
    if status.state is SchedulingState.ACQUIRE and (testbed is None or own not in testbed.status.claims):
        waits = f" for {status.waits_for}{_describe_ended_holder(state, scheduling)}" if status.waits_for else ""
        return f"{name} has claimed nothing yet: it waits{waits or ' for the next round'}."
    waits = f" It waits for {status.waits_for}." if status.waits_for else ""
    return f"{name} uses testbed {scheduling.spec.testbed}: {details}.{waits}"


def describe_progress(scheduling: Scheduling) -> str:
    """`a in slots 0, 1 Scheduled; b, c wait for slots`."""
    jobs = list(zip(scheduling.spec.distinct_jobs, scheduling.status.jobs, strict=False))
    placed = [
        f"{job.name} in {_format_slots(record.slot_ids)}"
        for job, record in jobs
        if record.progress in (JobProgress.SUBMITTED, JobProgress.SCHEDULED)
    ]
    waiting = [job.name for job, record in jobs if record.progress < JobProgress.SUBMITTED]
    completed = sum(record.progress is JobProgress.COMPLETED for _, record in jobs)
    parts = [
        f"{_some(placed)} {'has' if len(placed) == 1 else 'have'} started" if placed else "",
        f"{_some(waiting)} {'waits' if len(waiting) == 1 else 'wait'} for slots" if waiting else "",
        f"{completed:,} of {len(jobs):,} jobs completed" if completed else "",
    ]
    return "; ".join(filter(None, parts)) or "no job has started yet"


def _format_slots(slot_ids: Sequence[int]) -> str:
    """`slot 3`, or `slots 0, 1`; of many, the first ones."""
    return f"slot{'' if len(slot_ids) == 1 else 's'} {_some([str(each) for each in slot_ids])}"


def _some(names: list[str]) -> str:
    more = len(names) - NAMED_MAX
    return ", ".join(names[:NAMED_MAX]) + (f" and {more:,} more" if more > 0 else "")
