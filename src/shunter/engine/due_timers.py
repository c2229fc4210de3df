"""Fires the timers whose time has come. Called once in every round."""

from __future__ import annotations

from shunter.engine.jobs.job_timers import on_job_timer
from shunter.engine.jobs.stop import on_queue_timeout
from shunter.engine.jobs.templates import on_template_due
from shunter.engine.nodes.disconnect import replace_due_tasks
from shunter.engine.objects.controller import on_scheduling_due
from shunter.engine.round import Round
from shunter.engine.services.reconcile import on_service_timer
from shunter.engine.timers import JOB_TIMERS, TimerKind


def fire_due_timers(round: Round) -> None:
    for kind, subject, number, index in round.timers.due(round.now_ms):
        if kind in JOB_TIMERS:
            on_job_timer(round, kind, subject)
        elif kind is TimerKind.TEMPLATE:
            on_template_due(round, subject)
        elif kind is TimerKind.SCHEDULING:
            on_scheduling_due(round, subject)
        elif kind is TimerKind.DISCONNECT:
            replace_due_tasks(round, subject)
        elif kind is TimerKind.SERVICE:
            on_service_timer(round, subject)
        elif kind is TimerKind.JOB_END:
            round.dirty.maybe_finished[subject] = None
        elif kind is not TimerKind.DRAIN:  # only starts a round: every round looks at draining nodes
            _fire_task_timer(round, kind, subject, number, index)


def _fire_task_timer(round: Round, kind: TimerKind, job_id: int, number: int, index: int) -> None:
    task_set = round.state.task_set(job_id, number)
    if task_set is None:
        return
    if kind is TimerKind.QUEUE_TIMEOUT:
        on_queue_timeout(round, task_set)
    elif task_set.delayed and task_set.delayed.get(index, round.now_ms + 1) <= round.now_ms:
        round.state.make_ready(task_set, index, index)
