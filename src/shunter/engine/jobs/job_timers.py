"""Start time, time limit, deadline and failure limit of whole jobs. Called by the engine's timers, by
`engine.jobs.submit` and by `engine.jobs.finish`."""

from __future__ import annotations

from shunter.engine import changes as c
from shunter.engine.jobs.dependencies import earliest_start_ms, unblock_if_ready
from shunter.engine.jobs.stop import on_stop
from shunter.engine.round import Round
from shunter.engine.state.records import Job
from shunter.engine.state.registries.flags import DEADLINE, FAILURES, TIMEOUT
from shunter.engine.state.state import State
from shunter.engine.timers import TimerKind, Timers
from shunter.model.job.spec import DEFAULT_OPTIONS
from shunter.model.lifecycles import JobState, TaskState
from shunter.model.resources import format_duration
from shunter.model.timestamps import iso


def set_job_timers(timers: Timers, state: State, job: Job) -> None:
    """Called at submit, after an update, and after a restart."""
    options = job.options
    if options is DEFAULT_OPTIONS:
        return
    if earliest_start_ms(job) and (job.counts()[TaskState.WAITING] or not job.task_sets):
        timers.add_for(earliest_start_ms(job), TimerKind.JOB_START, job.id)
    if options.timeout_s and not state.flags.must_fail(job.id):
        timers.add_for(_timeout_ms(job), TimerKind.JOB_TIMEOUT, job.id)
    if job.deadline_ms and not state.flags.has(job.id, DEADLINE):
        timers.add_for(job.deadline_ms, TimerKind.JOB_DEADLINE, job.id)


def on_job_timer(round: Round, kind: TimerKind, job_id: int) -> None:
    """The job may have been updated since and have different times or none."""
    job = round.state.jobs.get(job_id)
    if job is None:
        return
    if kind is TimerKind.JOB_START:
        unblock_if_ready(round, job)
    elif kind is TimerKind.JOB_TIMEOUT:
        if job.options.timeout_s and _timeout_ms(job) <= round.now_ms and job.state is not JobState.STOPPING:
            reason = f"exceeded timeout.job of {format_duration(job.options.timeout_s)}"
            fail_job(round, job, TIMEOUT, reason)
    elif 0 < job.deadline_ms <= round.now_ms and not round.state.flags.has(job_id, DEADLINE):
        reason = f"missed its deadline {iso(job.deadline_ms / 1000)}"
        round.record(c.JobFlagged(job.id, DEADLINE, round.now_ms, reason, job.ref))


def _timeout_ms(job: Job) -> int:
    return job.submitted_ms + int(job.options.timeout_s * 1000)


def enforce_failures_max(round: Round, job: Job) -> None:
    """Stop the rest of a job that has reached its limit of failed tasks."""
    limit = job.options.failures_max
    failed = job.counts()[TaskState.FAILED] if limit else 0
    if limit and failed >= limit and job.state is not JobState.STOPPING and not job.is_finished():
        tasks = "1 task" if failed == 1 else f"{failed} tasks"
        fail_job(round, job, FAILURES, f"{tasks} failed, which reaches failures_max of {limit}")


def fail_job(round: Round, job: Job, flag: str, reason: str) -> None:
    """Stop the job and let it end as failed for this reason."""
    round.record(c.JobFlagged(job.id, flag, round.now_ms, reason, job.ref))
    on_stop(round, job.id, None, now=False, reason=reason)
