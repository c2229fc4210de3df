"""Plans: dry runs of submits on copies of the cluster. Called by `gateway.explain.explain`."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, replace
from typing import Protocol, TypeVar

from shunter.engine.engine import Engine
from shunter.engine.jobs.submit import SubmitResult
from shunter.engine.policy.dry_run import DryRun, DryRunSource, take_dry_run_source
from shunter.engine.services.instances import InstanceKey, collect_instances, is_same_workload, is_wanted
from shunter.engine.state.records import Job
from shunter.engine.state.registries.tenants import OTHER_JOB
from shunter.engine.state.state import State
from shunter.gateway.explain.names import ALL_NAMES, Names
from shunter.gateway.explain.why import describe_state, reasons_of
from shunter.model.errors import Busy
from shunter.model.job.spec import GroupSpec, JobSpec
from shunter.model.lifecycles import TaskState
from shunter.model.rest.plan_views import PlannedJobView, PlannedPlacementView, PlannedPreemptionView, PlanView
from shunter.ports.clock import Clock
from shunter.ports.store import RunKey

WAITING_MAX = 16  # dry runs in the queue; each holds a copy of the cluster in memory
T = TypeVar("T")


class RunInThread(Protocol):
    """Runs a function without blocking the engine: in a thread, or in tests inline."""

    def __call__(self, function: Callable[..., T], /, *arguments: object) -> Awaitable[T]: ...


async def run_inline(function: Callable[..., T], /, *arguments: object) -> T:
    return function(*arguments)


class DryRuns:
    """One dry run at a time; few may wait."""

    def __init__(self, engine: Engine, clock: Clock, run_in_thread: RunInThread = run_inline) -> None:
        self._engine, self._clock, self._run_in_thread = engine, clock, run_in_thread
        self._lock = asyncio.Lock()
        self._waiting = 0

    async def run(
        self,
        select_jobs: Callable[[State], list[Job]],
        function: Callable[..., T],
        *arguments: object,
        runs: Iterable[RunKey] = (),
        names: Names = ALL_NAMES,
    ) -> T:
        """Call `function(dry_run_source, *arguments)` with the committed state at its turn. `select_jobs` selects the
        jobs that it is about, `runs` are the ended runs that it has to know. Reasons of planners
        call jobs by `names`."""
        if self._waiting >= WAITING_MAX:
            raise Busy(f"{self._waiting} plans and explanations are already in progress")
        self._waiting += 1
        try:
            async with self._lock:
                await self._engine.wait_committed()
                engine, now_ms = self._engine, int(self._clock.now() * 1000)
                selected_jobs = select_jobs(engine.state)
                dry_run_source = take_dry_run_source(
                    engine.state, engine.active_policy, engine.settings, now_ms, selected_jobs
                )
                # After the copy: a run that ends in between is then both unfinished in the copy and in history.
                ended_runs = dry_run_source.ended_runs.copy(await engine.look_up_runs(set(runs)))
                dry_run_source = replace(dry_run_source, ended_runs=ended_runs, called=names.called)
                return await self._run_in_thread(function, dry_run_source, *arguments)
        finally:
            self._waiting -= 1


def job_with_dependencies(job_id: int, state: State) -> list[Job]:
    """This job, unless it has ended, and those that it waits for."""
    if job_id not in state.jobs:
        return []
    targets = state.edges.targets(job_id).values()
    return [state.jobs[job_id], *(state.jobs[target] for target in targets if target in state.jobs)]


def jobs_named_in(specs: list[JobSpec], state: State) -> list[Job]:
    """The unfinished jobs that a submit of these specs refers to: by the same name, or as dependencies."""
    names = {(spec.namespace, spec.name) for spec in specs}
    names |= {(spec.namespace, edge.job.partition("@")[0]) for spec in specs for edge in spec.options.after}
    return [job for namespace, name in names for job in state.unfinished_runs(namespace, name)]


def plan(dry_run_source: DryRunSource, specs: list[JobSpec], user: str, names: Names = ALL_NAMES) -> PlanView:
    """What submitting these jobs would do now. Raises what the submit would."""
    dry_run = DryRun(dry_run_source)
    before = jobs_before(dry_run, specs)
    submitted = dry_run.submit(specs, user)
    dry_run.place()
    jobs = planned_jobs(dry_run, specs, submitted, before, dry_run_source.now_ms, names)
    preemptions = planned_preemptions(dry_run, names)
    return PlanView(
        starts=not any(job.waits for job in jobs),
        sentence=summarize_jobs(jobs, preemptions),
        state_version=dry_run_source.snapshot.version,
        policy=dry_run_source.policy.name,
        jobs=jobs,
        preemptions=preemptions,
    )


@dataclass(frozen=True, slots=True)
class JobBefore:
    """What a plan compares an updated job with."""

    version: int
    count: int
    stopping: int
    specs: dict[InstanceKey, GroupSpec]  # of a long-running job: what each instance runs


def jobs_before(dry_run: DryRun, specs: list[JobSpec]) -> dict[int, JobBefore]:
    """The jobs that a submit of these specs may update, by id, as they are before it."""
    return {
        job.id: JobBefore(
            job.version, _desired_count(job), job.counts()[TaskState.STOPPING], _instance_specs(dry_run.state, job)
        )
        for job in jobs_named_in(specs, dry_run.state)
    }


def _instance_specs(state: State, job: Job) -> dict[InstanceKey, GroupSpec]:
    if not job.is_long_running:
        return {}
    instances = collect_instances(state, job)
    return {key: each.current.task_set.spec for key, each in instances.items() if is_wanted(job, *key)}


def planned_jobs(
    dry_run: DryRun,
    specs: list[JobSpec],
    submitted: list[SubmitResult],
    before: dict[int, JobBefore],
    now_ms: int,
    names: Names = ALL_NAMES,
) -> list[PlannedJobView]:
    """What the submit did to each job."""
    views = []
    for spec, result in zip(specs, submitted, strict=True):
        job = dry_run.state.jobs.get(result.job_id)
        if job is None:
            views.append(_planned_template(spec))
        elif result.updated:
            views.append(_planned_update(dry_run, job, before[job.id], names))
        else:
            views.append(_planned(dry_run, job, now_ms, names) if result.created else _planned_unchanged(job))
    return views


def _planned(dry_run: DryRun, job: Job, now_ms: int, names: Names) -> PlannedJobView:
    placements = _placements(dry_run, job)
    count = sum(task_set.count for task_set in job.task_sets)
    starts = sum(placement.count for placement in placements)
    waits = count - starts
    sentence = f"{_format_placements(placements)} would start."
    if waits:
        sentence = describe_state(dry_run.state, job, now_ms, names=names)
    return PlannedJobView(
        name=job.name,
        namespace=job.namespace,
        verdict="waits" if waits else "starts",
        sentence=sentence,
        count=count,
        starts=starts,
        waits=waits,
        placements=placements,
        reasons=reasons_of(dry_run.state, job, names=names) if waits else [],
    )


def _planned_update(dry_run: DryRun, job: Job, before: JobBefore, names: Names) -> PlannedJobView:
    """The whole update, and its first step. The next steps follow when it is healthy."""
    placements = _placements(dry_run, job)
    starts, waits = sum(placement.count for placement in placements), job.counts()[TaskState.QUEUED]
    stops = job.counts()[TaskState.STOPPING] - before.stopping
    replaces = _count_replaced(dry_run.state, job, before)
    clauses = []
    if starts:
        clauses.append(f"{_format_placements(placements)} would start")
    if waits:
        clauses.append(f"{waits:,} would stay pending" if starts else f"{_format_task_count(waits)} would stay pending")
    if stops:
        clauses.append(f"{_format_task_count(stops)} would stop")
    return PlannedJobView(
        name=job.name,
        namespace=job.namespace,
        verdict="updates",
        sentence=f"{_describe_change(job, before, replaces)}{', '.join(clauses) or 'no task has to start'}.",
        count=_desired_count(job),
        starts=starts,
        waits=waits,
        placements=placements,
        reasons=reasons_of(dry_run.state, job, names=names) if waits else [],
        stops=stops,
        replaces=replaces,
    )


def _count_replaced(state: State, job: Job, before: JobBefore) -> int:
    """How many instances stay and get another spec, except those that a user stopped."""
    specs, service_state = {spec.name: spec for spec in job.spec_version.groups}, state.services.jobs[job.id]
    return sum(
        not is_same_workload(spec, specs[key[0]])
        for key, spec in before.specs.items()
        if is_wanted(job, *key) and not service_state.is_down(*key)
    )


def _describe_change(job: Job, before: JobBefore, replaces: int) -> str:
    """What the whole update does; the first step follows."""
    count = _format_task_count(_desired_count(job))
    instead = f" instead of {before.count:,}" if _desired_count(job) != before.count else ""
    if job.version == before.version:
        change = count + instead if instead else f"version {job.version} on all other nodes as well"
    else:
        change = f"version {job.version} of {count}{instead}" if instead or not replaces else f"version {job.version}"
    if not replaces:
        return f"{change}: "
    return f"{change} replaces {_format_task_count(replaces)}{_describe_pace(job, replaces)}; first: "


def _describe_pace(job: Job, replaces: int) -> str:
    groups = job.spec_version.groups
    parallel = min(group.update.parallel for group in groups)
    if parallel >= replaces:
        return ""
    return f", {parallel:,} at a time" + (" in each group" if len(groups) > 1 else "")


def _placements(dry_run: DryRun, job: Job) -> list[PlannedPlacementView]:
    """A group may have several task sets: an update adds one to those that exist."""
    names = dry_run.state.nodes.view.names
    counts: Counter[tuple[str, str]] = Counter()
    for (job_id, task_set, node), count in dry_run.placed.items():
        if job_id == job.id:
            counts[_group_name(job, task_set), names[node]] += count
    return [
        PlannedPlacementView(node=node, count=count, group=group) for (group, node), count in sorted(counts.items())
    ]


def _format_placements(placements: list[PlannedPlacementView]) -> str:
    """`3 tasks on 2 nodes`."""
    node_count = len({placement.node for placement in placements})
    tasks = _format_task_count(sum(placement.count for placement in placements))
    return f"{tasks} on {node_count} node{'s' if node_count != 1 else ''}"


def _desired_count(job: Job) -> int:
    return sum(group.count for group in job.spec_version.groups)


def _planned_unchanged(job: Job) -> PlannedJobView:
    count = sum(task_set.count for task_set in job.task_sets)
    sentence = f"it exists with this spec, and is {job.state.wire_name}."
    return PlannedJobView(
        name=job.name, namespace=job.namespace, verdict="unchanged", sentence=sentence, count=count, starts=0, waits=0
    )


def _planned_template(spec: JobSpec) -> PlannedJobView:
    how = "on its schedule" if spec.options.schedule else "when it is dispatched"
    return PlannedJobView(
        name=spec.name, namespace=spec.namespace, verdict="kept",
        sentence=f"it would be saved as a template that runs {how}.",
        count=spec.count, starts=0, waits=0,
    )  # fmt: skip


def _group_name(job: Job, number: int) -> str:
    return next((task_set.spec.name for task_set in job.task_sets if task_set.number == number), "")


def planned_preemptions(dry_run: DryRun, names: Names = ALL_NAMES) -> list[PlannedPreemptionView]:
    """Jobs that the caller does not see count as one."""
    state, counts = dry_run.state, Counter[tuple[str, str, str]]()
    for (job_id, node), count in dry_run.preempted.items():
        job = state.jobs[job_id]
        name, namespace = (job.name, job.namespace) if names.sees(job.namespace) else (OTHER_JOB, "")
        counts[name, namespace, state.nodes.view.names[node]] += count
    return [
        PlannedPreemptionView(name=name, namespace=namespace, node=node, count=count)
        for (name, namespace, node), count in counts.items()
    ]


def summarize_jobs(jobs: list[PlannedJobView], preemptions: list[PlannedPreemptionView]) -> str:
    started, waits = sum(job.starts for job in jobs), [job for job in jobs if job.waits]
    if waits:
        waiting = sum(job.waits for job in waits)
        sentence = (
            f"{started:,} of {_format_task_count(started + waiting)} would start now, {waiting:,} would stay pending"
        )
    elif started:
        step = " of the first step" if any(job.replaces for job in jobs) else ""
        sentence = f"All tasks{step} would start now: {_format_task_count(started)}"
    elif any(job.verdict == "updates" for job in jobs):
        sentence = "No task would stay pending"
    else:
        sentence = "Nothing would change now"
    if preemptions:
        planned = {(job.namespace, job.name) for job in jobs}
        are_others = all((each.namespace, each.name) not in planned for each in preemptions)
        count = _format_task_count(sum(each.count for each in preemptions))
        sentence += f"; {count}{' of other jobs' if are_others else ''} would be preempted"
    return sentence + "."


def _format_task_count(count: int) -> str:
    return f"{count:,} task{'s' if count != 1 else ''}"
