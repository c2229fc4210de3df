"""Dependencies between jobs. A submit resolves the edges. An edge settles when the job at its other end finishes, and
the last one unblocks the job. Called by `engine.jobs.submit`, `engine.jobs.finish` and the job timers.

`engine.jobs.group_dependencies` has the dependencies between groups."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from shunter.engine import changes as c
from shunter.engine.jobs.stop import on_stop
from shunter.engine.round import Round
from shunter.engine.state.records import Job, TaskSet, ranges_where
from shunter.engine.state.state import State
from shunter.model.errors import Invalid, Problem
from shunter.model.graph import find_cycle, format_cycle
from shunter.model.job.spec import After, GroupAfter, JobSpec
from shunter.model.lifecycles import JobState, TaskEvent, TaskState
from shunter.model.timestamps import iso

_WAITING = int(TaskState.WAITING)


# ---- at submit ----


def topological_order(round: Round, specs: Sequence[JobSpec]) -> Sequence[int]:
    """Positions of the specs in an order where each follows its prerequisites. Raises Invalid for unknown targets and
    cycles. Most submits have no edges and keep their order."""
    if not any(spec.options.after for spec in specs):
        return range(len(specs))
    prerequisites, problems = _find_prerequisites(round.state, specs)
    if cycle := find_cycle(prerequisites):
        cycle_text = format_cycle(specs[position].name for position in cycle)
        problems.append(
            Problem(
                "spec.after", f"jobs depend on each other in a cycle: {cycle_text}", fix="remove one of these edges"
            )
        )
    if problems:
        raise Invalid(problems)
    return _topological_sort(prerequisites, len(specs))


def _find_prerequisites(state: State, specs: Sequence[JobSpec]) -> tuple[dict[int, list[int]], list[Problem]]:
    """Which specs wait for which others of the same submit, by position; and the edges without a target."""
    positions = {(spec.namespace, spec.name): position for position, spec in enumerate(specs) if spec.name}
    prerequisites: dict[int, list[int]] = {}
    problems: list[Problem] = []
    for position, spec in enumerate(specs):
        for number, edge in enumerate(spec.options.after):
            sibling = positions.get((spec.namespace, edge.job))
            if sibling is not None and not specs[sibling].is_template:
                prerequisites.setdefault(position, []).append(sibling)
            elif resolve_run(state, spec.namespace, edge.job) is None:
                path = f"items[{position}]." if len(specs) > 1 else ""
                is_template = sibling is not None or _is_template(state, spec.namespace, edge.job)
                problems.append(_unknown_reference(state, spec, edge, is_template, f"{path}spec.after[{number}].job"))
    return prerequisites, problems


def resolve_run(state: State, namespace: str, reference: str) -> tuple[int, JobState | None] | None:
    """The run that NAME or NAME@RUN names now: its job id, and its final state if it has ended. None: no such run
    exists."""
    name, _, number = reference.partition("@")
    run = int(number) if number else None
    for job in reversed(state.unfinished_runs(namespace, name)):
        if run in (None, job.run):
            return job.id, None
    known = state.ended_runs
    ended = known.newest(namespace, name) if run is None else known.run(namespace, name, run)
    return (ended.id, ended.state) if ended.run else None


def settle_ended_dependencies(round: Round, job: Job, targets: Sequence[tuple[int, JobState | None]]) -> None:
    """Settle the edges of a new job whose targets have already ended. It may then be ready at once."""
    for edge, (_, ended) in enumerate(targets):
        if ended is not None and job.state is not JobState.STOPPING:
            _settle_edge(round, job, edge, _run_reference(round.state, job, edge), ended)
    unblock_if_ready(round, job)


def _run_reference(state: State, job: Job, edge: int) -> str:
    """NAME@RUN of the target of a new job's edge."""
    reference = edge_of(job, edge).job
    return reference if "@" in reference else f"{reference}@{state.ended_runs.newest(job.namespace, reference).run}"


# ---- when a job has ended, or a start time is reached ----


def settle_dependents(round: Round, ended: Job, outcome: JobState) -> None:
    """Settle the edges of all jobs that wait for an ended job. A run that was queued behind it starts when all earlier
    runs have ended."""
    for job_id, edge in round.state.edges.dependents(ended.id):
        job = round.state.jobs[job_id]
        if job.state is JobState.STOPPING:
            continue
        if edge >= len(job.options.after) and (earlier := _previous_unfinished_run(round.state, job)) is not None:
            round.record(c.EdgeRetargeted(job.id, edge, earlier.id))
        else:
            _settle_edge(round, job, edge, f"{ended.name}@{ended.run}", outcome)
            unblock_if_ready(round, job)


def _previous_unfinished_run(state: State, job: Job) -> Job | None:
    """The newest unfinished run of the name that is older than this one."""
    runs = state.unfinished_runs(job.namespace, job.name)
    return next((run for run in reversed(runs) if run.run < job.run), None)


