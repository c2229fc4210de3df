"""What would happen: dry runs of submits, on copies of the cluster. Called by the gateway."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Protocol, TypeVar

from shunter.engine.engine import Engine
from shunter.engine.jobs.dependencies import NO_PAST, Past
from shunter.engine.policy.dry_run import DryRun, Material, take_material
from shunter.engine.state.records import Job
from shunter.engine.state.state import State
from shunter.gateway.explain.why import reasons_of, say_state
from shunter.model.errors import Busy
from shunter.model.job.spec import JobSpec
from shunter.model.lifecycles import TaskState
from shunter.model.rest.views import PlannedJobView, PlannedPlacementView, PlannedPreemptionView, PlanView
from shunter.ports.clock import Clock

WAITING_MAX = 16  # dry runs that wait for the one that runs; each holds a copy of the cluster in memory
T = TypeVar("T")


class Aside(Protocol):
    """Runs a function without keeping the engine from its rounds: in a thread, or in tests at once."""

    def __call__(self, function: Callable[..., T], /, *arguments: object) -> Awaitable[T]: ...


async def at_once(function: Callable[..., T], /, *arguments: object) -> T:
    return function(*arguments)


class DryRuns:
    """One at a time, and few that wait."""

    def __init__(self, engine: Engine, clock: Clock, aside: Aside = at_once) -> None:
        self._engine, self._clock, self._aside = engine, clock, aside
        self._turn = asyncio.Lock()
        self._waiting = 0

    async def try_out(self, named: Callable[[State], list[Job]], function: Callable[..., T], *arguments: object) -> T:
        """Call `function(material, *arguments)` aside, with the committed state as it is when its turn has come;
        `named` says which jobs it is about."""
        if self._waiting >= WAITING_MAX:
            raise Busy(f"{self._waiting} plans and explanations are being worked out already")
        self._waiting += 1
        try:
            async with self._turn:
                await self._engine.wait_committed()
                engine, now_ms = self._engine, int(self._clock.now() * 1000)
                about = named(engine.state)
                material = take_material(engine.state, engine.active_policy, engine.settings, now_ms, about)
                return await self._aside(function, material, *arguments)
        finally:
            self._waiting -= 1


def only(job_id: int, state: State) -> list[Job]:
    """This job, unless it has ended meanwhile, and those that it waits for."""
    if job_id not in state.jobs:
        return []
    targets = state.edges.targets(job_id).values()
    return [state.jobs[job_id], *(state.jobs[target] for target in targets if target in state.jobs)]


def same_names(specs: list[JobSpec], state: State) -> list[Job]:
    """The unfinished jobs that a submit of these would meet: of the same name, and those that they come after."""
    names = {(spec.namespace, spec.name) for spec in specs}
    names |= {(spec.namespace, edge.job.partition("@")[0]) for spec in specs for edge in spec.options.after}
    return [job for namespace, name in names for job in state.unfinished_runs(namespace, name)]


def plan(material: Material, specs: list[JobSpec], user: str, past: Past = NO_PAST) -> PlanView:
    """What submitting these jobs would do now. Raises what the submit would."""
    trial = DryRun(material)
    before = {job.id: (job.version, _wanted(job)) for job in same_names(specs, trial.state)}
    submitted = trial.submit(specs, user, past)
    trial.place()
    jobs = []
    for spec, result in zip(specs, submitted, strict=True):
        job = trial.state.jobs.get(result.job_id)
        if job is None:
            jobs.append(_kept(spec))
        elif result.updated:
            jobs.append(_updated(trial, job, *before[job.id]))
        elif not result.created:
            jobs.append(_unchanged(job))
        else:
            jobs.append(_planned(trial, job, material.now_ms))
    waits = [job for job in jobs if job.waits]
    preemptions = _preemptions(trial)
    return PlanView(
        starts=not waits,
        sentence=_sentence(jobs, waits, preemptions),
        state_version=material.snapshot.version,
        policy=material.policy.name,
        jobs=jobs,
        preemptions=preemptions,
    )


def _planned(trial: DryRun, job: Job, now_ms: int) -> PlannedJobView:
    placements = _placements(trial, job)
    count = sum(group.count for group in job.task_sets)
    starts = sum(placement.count for placement in placements)
    waits = count - starts
    return PlannedJobView(
        name=job.name,
        namespace=job.namespace,
        verdict="waits" if waits else "starts",
        sentence=say_state(trial.state, job, now_ms) if waits else f"{_somewhere(placements)} would start.",
        count=count,
        starts=starts,
        waits=waits,
        placements=placements,
        reasons=reasons_of(trial.state, job) if waits else [],
    )


def _updated(trial: DryRun, job: Job, version: int, wanted: int) -> PlannedJobView:
    """A lasting job that gets another spec: the first step. The next ones follow when that is healthy."""
    placements = _placements(trial, job)
    starts, waits = sum(placement.count for placement in placements), job.counts()[TaskState.QUEUED]
    ending = (
        job.counts()[TaskState.STOPPING] if not starts else 0
    )  # what ends beside those that start goes without saying
    step = min(group.update.parallel for group in job.spec_version.groups)
    if job.version == version and _wanted(job) == wanted:
        change = f"version {version} on the other nodes too"
    elif job.version == version:
        change = f"{_tasks(_wanted(job))} instead of {wanted:,}"
    else:
        change = f"version {job.version} of {_tasks(_wanted(job))}"
        change += f", {step} at a time" if starts or ending else ""
    told = [f"{_somewhere(placements)} would start"] if starts else []
    told += [f"{waits:,} would wait" if starts else f"{_tasks(waits)} would wait"] if waits else []
    if ending:
        told.append(f"{_tasks(ending)} would end" + (" first" if job.version != version else ""))
    return PlannedJobView(
        name=job.name,
        namespace=job.namespace,
        verdict="updates",
        sentence=f"{change}: {', '.join(told) or 'nothing has to start for it'}.",
        count=_wanted(job),
        starts=starts,
        waits=waits,
        placements=placements,
        reasons=reasons_of(trial.state, job) if waits else [],
    )


def _placements(trial: DryRun, job: Job) -> list[PlannedPlacementView]:
    names = trial.state.nodes.view.names
    placements = [
        PlannedPlacementView(node=names[node], count=count, group=_group_name(job, group))
        for (job_id, group, node), count in trial.placed.items()
        if job_id == job.id
    ]
    return sorted(placements, key=lambda placement: (placement.group, placement.node))


def _somewhere(placements: list[PlannedPlacementView]) -> str:
    """`3 tasks on 2 nodes`."""
    where = len({placement.node for placement in placements})
    return f"{_tasks(sum(placement.count for placement in placements))} on {where} node{'s' if where != 1 else ''}"


def _wanted(job: Job) -> int:
    return sum(group.count for group in job.spec_version.groups)


def _unchanged(job: Job) -> PlannedJobView:
    count = sum(group.count for group in job.task_sets)
    sentence = f"it is there already, unchanged ({job.state.word})."
    return PlannedJobView(
        name=job.name, namespace=job.namespace, verdict="unchanged", sentence=sentence, count=count, starts=0, waits=0
    )


def _kept(spec: JobSpec) -> PlannedJobView:
    how = "by its schedule" if spec.options.schedule else "when it is dispatched"
    return PlannedJobView(
        name=spec.name, namespace=spec.namespace, verdict="kept", sentence=f"it would be kept, and run {how}.",
        count=spec.count, starts=0, waits=0,
    )  # fmt: skip


def _group_name(job: Job, number: int) -> str:
    return next((group.spec.name for group in job.task_sets if group.number == number), "")


def _preemptions(trial: DryRun) -> list[PlannedPreemptionView]:
    state = trial.state
    return [
        PlannedPreemptionView(
            name=state.jobs[job_id].name,
            namespace=state.jobs[job_id].namespace,
            node=state.nodes.view.names[node],
            count=count,
        )
        for (job_id, node), count in trial.preempted.items()
    ]


def _sentence(jobs: list[PlannedJobView], waits: list[PlannedJobView], preemptions: list[PlannedPreemptionView]) -> str:
    started = sum(job.starts for job in jobs)
    if waits:
        waiting = sum(job.waits for job in waits)
        sentence = f"{started:,} of {_tasks(started + waiting)} would start now, {waiting:,} would wait"
    elif started:
        sentence = f"everything would start now: {_tasks(started)}"
    elif any(job.verdict == "updates" for job in jobs):
        sentence = "nothing would wait for room"
    else:
        sentence = "nothing would change now"
    if preemptions:
        sentence += f"; {_tasks(sum(each.count for each in preemptions))} of others would have to end first"
    return sentence + "."


def _tasks(count: int) -> str:
    return f"{count:,} task{'s' if count != 1 else ''}"
