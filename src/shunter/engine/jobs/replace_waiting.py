"""Replaces a job that has not started by a new run with another spec, in one round. Called by the engine's rounds, when
somebody applies a suggestion of `why`."""

from __future__ import annotations

from shunter.engine.jobs.rerun import check_not_application
from shunter.engine.jobs.stop import on_stop
from shunter.engine.jobs.submit import SubmitResult, check_cluster_limits, start_run
from shunter.engine.round import Round
from shunter.engine.state.records import Job
from shunter.model.errors import Conflict, NotFound
from shunter.model.job.spec import JobSpec
from shunter.model.lifecycles import JobState, TaskState


def on_replace_waiting(round: Round, job_id: int, spec: JobSpec, version: int, user: str) -> SubmitResult:
    """`version`: of the spec from which the new one was made. The old run is cancelled, and never started anything."""
    job = round.state.jobs.get(job_id)
    if job is None:
        raise NotFound(f"job {job_id} does not exist or has ended")
    check_replaceable(job)
    check_not_application(spec)
    if job.version != version:
        raise Conflict(f"job '{job.name}' was changed meanwhile; ask why again")
    if round.state.edges.dependents(job.id):
        raise Conflict(f"other jobs wait for '{job.name}'; stop it and submit it again, together with them")
    round.state.format.check([spec])
    check_cluster_limits(round, [spec])
    result = start_run(round, spec, user)
    on_stop(round, job_id, None, True, f"replaced by run {result.run}")
    return result


def check_replaceable(job: Job) -> None:
    """Raises Conflict."""
    counts = job.counts()
    started = sum(counts) - counts[TaskState.WAITING] - counts[TaskState.QUEUED]
    if job.state is JobState.STOPPING:
        raise Conflict(f"job '{job.name}' is stopping")
    if started or job.started_ms:
        raise Conflict(
            f"job '{job.name}' has started: {started:,} of its tasks no longer wait. Stop it and submit it again with "
            "the change, or retry what fails"
        )
