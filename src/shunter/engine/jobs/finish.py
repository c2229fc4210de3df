"""Finishes runs: decides their final state and reason, and what history stores of them. Called in every round."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice

import msgspec

from shunter.engine import changes as c
from shunter.engine.jobs.dependencies import settle_dependents
from shunter.engine.jobs.group_dependencies import is_skipped, settle_groups
from shunter.engine.jobs.history_packer import SMALL_TASK_SET, count_tasks, pack_tasks
from shunter.engine.jobs.job_timers import enforce_failures_max
from shunter.engine.jobs.measure import take_usage
from shunter.engine.objects.run_times import span_ms
from shunter.engine.read.views import job_view
from shunter.engine.round import Round
from shunter.engine.services.crashes import ENDED
from shunter.engine.services.instances import replaced_tasks, visible_tasks
from shunter.engine.state.records import Job, PastAttempt, TaskSet
from shunter.engine.state.registries.services import REPLACED_TASKS_MAX, ReplacedTask
from shunter.model.job.spec import DEFAULT_OPTIONS
from shunter.model.lifecycles import JOB, JobEvent, JobState, TaskState
from shunter.model.rest.job_views import JobView
from shunter.model.secrets import application_secret
from shunter.model.timestamps import iso
from shunter.model.usage import Usage
from shunter.ports.store import FinishedJob, FinishedTasks
from shunter.testbeds.application_parts import DRIVER

REASONS_MAX = 1_000  # that history keeps of one group


class TaskSetRef(msgspec.Struct, array_like=True):
    """A task set of a finished run: the location of its tasks in the store, and their names."""

    number: int
    name: str
    count: int
    visible_index: tuple[int, ...] | None = None


class Summary(msgspec.Struct):
    """What history stores of a finished run besides the columns of its tasks."""

    view: JobView
    history: list[list[PastAttempt]]  # by group: earlier attempts
    reasons: list[dict[int, str]]  # by group: why tasks failed
    exit_code: int | None = None  # the task's, if there is only one
    pieces: list[TaskSetRef] = []  # by group, like history and reasons
    groups: bytes = b""  # tuple[GroupSpec, ...], encoded: what a retry runs again
    options: bytes = b""  # JobOptions, encoded; empty means none
    past: list[ReplacedTask] = []  # tasks of a service or system job that were replaced
    usage: dict[str, Usage] = {}  # by group, where something was measured


def decode_summary(body: bytes) -> Summary:
    """A finished run as history stores it; its view gets the exit code, which is stored next to it."""
    summary = _summary_decoder.decode(body)
    summary.view.exit_code = summary.exit_code
    return summary


_summary_decoder = msgspec.msgpack.Decoder(Summary)


def finish_jobs(round: Round) -> None:
    """Move every job whose tasks have all ended from memory to history. This may unblock or end other jobs."""
    while round.dirty.maybe_finished:
        ids, round.dirty.maybe_finished = round.dirty.maybe_finished, {}
        for job_id in ids:
            job = round.state.jobs.get(job_id)
            if job is None:
                continue
            if job.options.failures_max:
                enforce_failures_max(round, job)
            if len(job.spec_version.groups) > 1:
                settle_groups(round, job)
            if job.is_finished() and not _awaits_restart(round, job):
                chunks = _packed_tasks(round, job)
                if chunks is not None:
                    _finish_job(round, job, chunks)


def _packed_tasks(round: Round, job: Job) -> list[FinishedTasks] | None:
    """None if it has so many tasks that they are packed before a later round, which then finishes the job."""
    if any(task_set.count > SMALL_TASK_SET for task_set in job.task_sets):
        count, packed = count_tasks(job), round.packed.pop(job.id, [])
        if {chunk.group for chunk in packed} == {task_set.number for task_set in job.task_sets}:
            return packed  # and the job has got no other tasks since
        if round.packed_tasks + count > round.settings.packed_tasks_max:
            round.unpacked[job.id] = job
            return None
        round.packed_tasks += count
    return list(pack_tasks(round.state, job))


def _awaits_restart(round: Round, job: Job) -> bool:
    """Whether some of its instances were stopped by hand. They may be started again until the job itself is stopped."""
    service_state = round.state.services.jobs.get(job.id)
    return service_state is not None and bool(service_state.down) and job.state is not JobState.STOPPING


def _finish_job(round: Round, job: Job, chunks: list[FinishedTasks]) -> None:
    event, reason = _outcome(round, job)
    outcome = JOB.move(job.state, event)
    view = job_view(job, round.state)
    view.state = outcome.wire_name
    view.ended_at = iso(round.now_ms / 1000)
    view.reason = reason or None
    if view.update is not None:
        view.update.status, view.update.reason = ENDED, None
    _clear_dependencies(view)
    summary = _summarize(round, job, view)
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
            chunks,
        )
    )
    round.record(c.JobEnded(job.id, event, round.now_ms, reason, job.ref))
    if job.trace:
        round.traced_ends.append(job)
    secret = application_secret(job.id)
    if job.options.application and (job.namespace, secret) in round.state.secrets.secrets:
        round.record(c.SecretDeleted(job.namespace, secret, job.user, round.now_ms))
    settle_dependents(round, job, outcome)


def _outcome(round: Round, job: Job) -> tuple[JobEvent, str]:
    """The final state of a job, and the reason."""
    counts = job.counts()
    if round.state.flags.must_fail(job.id):
        return JobEvent.FAILED, job.reason
    if counts[TaskState.FAILED] and (reason := _failure_reason(round, job, counts)):
        return JobEvent.FAILED, reason
    if _has_driver_succeeded(job):
        return JobEvent.SUCCEEDED, ""
    if job.state is JobState.STOPPING or (counts[TaskState.CANCELLED] and _was_stopped(job)):
        return JobEvent.CANCELLED, job.reason or "all remaining tasks were stopped"
    return JobEvent.SUCCEEDED, ""


def _summarize(round: Round, job: Job, view: JobView) -> Summary:
    return Summary(
        view,
        [task_set.history or [] for task_set in job.task_sets],
        [dict(islice(task_set.reasons.items(), REASONS_MAX)) if task_set.reasons else {} for task_set in job.task_sets],
        _exit_code(round, job),
        [
            TaskSetRef(task_set.number, task_set.spec.name, task_set.count, task_set.visible_index)
            for task_set in job.task_sets
        ],
        job.spec_version.body,
        b"" if job.options is DEFAULT_OPTIONS else msgspec.msgpack.encode(job.options),
        replaced_tasks(round.state, job)[-REPLACED_TASKS_MAX:] if job.id in round.state.services.jobs else [],
        take_usage(round, job.id),
    )


def _clear_dependencies(view: JobView) -> None:
    """Remove the dependencies of a run that was stopped while it waited for others."""
    if view.terms is not None:
        view.terms.waits_for = []
        for edge in view.terms.after:
            edge.open = False


def _has_driver_succeeded(job: Job) -> bool:
    """Whether it is an application whose driver has succeeded. Its executors are then stopped."""
    driver = job.task_sets[0] if job.options.application else None
    return driver is not None and driver.spec.name == DRIVER and bool(driver.counts[TaskState.SUCCEEDED])


def _was_stopped(job: Job) -> bool:
    """Whether tasks were cancelled for another reason than edges between groups."""
    return any(task_set.counts[TaskState.CANCELLED] and not is_skipped(job, task_set) for task_set in job.task_sets)


def _failure_reason(round: Round, job: Job, counts: Sequence[int]) -> str:
    """Count the failed tasks and describe the first one. Empty if all of them were replaced, which only a service or
    system job does."""
    if job.id in round.state.services.jobs:
        visible = visible_tasks(round.state, job)
        failed = [member for member in visible if member.state == TaskState.FAILED]
        if not failed:
            return ""
        return _describe_failures(round, (failed[0].task_set, failed[0].index), len(failed), len(visible))
    task_set = next(task_set for task_set in job.task_sets if task_set.counts[TaskState.FAILED])
    rows = round.state.table.state[task_set.base : task_set.base + task_set.count]
    first = task_set, int((rows == TaskState.FAILED).argmax())
    return _describe_failures(round, first, counts[TaskState.FAILED], sum(counts))


def _describe_failures(round: Round, first: tuple[TaskSet, int], failed: int, total: int) -> str:
    task_set, index = first
    reason = (task_set.reasons or {}).get(index) or f"exit code {round.state.table.exit_code[task_set.base + index]}"
    if total == 1:
        return reason
    name = task_set.task_name(index).partition("/")[2]
    return f"{failed} of {total} tasks failed; first failure: task {name}: {reason}"


def _exit_code(round: Round, job: Job) -> int | None:
    if len(job.task_sets) != 1 or job.task_sets[0].count > 1:
        return None
    code = int(round.state.table.exit_code[job.task_sets[0].base])
    return code if code >= 0 else None
