"""The smallest single changes that would start a job that waits. Called by the gateway, aside from the engine's rounds.

Candidates come from what the job asks for and from what the cluster refuses; each is tried out by submitting the
changed job in the old one's place to a copy of the cluster. Only what starts there is suggested.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import msgspec

from shunter.engine.dry_run import DryRun, Material
from shunter.engine.records import Group, Job
from shunter.engine.state import State
from shunter.model.jobs import GroupSpec, JobSpec
from shunter.model.resources import STANDARD, format_amount
from shunter.model.views import SuggestionView
from shunter.planning.candidates import spell_amount
from shunter.planning.suggest import Fitting

SUGGESTIONS_MAX = 5
TRIALS_MAX = 24  # copies of the cluster that one question may make
PRIORITIES_MAX = 3  # that are tried, the smallest rise first
PRIORITY_MAX = 100
PREEMPT_GAP = 10
COPIED_TASKS_MAX = 2_000_000  # unfinished tasks, over all copies that one question may make

# How much of a change it is, to put the smallest first. A cut counts as the share that it takes away.
RELEASING, RESUMING, UNCORDONING, RAISING, WIDENING, DROPPING = 0.01, 0.02, 0.05, 0.1, 0.3, 0.6

Amend = Callable[[JobSpec], JobSpec]
Arrange = Callable[[DryRun], None]


@dataclass(frozen=True, slots=True)
class Candidate:
    """A change of the job (`amend`), or of something else in the cluster (`arrange`)."""

    size: float
    path: str
    before: Any
    after: Any
    text: str
    amend: Amend = field(default=lambda spec: spec)
    arrange: Arrange | None = None
    nodes: int = 0


def suggest(material: Material, job_id: int) -> list[SuggestionView]:
    """Verified ones, the smallest first. Nothing for a job that would start anyway."""
    trial = DryRun(material)
    job = trial.state.jobs.get(job_id)
    if job is None:
        return []
    trials = _trials(trial.state)
    found: list[SuggestionView] = []
    if trials and _start(DryRun(material), job_id, Candidate(0.0, "", None, None, "")):
        return []
    for candidate in sorted(candidates(trial.state, job), key=lambda each: each.size)[:trials]:
        attempt = DryRun(material)
        starts = _start(attempt, job_id, candidate)
        if starts:
            found.append(_view(candidate, starts, sum(attempt.preempted.values())))
        if len(found) == SUGGESTIONS_MAX:
            break
    return found


def candidates(state: State, job: Job) -> Iterator[Candidate]:
    """What might help, whether or not it does."""
    fitting = Fitting(state.nodes.view)
    for group in job.groups:
        if group.ready:
            yield from _of_group(job, group, fitting)
    yield from _of_priority(state, job)


def _start(trial: DryRun, job_id: int, candidate: Candidate) -> int:
    """How many tasks start when the changed job takes the old one's place."""
    job = trial.state.jobs[job_id]
    spec = candidate.amend(waiting_spec(job))
    user = job.user
    trial.withdraw(job_id)
    if candidate.arrange is not None:
        candidate.arrange(trial)
    [submitted] = trial.submit([spec], user)
    trial.place()
    return trial.started(submitted.job_id)


def waiting_spec(job: Job) -> JobSpec:
    """The part of a job that has not started yet, as a job of its own; the whole of it if nothing has."""
    groups = tuple(group.spec for group in job.groups)
    if any(sum(group.counts) != _waiting(group) for group in job.groups):
        groups = tuple(
            msgspec.structs.replace(group.spec, count=_waiting(group), array=(), entries=(), after=())
            for group in job.groups
            if _waiting(group)
        )
    return JobSpec(job.namespace, job.name, groups, job.type, job.priority, job.labels)


def _waiting(group: Group) -> int:
    return group.counts[0] + group.counts[1]


