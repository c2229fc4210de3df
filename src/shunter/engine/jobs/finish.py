"""The end of a run: its state, its reason, and its way into history. Called at the end of every round."""

from __future__ import annotations

from itertools import islice

import msgspec

from shunter.engine import changes as c
from shunter.engine.jobs.dependencies import settle_dependents
from shunter.engine.jobs.group_dependencies import is_left_out, settle_groups
from shunter.engine.jobs.job_timers import look_at_failures
from shunter.engine.objects.run_times import span_ms
from shunter.engine.read.views import job_view
from shunter.engine.round import Round
from shunter.engine.state.records import Job, PastAttempt, TaskSet
from shunter.engine.state.registries.services import ReplacedTask
from shunter.model.job.spec import PLAIN
from shunter.model.lifecycles import JOB, JobEvent, JobState, TaskState
from shunter.model.rest.views import JobView, iso
from shunter.ports.store import FinishedJob, FinishedTasks
from shunter.testbeds.application_parts import DRIVER

CHUNK_TASKS = 65_536
REASONS_MAX = 1_000  # that history keeps of one group


class Piece(msgspec.Struct, array_like=True):
    """A group of a finished run, or a piece of one: where its tasks are in the store, and what they are called."""

    number: int
    name: str
    count: int
    visible_index: tuple[int, ...] | None = None


class Summary(msgspec.Struct):
    """What history keeps of a finished run, beside its tasks' columns."""

    view: JobView
    history: list[list[PastAttempt]]  # by group: earlier attempts
    reasons: list[dict[int, str]]  # by group: why tasks failed
    exit_code: int | None = None  # of the task, where there is just one
    pieces: list[Piece] = []  # by group, like history and reasons
    groups: bytes = b""  # tuple[GroupSpec, ...], encoded: what a retry runs again
    options: bytes = b""  # JobOptions, encoded; empty means none
    past: list[ReplacedTask] = []  # tasks of a service or system job that were replaced


def end_jobs(round: Round) -> None:
    """Every job of which all tasks have ended is over: into the store with it, out of memory. That may let others go
    on, or end them too."""
    while round.maybe_finished:
        ids, round.maybe_finished = round.maybe_finished, {}
        for job_id in ids:
            job = round.state.jobs.get(job_id)
            if job is None:
                continue
            if job.options.failures_max:
                look_at_failures(round, job)
            if len(job.spec_version.groups) > 1:
                settle_groups(round, job)
            if job.is_finished() and not _awaits_restart(round, job):
                _end(round, job)


def _awaits_restart(round: Round, job: Job) -> bool:
    """Whether instances of it were taken down by hand: they may be started again, until the job itself is stopped."""
    service_state = round.state.services.jobs.get(job.id)
    return service_state is not None and bool(service_state.down) and job.state is not JobState.STOPPING


def _end(round: Round, job: Job) -> None:
    counts = job.counts()
    if round.state.flags.must_fail(job.id):
        event, reason = JobEvent.FAILED, job.reason
    elif counts[TaskState.FAILED]:
        event, reason = JobEvent.FAILED, _failure(round, job, counts)
    elif _was_driven_home(job):
        event, reason = JobEvent.SUCCEEDED, ""
    elif job.state is JobState.STOPPING or (counts[TaskState.CANCELLED] and _was_stopped(job)):
        event, reason = JobEvent.CANCELLED, job.reason or "all of what was left was stopped"
    else:
        event, reason = JobEvent.SUCCEEDED, ""
    outcome = JOB.move(job.state, event)
    view = job_view(job, round.state)
    view.state = outcome.word
    view.ended_at = iso(round.now_ms / 1000)
    view.reason = reason or None
    _stop_waiting(view)
    summary = Summary(
        view,
        [group.history or [] for group in job.task_sets],
        [dict(islice(group.reasons.items(), REASONS_MAX)) if group.reasons else {} for group in job.task_sets],
        _exit_code(round, job),
        [Piece(group.number, group.spec.name, group.count, group.visible_index) for group in job.task_sets],
        job.spec_version.body,
        b"" if job.options is PLAIN else msgspec.msgpack.encode(job.options),
        service_state.replaced_tasks if (service_state := round.state.services.jobs.get(job.id)) is not None else [],
    )
    round.summaries[job.id] = summary
    if job.options.application:
        round.application_times[job.id] = span_ms(round, job)
    round.finished.append(
        FinishedJob(
            job.id,
            job.namespace,
            job.name,
            job.run,
            view.state,
            job.submitted_ms / 1000,
            round.now_ms / 1000,
            job.labels,
            msgspec.msgpack.encode(summary),
            [chunk for group in job.task_sets for chunk in _chunks(round, group)],
        )
    )
    round.record(c.JobEnded(job.id, event, round.now_ms, reason, job.ref))
    settle_dependents(round, job, outcome)


def _stop_waiting(view: JobView) -> None:
    """A run that was stopped before all had come that it waited for waits no more."""
    if view.terms is not None:
        view.terms.waits_for = []
        for edge in view.terms.after:
            edge.open = False


def _was_driven_home(job: Job) -> bool:
    """Whether it is an application whose driver has succeeded: its executors are stopped then."""
    driver = job.task_sets[0] if job.options.application else None
    return driver is not None and driver.spec.name == DRIVER and bool(driver.counts[TaskState.SUCCEEDED])


def _was_stopped(job: Job) -> bool:
    """Whether tasks were cancelled other than by the edges between groups."""
    return any(group.counts[TaskState.CANCELLED] and not is_left_out(job, group) for group in job.task_sets)


def _chunks(round: Round, group: TaskSet) -> list[FinishedTasks]:
    return [
        FinishedTasks(group.number, first, count, round.state.table.pack(group.base + first, count))
        for first in range(0, group.count, CHUNK_TASKS)
        for count in (min(CHUNK_TASKS, group.count - first),)
    ]


def _failure(round: Round, job: Job, counts: list[int]) -> str:
    """The first failed task, in words."""
    total = sum(counts)
    for group in job.task_sets:
        if not group.counts[TaskState.FAILED]:
            continue
        rows = round.state.table.state[group.base : group.base + group.count]
        index = int((rows == TaskState.FAILED).argmax())
        reason = (group.reasons or {}).get(index) or f"exit code {round.state.table.exit_code[group.base + index]}"
        if total == 1:
            return reason
        name = group.task_name(index).partition("/")[2]
        return f"{counts[TaskState.FAILED]} of {total} tasks failed; the first, task {name}: {reason}"
    return ""


def _exit_code(round: Round, job: Job) -> int | None:
    if len(job.task_sets) != 1 or job.task_sets[0].count > 1:
        return None
    code = int(round.state.table.exit_code[job.task_sets[0].base])
    return code if code >= 0 else None
