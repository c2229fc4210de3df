"""Plans of files with Testbeds, BatchJobs and Schedulings: dry runs of applies on copies of the cluster. Called by
`gateway.explain.explain`."""

from __future__ import annotations

from collections import Counter

from shunter.engine.jobs.apply_file import MixedFile, on_apply_file
from shunter.engine.jobs.submit import SubmitResult
from shunter.engine.objects.apply import UNCHANGED, ApplyResult
from shunter.engine.objects.controller import reconcile_objects, reconcile_placed_objects
from shunter.engine.policy.dry_run import DryRun, DryRunSource
from shunter.engine.round import Round
from shunter.engine.state.records import Job
from shunter.engine.state.state import State
from shunter.gateway.explain.names import ALL_NAMES, Names
from shunter.gateway.explain.plan import jobs_before, jobs_named_in, planned_jobs, planned_preemptions, summarize_jobs
from shunter.gateway.explain.why import describe_state
from shunter.gateway.explain.why_objects import why_object
from shunter.model.lifecycles import TaskState
from shunter.model.objects.batch_jobs import BatchJob, BatchJobState
from shunter.model.objects.object_meta import ObjectName
from shunter.model.objects.objects import Object
from shunter.model.objects.schedulings import Scheduling, SchedulingState
from shunter.model.objects.testbeds import Testbed
from shunter.model.rest.plan_views import PlannedObjectView, PlanView, ReasonView

SETTLES_MAX = 16  # rounds of placement: a driver starts before its executors
_FAILED = (BatchJobState.FAILED, BatchJobState.FAILED_SUBMISSION)


def jobs_of_file(file: MixedFile, state: State) -> list[Job]:
    """The jobs that its plan is about: also all that run BatchJobs, because they hold slots."""
    applications = (state.jobs.get(job_id) for job_id in state.objects.applications)
    return [*jobs_named_in(file.specs, state), *(job for job in applications if job is not None)]


def plan_file(dry_run_source: DryRunSource, file: MixedFile, user: str, names: Names = ALL_NAMES) -> PlanView:
    """What applying this file would do now. Raises what the apply would. An object names nothing of another tenant;
    jobs and preemptions are called by `names`."""
    dry_run, now_ms = DryRun(dry_run_source), dry_run_source.now_ms
    before = jobs_before(dry_run, file.specs)

    def apply(round: Round) -> tuple[list[SubmitResult], list[ApplyResult]]:
        results = on_apply_file(round, file, user, None)
        reconcile_objects(round, is_placing_next=True)
        return results

    submitted, applied = dry_run.do(apply)
    _place_until_settled(dry_run)
    jobs = planned_jobs(dry_run, file.specs, submitted, before, now_ms, names)
    objects = [_planned_object(dry_run, each, now_ms, names) for each in applied]
    preemptions = planned_preemptions(dry_run, names)
    sentences = [_summarize_objects(objects), summarize_jobs(jobs, preemptions) if jobs or preemptions else ""]
    return PlanView(
        starts=not any(job.waits for job in jobs) and not any(each.verdict in ("waits", "fails") for each in objects),
        sentence=" ".join(filter(None, sentences)),
        state_version=dry_run_source.snapshot.version,
        policy=dry_run_source.policy.name,
        jobs=jobs,
        preemptions=preemptions,
        objects=objects,
    )


def _place_until_settled(dry_run: DryRun) -> None:
    """Placement and objects take turns: what is placed may request more."""
    for _ in range(SETTLES_MAX):
        placed = dry_run.placed.total()
        dry_run.place()
        dry_run.do(reconcile_placed_objects)
        if dry_run.placed.total() == placed:
            return


def _planned_object(dry_run: DryRun, result: ApplyResult, now_ms: int, called: Names) -> PlannedObjectView:
    state = dry_run.state
    each = state.objects.get(result.kind, result.name)
    assert each is not None
    found = why_object(state, each)
    pending = [*_pending_applications(state, each, now_ms, called)]
    action = "It is unchanged." if result.action == UNCHANGED else f"It would be {result.action}."
    return PlannedObjectView(
        kind=result.kind,
        name=result.name.name,
        namespace=result.name.namespace,
        action=result.action,
        verdict="waits" if pending else _verdict(each),
        state=found.state,
        sentence=f"{action} Then: {found.sentence}",
        reasons=[*found.reasons, *pending],
    )


def _verdict(each: Object) -> str:
    if isinstance(each, Testbed):
        return "ready" if each.status.slots else "waits"
    if isinstance(each, BatchJob):
        if each.status.state in _FAILED:
            return "fails"
        return {BatchJobState.READY: "ready", BatchJobState.IN_QUEUE: "waits"}.get(each.status.state, "starts")
    return {SchedulingState.ACQUIRE: "waits", SchedulingState.FAILED: "fails"}.get(each.status.state, "starts")


def _pending_applications(state: State, each: Object, now_ms: int, called: Names) -> list[ReasonView]:
    """Why drivers or executors of what would be submitted stay pending."""
    names: list[ObjectName] = [each.meta.object_name] if isinstance(each, BatchJob) else []
    if isinstance(each, Scheduling):
        names = list(state.objects.claimed_jobs.get(each.meta.object_name, ()))
    cores = (state.jobs.get(state.objects.batch_jobs[name].status.application) for name in names)
    return [
        ReasonView(text=f"{core.name}: {describe_state(state, core, now_ms, names=called)}", nodes=0)
        for core in cores
        if core is not None and core.counts()[TaskState.QUEUED]
    ]


def _summarize_objects(objects: list[PlannedObjectView]) -> str:
    """`2 BatchJobs and 1 Scheduling would be created; 1 of 3 objects would wait or fail.`"""
    kinds: dict[str, Counter[str]] = {}
    for each in objects:
        kinds.setdefault(each.action, Counter())[each.kind] += 1
    parts = []
    for action, counts in kinds.items():
        *names, last = (f"{count:,} {kind}{'' if count == 1 else 's'}" for kind, count in counts.items())
        listed = f"{', '.join(names)} and {last}" if names else last
        parts.append(f"{listed} would {'stay' if action == UNCHANGED else 'be'} {action}")
    stuck = sum(each.verdict in ("waits", "fails") for each in objects)
    end = f"; {stuck:,} of {len(objects):,} objects would wait or fail" if stuck else "; none would wait"
    return f"{', '.join(parts)}{end}."
