"""Finds the smallest single changes that would start a waiting job. Called by the gateway outside of the engine's
rounds.

Each candidate is tried on a copy of the cluster: the changed job is submitted in place of the old one, or the cluster
is changed, and the planner decides. Only changes that start the job there are suggested. Changes of an update are tried
as an update."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from shunter.engine.policy.dry_run import DryRun, DryRunSource
from shunter.engine.state.records import Job
from shunter.gateway.explain.remedies import (
    NO_CHANGE,
    ClusterChange,
    Remedy,
    find_remedies,
    own_limit_remedy,
    update_remedies,
)
from shunter.model.errors import Rejected
from shunter.model.job.spec import JobSpec
from shunter.model.lifecycles import TaskState
from shunter.model.rest.plan_views import SuggestionView
from shunter.planning.filter.filters import Filter

SUGGESTIONS_MAX = 5
TRIALS_MAX = 24  # changes that are tried for one question
COPIES_MAX = 12  # of the cluster, that are made for them


def diagnose(
    dry_run_source: DryRunSource, job_id: int, filters: Sequence[Filter]
) -> tuple[list[str], list[SuggestionView]]:
    """The planner's own reasons for a waiting job, and what would start it."""
    dry_run = DryRun(dry_run_source)
    if job_id not in dry_run.state.jobs:
        return [], []
    dry_run.place()
    return dry_run.pending_reasons(job_id), suggest_remedies(dry_run_source, job_id, filters)


def suggest_remedies(dry_run_source: DryRunSource, job_id: int, filters: Sequence[Filter]) -> list[SuggestionView]:
    """Verified ones, the smallest first. Nothing for a job that would start anyway."""
    trial = _RemedyTrial(dry_run_source, job_id)
    job = trial.job
    for_update = list(update_remedies(trial.dry_run.state, job))
    all_remedies = [*for_update, *find_remedies(trial.dry_run.state, job, filters)]
    remedies = sorted(all_remedies, key=lambda each: each.cost)
    own_limit = own_limit_remedy(job)
    if trial.try_remedy(NO_CHANGE):
        remedies = for_update + ([own_limit] if own_limit is not None else [])
    found: list[SuggestionView] = []
    best_starts: dict[str, int] = {}  # a larger change of the same field must start more
    for remedy in remedies[:TRIALS_MAX]:
        starts = trial.try_remedy(remedy)
        if starts > best_starts.get(remedy.path, 0) and not trial.preempts_own_tasks:
            best_starts[remedy.path] = starts
            found.append(_view(remedy, starts, sum(trial.dry_run.preempted.values())))
        if len(found) == SUGGESTIONS_MAX or trial.copies == COPIES_MAX:
            break
    return found


def find_verified(
    dry_run_source: DryRunSource, job_id: int, filters: Sequence[Filter], path: str, before: Any, after: Any
) -> Remedy | None:
    """The change that a suggestion stands for, if it would still start the job."""
    if job_id not in DryRun(dry_run_source).state.jobs:
        return None
    trial = _RemedyTrial(dry_run_source, job_id)
    own_limit = own_limit_remedy(trial.job)
    remedies = [*update_remedies(trial.dry_run.state, trial.job), *([own_limit] if own_limit is not None else [])]
    remedies += find_remedies(trial.dry_run.state, trial.job, filters)
    for remedy in remedies:
        if (remedy.path, remedy.before, remedy.after) == (path, before, after):
            return remedy if trial.try_remedy(remedy) and not trial.preempts_own_tasks else None
    return None


class _RemedyTrial:
    """Where candidates are tried, one after another. A copy on which nothing happened serves the next one too."""

    def __init__(self, dry_run_source: DryRunSource, job_id: int) -> None:
        self._dry_run_source, self._job_id = dry_run_source, job_id
        self.copies = 0
        self._is_dirty = False
        self._replaced_id = job_id  # the job that the next one replaces
        self._reset()
        self._spec, self._user = waiting_spec(self.job), self.job.user

    @property
    def job(self) -> Job:
        return self.dry_run.state.jobs[self._job_id]

    @property
    def preempts_own_tasks(self) -> bool:
        """Whether the change works only by preempting the job's own tasks."""
        return any(job_id == self._job_id for job_id, _ in self.dry_run.preempted)

    def try_remedy(self, remedy: Remedy) -> int:
        """How many tasks start when the changed job takes the old one's place."""
        if remedy.is_update:
            return self._try_update(remedy)
        if remedy.change_cluster is not None:
            return self._try_cluster_change(remedy.change_cluster)
        if self._is_dirty:
            self._reset()
        if self._replaced_id in self.dry_run.state.jobs:
            self.dry_run.cancel_pending(self._replaced_id)
        try:
            [submitted] = self.dry_run.submit([remedy.change_spec(self._spec)], self._user)
        except Rejected:
            return 0
        self._replaced_id = submitted.job_id
        self.dry_run.place(stop_if_preempted=self._job_id)
        self._is_dirty = bool(self.dry_run.placed or self.dry_run.preempted)
        return self.dry_run.started(submitted.job_id)

    def _try_cluster_change(self, change_cluster: ClusterChange) -> int:
        """How many tasks of the job start after another change, besides those that run already."""
        if self._is_dirty or self._replaced_id != self._job_id:
            self._reset()
        self._is_dirty = True
        self.dry_run.do(change_cluster)
        self.dry_run.place(stop_if_preempted=self._job_id)
        return self.dry_run.started(self._job_id)

    def _try_update(self, remedy: Remedy) -> int:
        """How many tasks start when the job is updated, and what has to end for that has ended."""
        self._reset()
        self._is_dirty, job = True, self.job
        try:
            self.dry_run.submit([remedy.change_spec(whole_spec(job))], self._user)
        except Rejected:
            return 0
        self.dry_run.finish_stopping(self._job_id)
        self.dry_run.place()
        return self.dry_run.started(self._job_id)

    def _reset(self) -> None:
        self.dry_run, self._is_dirty = DryRun(self._dry_run_source), False
        self._replaced_id = self._job_id
        self.copies += 1


def whole_spec(job: Job) -> JobSpec:
    return JobSpec(job.namespace, job.name, job.spec_version.groups, job.type, job.priority, job.labels, job.options)


def waiting_spec(job: Job) -> JobSpec:
    """The part of a job that has not started yet, as a job of its own; the whole of it if nothing has."""
    groups, options = job.spec_version.groups, job.options
    waiting = [0] * len(groups)
    for group in job.task_sets:
        waiting[group.group_index] += group.counts[TaskState.WAITING] + group.counts[TaskState.QUEUED]
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


def _view(remedy: Remedy, starts: int, preempts: int) -> SuggestionView:
    would_preempt = f", preempting {preempts:,} task{'s' if preempts != 1 else ''}" if preempts else ""
    return SuggestionView(
        field=remedy.path,
        before=remedy.before,
        after=remedy.after,
        text=remedy.text + would_preempt,
        nodes=remedy.nodes,
        starts=starts,
        preempts=preempts,
    )
