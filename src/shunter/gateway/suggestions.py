"""The smallest single changes that would start a job that waits. Called by the gateway, aside from the engine's rounds.

Each candidate is tried out: the changed job is submitted in the old one's place to a copy of the cluster, and the
planner decides. Only what starts there is suggested.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from shunter.engine.dry_run import DryRun, Material
from shunter.engine.records import Job
from shunter.engine.state import State
from shunter.gateway.candidates import AS_IT_IS, Candidate, find_candidates, is_only_by_parallel_max
from shunter.model.errors import Rejected
from shunter.model.jobs import JobSpec
from shunter.model.lifecycles import TaskState
from shunter.model.views import SuggestionView
from shunter.planning.candidates import Filter

SUGGESTIONS_MAX = 5
TRIALS_MAX = 24  # copies of the cluster that one question may make
COPIED_TASKS_MAX = 2_000_000  # unfinished tasks, over all copies that one question may make


def consult(material: Material, job_id: int, filters: Sequence[Filter]) -> tuple[list[str], list[SuggestionView]]:
    """What the planner itself says of a job that waits, and what would start it."""
    trial = DryRun(material)
    if job_id not in trial.state.jobs:
        return [], []
    trial.place()
    return trial.held_up(job_id), suggest(material, job_id, filters)


def suggest(material: Material, job_id: int, filters: Sequence[Filter]) -> list[SuggestionView]:
    """Verified ones, the smallest first. Nothing for a job that would start anyway."""
    first = DryRun(material)
    job = first.state.jobs[job_id]
    trials = _trials(first.state)
    if not trials:
        return []
    limited = is_only_by_parallel_max(job)
    candidates = (
        [limited] if limited else sorted(find_candidates(first.state, job, filters), key=lambda each: each.size)
    )
    if not candidates or (not limited and try_out(first, job_id, AS_IT_IS)):
        return []
    found: list[SuggestionView] = []
    for candidate in candidates[:trials]:
        trial = DryRun(material)
        if starts := try_out(trial, job_id, candidate):
            found.append(_view(candidate, starts, sum(trial.preempted.values())))
        if len(found) == SUGGESTIONS_MAX:
            break
    return found


def try_out(trial: DryRun, job_id: int, candidate: Candidate) -> int:
    """How many tasks start when the changed job takes the old one's place."""
    job = trial.state.jobs[job_id]
    spec, user = candidate.amend(waiting_spec(job)), job.user
    trial.withdraw(job_id)
    if candidate.arrange is not None:
        trial.do(candidate.arrange)
    try:
        [submitted] = trial.submit([spec], user)
    except Rejected:
        return 0
    trial.place()
    return trial.started(submitted.job_id)


def waiting_spec(job: Job) -> JobSpec:
    """The part of a job that has not started yet, as a job of its own; the whole of it if nothing has."""
    groups, options = job.blueprint.groups, job.options
    waiting = [0] * len(groups)
    for group in job.groups:
        waiting[group.part] += group.counts[TaskState.WAITING] + group.counts[TaskState.QUEUED]
    if job.counts()[TaskState.QUEUED]:  # whatever it waited for has come
        options = msgspec.structs.replace(options, after=(), start_at_ms=0, start_in_s=0.0)
    if sum(waiting) != sum(job.counts()):
        groups = tuple(
            msgspec.structs.replace(group, count=count, array=(), entries=(), after=())
            for group, count in zip(groups, waiting, strict=True)
            if count
        )
    options = msgspec.structs.replace(options, held=job.is_held)
    return JobSpec(job.namespace, job.name, groups, job.type, job.priority, job.labels, options)


def _trials(state: State) -> int:
    """How many copies may be made: fewer of a large cluster."""
    return min(TRIALS_MAX, COPIED_TASKS_MAX // max(1, sum(state.task_counts)))


def _view(candidate: Candidate, starts: int, preempts: int) -> SuggestionView:
    would_preempt = f", preempting {preempts:,} task{'s' if preempts != 1 else ''}" if preempts else ""
    return SuggestionView(
        field=candidate.path,
        before=candidate.before,
        after=candidate.after,
        text=candidate.text + would_preempt,
        nodes=candidate.nodes,
        starts=starts,
        preempts=preempts,
    )
