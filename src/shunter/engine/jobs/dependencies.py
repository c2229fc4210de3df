"""Jobs that wait for other jobs. Edges are resolved at submit, and settle when what they wait for has ended; the last
one lets the job go. Called by `engine.jobs.submit`, `engine.jobs.finish` and the timers of jobs. Groups:
`engine.jobs.group_dependencies`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from shunter.engine import changes as c
from shunter.engine.jobs.stop import on_stop
from shunter.engine.round import Round
from shunter.engine.state.records import Job, TaskSet, ranges_of
from shunter.engine.state.state import State
from shunter.model.errors import Invalid, Problem
from shunter.model.graph import find_cycle, show_cycle
from shunter.model.job.spec import After, GroupAfter, JobSpec
from shunter.model.lifecycles import JobState, TaskEvent, TaskState
from shunter.model.rest.views import iso

Past = Mapping[tuple[str, str, int], tuple[int, int]]  # ended runs that the state does not know -> job id, JobState
NO_PAST: Past = {}
_WAITING = int(TaskState.WAITING)


# ---- at submit ----


def order_by_edges(round: Round, specs: Sequence[JobSpec], past: Past) -> Sequence[int]:
    """Places of the specs so that each comes after those it waits for. Raises Invalid for edges that lead nowhere or in
    a circle. Most submits have no edges, and keep their order."""
    if not any(spec.options.after for spec in specs):
        return range(len(specs))
    places = {(spec.namespace, spec.name): place for place, spec in enumerate(specs) if spec.name}
    waits: dict[int, list[int]] = {}
    problems: list[Problem] = []
    for place, spec in enumerate(specs):
        for number, edge in enumerate(spec.options.after):
            beside = places.get((spec.namespace, edge.job))
            if beside is not None and not specs[beside].is_template:
                waits.setdefault(place, []).append(beside)
            elif find_target(round.state, spec.namespace, edge.job, past) is None:
                path = f"items[{place}]." if len(specs) > 1 else ""
                is_template = beside is not None or _is_template(round.state, spec.namespace, edge.job)
                problems.append(_unknown(round.state, spec, edge, is_template, f"{path}spec.after[{number}].job"))
    if cycle := find_cycle(waits):
        shown = show_cycle(specs[place].name for place in cycle)
        problems.append(Problem("spec.after", f"jobs wait for one another: {shown}", fix="remove one of these edges"))
    if problems:
        raise Invalid(problems)
    return _sorted_by(waits, len(specs))


def find_target(
    state: State, namespace: str, reference: str, past: Past = NO_PAST
) -> tuple[int, JobState | None] | None:
    """The run that NAME or NAME@RUN means now: its job id, and how it ended if it has. None: there is no such run."""
    name, _, number = reference.partition("@")
    run = int(number) if number else None
    for job in reversed(state.unfinished_runs(namespace, name)):
        if run in (None, job.run):
            return job.id, None
    last_run, last_id, last_state = state.last_run(namespace, name)
    if last_run and run in (None, last_run):
        return last_id, JobState(last_state)
    found = past.get((namespace, name, run or 0))
    return (found[0], JobState(found[1])) if found is not None else None


def runs_asked_for(state: State, specs: Sequence[JobSpec]) -> list[tuple[str, str, int]]:
    """The runs (namespace, name, run) that edges name and that only history can know."""
    asked = []
    for spec in specs:
        for edge in spec.options.after:
            name, at, number = edge.job.partition("@")
            if at and find_target(state, spec.namespace, edge.job) is None:
                asked.append((spec.namespace, name, int(number)))
    return asked


def settle_past(round: Round, job: Job, targets: Sequence[tuple[int, JobState | None]]) -> None:
    """Settle those edges of a new job whose targets ended before it came; then it may have nothing to wait for."""
    for edge, (_, ended) in enumerate(targets):
        if ended is not None and job.state is not JobState.STOPPING:
            _settle(round, job, edge, _ended_run(round.state, job, edge), ended)
    release(round, job)


def _ended_run(state: State, job: Job, edge: int) -> str:
    """NAME@RUN of what an edge of a new job names."""
    reference = edge_of(job, edge).job
    return reference if "@" in reference else f"{reference}@{state.last_run(job.namespace, reference)[0]}"


# ---- when something has ended, or a time has come ----


def settle_dependents(round: Round, ended: Job, outcome: JobState) -> None:
    """A job has ended: whoever waits for it goes on, or cannot any more. A run that was queued behind it goes on when
    all runs before it have ended."""
    for job_id, edge in round.state.edges.dependents(ended.id):
        job = round.state.jobs[job_id]
        if job.state is JobState.STOPPING:
            continue
        if edge >= len(job.options.after) and (earlier := _run_before(round.state, job)) is not None:
            round.record(c.EdgeRetargeted(job.id, edge, earlier.id))
        else:
            _settle(round, job, edge, f"{ended.name}@{ended.run}", outcome)
            release(round, job)


def _run_before(state: State, job: Job) -> Job | None:
    """The newest unfinished run of the name that is older than this one."""
    runs = state.unfinished_runs(job.namespace, job.name)
    return next((run for run in reversed(runs) if run.run < job.run), None)


def release(round: Round, job: Job) -> None:
    """Queue the tasks of a job that has nothing to wait for any more; groups that wait for other groups stay."""
    if is_blocked(round.state, job, round.now_ms):
        return
    for group in job.task_sets:
        if group.counts[_WAITING] and not group.spec.after:
            move_waiting(round, group, TaskEvent.UNBLOCKED, "")
    if len(job.spec_version.groups) > 1:
        round.maybe_finished[job.id] = None  # what its groups wait for may be over: single tasks can be stopped before


def move_waiting(round: Round, group: TaskSet, event: TaskEvent, reason: str) -> None:
    """Those tasks that wait still: single ones may have been stopped."""
    states = round.state.table.state[group.base : group.base + group.count]
    for first, last in list(ranges_of(np.flatnonzero(states == _WAITING))):
        round.record(
            c.TasksTransitioned(group.job.id, group.number, first, last, event, round.now_ms, reason, group.ref)
        )


def is_blocked(state: State, job: Job, now_ms: int) -> bool:
    """Whether the job as a whole waits: for other jobs, or for its time."""
    return bool(state.edges.targets(job.id)) or start_ms(job) > now_ms


def start_ms(job: Job) -> int:
    """Before which none of its tasks starts; 0 means at once."""
    options = job.options
    return options.start_at_ms or (job.submitted_ms + int(options.start_in_s * 1000) if options.start_in_s else 0)


def edge_of(job: Job, edge: int) -> After:
    """What the manifest says of an edge. A further one lets a run follow the earlier runs of its name."""
    after = job.options.after
    return after[edge] if edge < len(after) else After("", "finished", "run")


def waits_for(state: State, job: Job, now_ms: int = 0) -> list[str]:
    """What a job waits for before any of its tasks may be placed, each in words."""
    waits = ["its release (it is held)"] if job.is_held else []
    if start_ms(job) > now_ms and job.counts()[_WAITING]:
        waits.append(f"{iso(start_ms(job) / 1000)} (start_at)")
    for edge, target in state.edges.targets(job.id).items():
        if (other := state.jobs.get(target)) is not None:
            wish = _wish(edge_of(job, edge).when)
            waits.append(f"{other.name}@{other.run} to have {wish} (it is {other.state.word})")
    if not is_blocked(state, job, now_ms):
        for group in job.task_sets:
            if group.counts[_WAITING]:
                waits += [f"group {edge.group} to have {_wish(edge.when)}" for edge in group.spec.after]
    return waits


def is_met(edge: After | GroupAfter, outcome: str) -> bool:
    return edge.when in ("finished", outcome)


def unmet(edge: After | GroupAfter, target: str, outcome: str) -> str:
    """Why something is cancelled."""
    was = "was cancelled" if outcome == "cancelled" else f"has {outcome}"
    return f"{target} {was}, and was to have {_wish(edge.when)}"


def _settle(round: Round, job: Job, edge: int, target: str, ended: JobState) -> None:
    wish = edge_of(job, edge)
    met = is_met(wish, ended.word)
    stops = not met and wish.otherwise == "cancel"
    if stops:
        on_stop(round, job.id, None, now=False, reason=unmet(wish, target, ended.word))
    round.record(c.EdgeSettled(job.id, edge, met, round.now_ms, job.ref, target, ended.word, stops))


def _wish(when: str) -> str:
    return "ended" if when == "finished" else when


def _is_template(state: State, namespace: str, reference: str) -> bool:
    return state.templates.get(namespace, reference.partition("@")[0]) is not None


def _unknown(state: State, spec: JobSpec, edge: After, is_template: bool, path: str) -> Problem:
    if is_template:
        return Problem(path, "is a template that has no run yet", edge.job, "submit this after its first run")
    is_known = bool(state.next_run(spec.namespace, edge.job.partition("@")[0]) > 1)
    message = "is a run that there is not" if is_known else "is a job that there is not"
    return Problem(path, message, edge.job, "submit it before, or in the same file")


def _sorted_by(waits: Mapping[int, Sequence[int]], count: int) -> list[int]:
    """Depth first, without recursion: a chain may be long. There is no cycle."""
    done: dict[int, None] = {}
    for start in range(count):
        ahead = [start]
        while ahead:
            missing = [each for each in waits.get(ahead[-1], ()) if each not in done]
            if missing:
                ahead.extend(missing)
            else:
                done[ahead.pop()] = None
    return list(done)