def _of_group(job: Job, group: Group, fitting: Fitting) -> Iterator[Candidate]:
    task_class, name = group.task_class.task_class, group.spec.name
    path = "spec" if len(job.groups) == 1 else f"spec.groups[{group.number}]"
    for cut in fitting.cuts(task_class):
        before, after = task_class.needs[cut.resource], cut.amount
        shown = f"{cut.resource} {spell_amount(cut.resource, before)} → {spell_amount(cut.resource, after)} fits"
        yield Candidate(
            1 - after / before, f"{path}.resources.{cut.resource}", _written(cut.resource, before),
            _written(cut.resource, after) if after else None,
            f"{shown if after else f'without {cut.resource} it fits'} {_nodes(cut.nodes)}",
            _in_group(name, _needing(cut.resource, after)), nodes=cut.nodes,
        )  # fmt: skip
    for dropped in fitting.drops(task_class):
        text = task_class.constraints[dropped.place]
        yield Candidate(
            DROPPING, f"{path}.constraints[{dropped.place}]", text, None,
            f"without the constraint {text} it fits {_nodes(dropped.nodes)}",
            _in_group(name, _unconstrained(dropped.place)), nodes=dropped.nodes,
        )  # fmt: skip
    for widened in fitting.widenings(task_class):
        after_all = [*task_class.datacenters, widened.datacenter]
        yield Candidate(
            WIDENING, f"{path}.datacenters", list(task_class.datacenters), after_all,
            f"datacenter {widened.datacenter} too: fits {_nodes(widened.nodes)}",
            _in_group(name, _set(datacenters=tuple(after_all))), nodes=widened.nodes,
        )  # fmt: skip


def _of_priority(state: State, job: Job) -> Iterator[Candidate]:
    """To come before what waits ahead of it, or to preempt what runs: just above each priority that matters."""
    waiting = {record.task_class.priority + 1 for record in state.classes.values() if record.queued}
    running = {record.task_class.priority + PREEMPT_GAP for record in state.classes.values() if record.lanes}
    above = sorted(each for each in waiting | running if job.priority < each <= PRIORITY_MAX)
    for priority in above[:PRIORITIES_MAX]:
        yield Candidate(
            RAISING + (priority - job.priority) / 100, "spec.priority", job.priority, priority,
            f"priority {job.priority} → {priority}", _prior(priority),
        )  # fmt: skip


def _prior(priority: int) -> Amend:
    return lambda spec: msgspec.structs.replace(spec, priority=priority)


def _written(resource: str, amount: int) -> str | int:
    """As a manifest has it: countables are numbers."""
    return format_amount(resource, amount) if resource in STANDARD else amount


def _in_group(name: str, change: Callable[[GroupSpec], GroupSpec]) -> Amend:
    def amend(spec: JobSpec) -> JobSpec:
        groups = tuple(change(group) if group.name == name else group for group in spec.groups)
        return msgspec.structs.replace(spec, groups=groups)

    return amend


def _needing(resource: str, amount: int) -> Callable[[GroupSpec], GroupSpec]:
    def change(group: GroupSpec) -> GroupSpec:
        needs = {**group.needs, resource: amount}
        return msgspec.structs.replace(group, needs={name: need for name, need in needs.items() if need})

    return change


def _unconstrained(place: int) -> Callable[[GroupSpec], GroupSpec]:
    def change(group: GroupSpec) -> GroupSpec:
        return msgspec.structs.replace(group, constraints=group.constraints[:place] + group.constraints[place + 1 :])

    return change


def _set(**fields: Any) -> Callable[[GroupSpec], GroupSpec]:
    return lambda group: msgspec.structs.replace(group, **fields)


def _trials(state: State) -> int:
    """How many copies may be made: fewer of a large cluster."""
    return min(TRIALS_MAX, COPIED_TASKS_MAX // max(1, sum(state.task_counts)))


def _view(candidate: Candidate, starts: int, preempts: int) -> SuggestionView:
    return SuggestionView(
        field=candidate.path,
        before=candidate.before,
        after=candidate.after,
        text=candidate.text,
        nodes=candidate.nodes,
        starts=starts,
        preempts=preempts,
    )


def _nodes(count: int) -> str:
    return f"{count:,} node{'s' if count != 1 else ''}"
