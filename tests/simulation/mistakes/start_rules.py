"""Mistakes in start rules: holds, times, other jobs and groups, schedules, restarts and timeouts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from shunter.engine import recovery
from shunter.engine.changes import JobHeld
from shunter.engine.jobs import dependencies, finish, group_dependencies, job_timers, templates
from shunter.engine.nodes import reports
from shunter.engine.outbox import Outbox
from shunter.engine.placement import apply_decision, cluster_view
from shunter.engine.round import Round
from shunter.engine.state import apply_task_sets
from shunter.engine.state.records import TaskSet
from shunter.engine.state.state import State
from shunter.model.lifecycles import TaskEvent

Patch = pytest.MonkeyPatch


def place_held_jobs(patch: Patch) -> None:
    def careless(self: State, change: JobHeld) -> None:
        self.jobs[change.job].is_held = change.is_held

    patch.setitem(apply_task_sets.APPLIERS, JobHeld, careless)
    make_ready = State.make_ready

    def regardless(self: State, task_set: TaskSet, first: int, last: int) -> None:
        is_held, task_set.job.is_held = task_set.job.is_held, False
        make_ready(self, task_set, first, last)
        task_set.job.is_held = is_held

    patch.setattr(State, "make_ready", regardless)


def skip_requeue_on_release(patch: Patch) -> None:
    patch.setattr(apply_task_sets, "make_queued_ready", lambda _state, _group: None)


def start_too_early(patch: Patch) -> None:
    patch.setattr(dependencies, "earliest_start_ms", lambda _job: 0)
    patch.setattr(job_timers, "earliest_start_ms", lambda job: job.submitted_ms + 1)


def ignore_job_dependencies(patch: Patch) -> None:
    patch.setattr(dependencies, "is_blocked", lambda _state, job, now_ms: dependencies.earliest_start_ms(job) > now_ms)


def ignore_group_dependencies(patch: Patch) -> None:
    patch.setattr(group_dependencies, "_unmet_reason", lambda _job, _group: "")


def accept_any_outcome(patch: Patch) -> None:
    patch.setattr(dependencies, "is_met", lambda _edge, _outcome: True)


def forget_dependents(patch: Patch) -> None:
    patch.setattr(finish, "settle_dependents", lambda _round, _job, _outcome: None)


def forget_dependent_groups(patch: Patch) -> None:
    patch.setattr(finish, "settle_groups", lambda _round, _job: None)


def cancel_preempted_tasks(patch: Patch) -> None:
    patch.setattr(reports, "_stop_or_requeue", lambda _round, _group, _index: TaskEvent.STOPPED)


def fire_twice(patch: Patch) -> None:
    fire = templates._fire

    def eager(round: Round, template: Any, due_ms: int, overlap: str) -> None:
        fire(round, template, due_ms, overlap)
        fire(round, template, due_ms, "queue")

    patch.setattr(templates, "_fire", eager)


def forget_schedules_in_recovery(patch: Patch) -> None:
    patch.setattr(recovery, "arm_timer", lambda _timers, _template: None)


def hide_missed_firings(patch: Patch) -> None:
    fired = templates._record_firing

    def silent(round: Round, template: Any, due_ms: int, job_id: int, reason: str) -> None:
        if job_id or "missed" not in reason:
            fired(round, template, due_ms, job_id, reason)

    patch.setattr(templates, "_record_firing", silent)


def ignore_exit_rules(patch: Patch) -> None:
    patch.setattr(reports, "exit_action", lambda _restart, _exit_code: "")


def retry_on_the_same_node(patch: Patch) -> None:
    patch.setattr(apply_decision, "has_alternative_node", lambda _state, _record, _node: False)
    patch.setattr(cluster_view, "has_alternative_node", lambda _state, _record, _node: False)


def ignore_failures_max(patch: Patch) -> None:
    patch.setattr(finish, "enforce_failures_max", lambda _round, _job: None)


def ignore_job_timeouts(patch: Patch) -> None:
    patch.setattr(recovery, "set_job_timers", lambda _timers, _state, _job: None)


def order_without_secrets(patch: Patch) -> None:
    patch.setattr(Outbox, "_with_values", lambda _self, _key, spec: spec)


MISTAKES: tuple[tuple[Callable[[Patch], None], str, int], ...] = (
    (place_held_jobs, "although it is held", 7),
    (
        skip_requeue_on_release,
        "times in a queue|has not ended|not come to rest|is not what the committed rounds give",
        13,
    ),
    (start_too_early, "its start is", 13),
    (ignore_job_dependencies, "although it waits for job", 13),
    (ignore_group_dependencies, "is not over|was to have", 13),
    (accept_any_outcome, "settled as|was to have", 13),
    (forget_dependents, "waits for nothing any more", 13),
    (forget_dependent_groups, "waits for nothing any more", 13),
    (cancel_preempted_tasks, "has not come back", 10),
    (fire_twice, "fired twice", 13),
    (forget_schedules_in_recovery, "are overdue", 13),
    (hide_missed_firings, "firings silently", 100),
    (ignore_exit_rules, "against its policy|succeeded with exit code|restart . is too many", 69),
    (retry_on_the_same_node, "asked for another node", 38),
    (ignore_failures_max, "it is to fail", 26),
    (order_without_secrets, "without the committed value", 16),
    (ignore_job_timeouts, "it is to fail|waits for nothing", 13),
)