def unblock_if_ready(round: Round, job: Job) -> None:
    """Queue the tasks of a job that waits for nothing any more. Groups that wait for other groups stay waiting."""
    if is_blocked(round.state, job, round.now_ms):
        return
    for task_set in job.task_sets:
        if task_set.counts[_WAITING] and not task_set.spec.after:
            transition_waiting(round, task_set, TaskEvent.UNBLOCKED, "")
    if len(job.spec_version.groups) > 1:
        # The dependencies of its groups may have ended already: users can stop single tasks earlier.
        round.dirty.maybe_finished[job.id] = None


def transition_waiting(round: Round, task_set: TaskSet, event: TaskEvent, reason: str) -> None:
    """Move the tasks that are still waiting; single ones may have been stopped."""
    states = round.state.table.state[task_set.base : task_set.base + task_set.count]
    for first, last in ranges_where(states == _WAITING):
        round.transition(task_set, first, last, event, reason)


def is_blocked(state: State, job: Job, now_ms: int) -> bool:
    """Whether the whole job waits: for other jobs, or for its start time."""
    return bool(state.edges.targets(job.id)) or earliest_start_ms(job) > now_ms


def earliest_start_ms(job: Job) -> int:
    """None of its tasks starts before this time; 0 means at once."""
    options = job.options
    return options.start_at_ms or (job.submitted_ms + int(options.start_in_s * 1000) if options.start_in_s else 0)


def edge_of(job: Job, edge: int) -> After:
    """The edge as the manifest defines it. One extra edge makes a run follow the earlier runs of its name."""
    after = job.options.after
    return after[edge] if edge < len(after) else After("", "finished", "run")


def waits_for(state: State, job: Job, now_ms: int = 0) -> list[str]:
    """Describe what a job waits for before any of its tasks can be placed, apart from the release of a held job."""
    prerequisites = []
    if earliest_start_ms(job) > now_ms and job.counts()[_WAITING]:
        prerequisites.append(f"{iso(earliest_start_ms(job) / 1000)} (start_at)")
    for edge, target in state.edges.targets(job.id).items():
        if (other := state.jobs.get(target)) is not None:
            expected = _expected_word(edge_of(job, edge).when)
            prerequisites.append(f"{other.name}@{other.run} to have {expected} (it is {other.state.wire_name})")
    if not is_blocked(state, job, now_ms):
        for task_set in job.task_sets:
            if task_set.counts[_WAITING]:
                prerequisites += [
                    f"group {edge.group} to have {_expected_word(edge.when)}" for edge in task_set.spec.after
                ]
    return prerequisites


def is_met(edge: After | GroupAfter, outcome: str) -> bool:
    return edge.when in ("finished", outcome)


def describe_unmet(edge: After | GroupAfter, target: str, outcome: str) -> str:
    """Why the job or group is cancelled."""
    ending = "was cancelled" if outcome == "cancelled" else f"has {outcome}"
    return f"{target} {ending}, but had to have {_expected_word(edge.when)}"


def _settle_edge(round: Round, job: Job, edge: int, target: str, ended: JobState) -> None:
    expected = edge_of(job, edge)
    met = is_met(expected, ended.wire_name)
    stops = not met and expected.otherwise == "cancel"
    if stops:
        on_stop(round, job.id, None, now=False, reason=describe_unmet(expected, target, ended.wire_name))
    round.record(c.EdgeSettled(job.id, edge, met, round.now_ms, job.ref, target, ended.wire_name, stops))


def _expected_word(when: str) -> str:
    return "ended" if when == "finished" else when


def _is_template(state: State, namespace: str, reference: str) -> bool:
    return state.templates.get(namespace, reference.partition("@")[0]) is not None


def _unknown_reference(state: State, spec: JobSpec, edge: After, is_template: bool, path: str) -> Problem:
    if is_template:
        return Problem(path, f"template '{edge.job}' has no run yet", None, "submit this job after its first run")
    is_known = bool(state.next_run(spec.namespace, edge.job.partition("@")[0]) > 1)
    kind = "run" if is_known and "@" in edge.job else "job"
    message = f"{kind} '{edge.job}' does not exist in namespace '{spec.namespace}'"
    return Problem(path, message, None, "submit it in the same file, or remove this dependency")


def _topological_sort(prerequisites: Mapping[int, Sequence[int]], count: int) -> list[int]:
    """Depth first, without recursion, because a chain may be long. There is no cycle."""
    done: dict[int, None] = {}
    for start in range(count):
        stack = [start]
        while stack:
            missing = [each for each in prerequisites.get(stack[-1], ()) if each not in done]
            if missing:
                stack.extend(missing)
            else:
                done[stack.pop()] = None
    return list(done)
