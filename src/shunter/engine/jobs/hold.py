"""Holds and releases jobs. Called by the engine's rounds."""

from __future__ import annotations

from shunter.engine import changes as c
from shunter.engine.round import Round
from shunter.engine.state.records import Job
from shunter.engine.timers import TimerKind
from shunter.model.errors import Conflict, NotFound
from shunter.model.lifecycles import JobState


def on_hold(round: Round, job_id: int, is_held: bool) -> None:
    """Hold a job: running tasks continue and no more start. A repeated request changes nothing."""
    job = round.state.jobs.get(job_id)
    if job is None:
        raise NotFound(f"job {job_id} does not exist or has ended")
    if is_held and job.state is JobState.STOPPING:
        raise Conflict(f"job '{job.name}' is stopping and cannot be held")
    if job.is_held is is_held:
        return
    round.record(c.JobHeld(job.id, is_held, round.now_ms, job.ref))
    if is_held:
        _recall_unstarted(round, job)
    else:
        _rearm_back_off_timers(round, job)
        round.dirty.jobs[job.id, 0] = None  # the time limit of its update runs again


def _recall_unstarted(round: Round, job: Job) -> None:
    """Recall the tasks that workers have not started."""
    for task_set in job.task_sets:
        for lanes in task_set.task_class.lanes.values():
            if lanes.outstanding > lanes.width:
                round.outbox.recall(lanes.node, task_set.task_class.id)


def _rearm_back_off_timers(round: Round, job: Job) -> None:
    """Arm the back-off timers again; they may have fired while the job was held."""
    for task_set in job.task_sets:
        for index, not_before_ms in (task_set.delayed or {}).items():
            round.timers.add(max(not_before_ms, round.now_ms), TimerKind.BACK_OFF, task_set, index)
