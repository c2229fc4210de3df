"""The smallest single changes that would start a job that waits. Called by the gateway, aside from the engine's rounds.

Each candidate is tried out: the changed job is submitted in the old one's place to a copy of the cluster, or the rest
of that is changed, and the planner decides. Only what starts there is suggested. What concerns an update is tried as an
update.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from shunter.engine.policy.dry_run import DryRun, Material
from shunter.engine.state.records import Job
from shunter.gateway.explain.remedies import (
    AS_IT_IS,
    Arrange,
    Candidate,
    find_candidates,
    helps_update,
    limit_of_its_own,
)
from shunter.model.errors import Rejected
from shunter.model.job.spec import JobSpec
from shunter.model.lifecycles import TaskState
from shunter.model.rest.views import SuggestionView
from shunter.planning.filter.filters import Filter

SUGGESTIONS_MAX = 5
TRIALS_MAX = 24  # changes that are tried for one question
COPIES_MAX = 12  # of the cluster, that are made for them


def consult(material: Material, job_id: int, filters: Sequence[Filter]) -> tuple[list[str], list[SuggestionView]]:
    """What the planner itself says of a job that waits, and what would start it."""
    trial = DryRun(material)
    if job_id not in trial.state.jobs:
        return [], []
    trial.place()
    return trial.held_up(job_id), suggest(material, job_id, filters)


def suggest(material: Material, job_id: int, filters: Sequence[Filter]) -> list[SuggestionView]:
    """Verified ones, the smallest first. Nothing for a job that would start anyway."""
    bench = _Bench(material, job_id)
    job = bench.job
    of_update = list(helps_update(bench.trial.state, job))
    found_ones = [*of_update, *find_candidates(bench.trial.state, job, filters)]
    candidates = sorted(found_ones, key=lambda each: each.size)
    own = limit_of_its_own(job)
    if bench.try_out(AS_IT_IS):
        candidates = of_update + ([own] if own is not None else [])
    found: list[SuggestionView] = []
    most: dict[str, int] = {}  # a larger change of the same field must start more
    for candidate in candidates[:TRIALS_MAX]:
        starts = bench.try_out(candidate)
        if starts > most.get(candidate.path, 0) and not bench.preempts_itself:
            most[candidate.path] = starts
            found.append(_view(candidate, starts, sum(bench.trial.preempted.values())))
        if len(found) == SUGGESTIONS_MAX or bench.copies == COPIES_MAX:
            break
    return found


class _Bench:
    """Where candidates are tried, one after another. A copy on which nothing happened serves the next one too."""

    def __init__(self, material: Material, job_id: int) -> None:
        self._material, self._job_id = material, job_id
        self.copies = 0
        self._is_used = False
        self._in_its_place = job_id  # the job that the next one replaces
        self._renew()
        self._spec, self._user = waiting_spec(self.job), self.job.user

    @property
    def job(self) -> Job:
        return self.trial.state.jobs[self._job_id]

    @property
    def preempts_itself(self) -> bool:
        """Whether what ran of the job had to end for the rest of it; really all of it would have been changed."""
        return any(job_id == self._job_id for job_id, _ in self.trial.preempted)

    def try_out(self, candidate: Candidate) -> int:
        """How many tasks start when the changed job takes the old one's place."""
        if candidate.is_update:
            return self._update(candidate)
        if candidate.arrange is not None:
            return self._arrange(candidate.arrange)
        if self._is_used:
            self._renew()
        if self._in_its_place in self.trial.state.jobs:
            self.trial.withdraw(self._in_its_place)
        try:
            [submitted] = self.trial.submit([candidate.amend(self._spec)], self._user)
        except Rejected:
            return 0
        self._in_its_place = submitted.job_id
        self.trial.place(sparing=self._job_id)
        self._is_used = bool(self.trial.placed or self.trial.preempted)
        return self.trial.started(submitted.job_id)

    def _arrange(self, arrange: Arrange) -> int:
        """How many tasks start when something else changes: those of the job itself, beside what runs of it."""
        if self._is_used or self._in_its_place != self._job_id:
            self._renew()
        self._is_used = True
        self.trial.do(arrange)
        self.trial.place(sparing=self._job_id)
        return self.trial.started(self._job_id)

    def _update(self, candidate: Candidate) -> int:
        """How many tasks start when the job is updated, and what has to end for that has ended."""
        self._renew()
        self._is_used, job = True, self.job
        spec = JobSpec(
            job.namespace, job.name, job.spec_version.groups, job.type, job.priority, job.labels, job.options
        )
        try:
            self.trial.submit([candidate.amend(spec)], self._user)
        except Rejected:
            return 0
        self.trial.end_stopping(self._job_id)
        self.trial.place()
        return self.trial.started(self._job_id)

    def _renew(self) -> None:
        self.trial, self._is_used = DryRun(self._material), False
        self._in_its_place = self._job_id
        self.copies += 1


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
