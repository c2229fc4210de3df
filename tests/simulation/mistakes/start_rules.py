"""Who waits for what: holds, times, other jobs and groups, schedules, restarts and time-outs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from shunter.engine import recovery
from shunter.engine.changes import JobHeld
from shunter.engine.jobs import dependencies, finish, group_dependencies, job_timers, templates
from shunter.engine.nodes import reports
from shunter.engine.placement import apply_decision, cluster_view
from shunter.engine.round import Round
from shunter.engine.state import apply_groups
from shunter.engine.state.records import TaskSet
from shunter.engine.state.state import State
from shunter.model.lifecycles import TaskEvent

Patch = pytest.MonkeyPatch


def place_held_jobs(patch: Patch) -> None:
    def careless(self: State, change: JobHeld) -> None:
        self.jobs[change.job].is_held = change.is_held

    patch.setitem(apply_groups.APPLIERS, JobHeld, careless)
    make_ready = State.make_ready

    def regardless(self: State, task_set: TaskSet, first: int, last: int) -> None:
        is_held, task_set.job.is_held = task_set.job.is_held, False
        make_ready(self, task_set, first, last)
        task_set.job.is_held = is_held

    patch.setattr(State, "make_ready", regardless)


def forget_to_queue_what_is_released(patch: Patch) -> None:
    patch.setattr(apply_groups, "make_queued_ready", lambda _state, _group: None)


def start_before_the_time(patch: Patch) -> None:
    patch.setattr(dependencies, "start_ms", lambda _job: 0)
    patch.setattr(job_timers, "start_ms", lambda job: job.submitted_ms + 1)


def start_before_the_others(patch: Patch) -> None:
    patch.setattr(dependencies, "is_blocked", lambda _state, job, now_ms: dependencies.start_ms(job) > now_ms)


def start_before_the_other_groups(patch: Patch) -> None:
    patch.setattr(group_dependencies, "_verdict", lambda _job, _group: "")


def take_any_end_for_the_wanted_one(patch: Patch) -> None:
    patch.setattr(dependencies, "is_met", lambda _edge, _outcome: True)


def forget_who_waits(patch: Patch) -> None:
    patch.setattr(finish, "settle_dependents", lambda _round, _job, _outcome: None)


def forget_who_waits_for_a_group(patch: Patch) -> None:
    patch.setattr(finish, "settle_groups", lambda _round, _job: None)


def end_what_was_preempted(patch: Patch) -> None:
    patch.setattr(reports, "_after_stop", lambda _round, _group, _index: TaskEvent.STOPPED)


def fire_twice(patch: Patch) -> None:
    fire = templates._fire

    def eager(round: Round, template: Any, due_ms: int, overlap: str) -> None:
        fire(round, template, due_ms, overlap)
        fire(round, template, due_ms, "queue")

    patch.setattr(templates, "_fire", eager)


def forget_schedules_in_recovery(patch: Patch) -> None:
    patch.setattr(recovery, "wind", lambda _timers, _template: None)


def keep_missed_firings_quiet(patch: Patch) -> None:
    fired = templates._fired

    def silent(round: Round, template: Any, due_ms: int, job_id: int, reason: str) -> None:
        if job_id or "missed" not in reason:
            fired(round, template, due_ms, job_id, reason)

    patch.setattr(templates, "_fired", silent)


def overlook_exit_rules(patch: Patch) -> None:
    patch.setattr(reports, "action_of", lambda _restart, _exit_code: "")


def go_back_to_the_same_node(patch: Patch) -> None:
    patch.setattr(apply_decision, "has_another", lambda _state, _record, _node: False)
    patch.setattr(cluster_view, "has_another", lambda _state, _record, _node: False)


def go_on_after_too_many_failures(patch: Patch) -> None:
    patch.setattr(finish, "look_at_failures", lambda _round, _job: None)


def forget_the_timeouts_of_jobs(patch: Patch) -> None:
    patch.setattr(recovery, "set_job_timers", lambda _timers, _state, _job: None)


MISTAKES: tuple[tuple[Callable[[Patch], None], str], ...] = (
    (place_held_jobs, "although it is held"),
    (forget_to_queue_what_is_released, "times in a queue|has not ended|not come to rest"),
    (start_before_the_time, "its start is"),
    (start_before_the_others, "although it waits for job"),
    (start_before_the_other_groups, "is not over|was to have"),
    (take_any_end_for_the_wanted_one, "settled as|was to have"),
    (forget_who_waits, "waits for nothing any more"),
    (forget_who_waits_for_a_group, "waits for nothing any more"),
    (end_what_was_preempted, "has not come back"),
    (fire_twice, "fired twice"),
    (forget_schedules_in_recovery, "are overdue"),
    (keep_missed_firings_quiet, "firings silently"),
    (overlook_exit_rules, "against its policy|succeeded with exit code|restart . is too many"),
    (go_back_to_the_same_node, "asked for another node"),
    (go_on_after_too_many_failures, "it is to fail"),
    (forget_the_timeouts_of_jobs, "it is to fail|waits for nothing"),
)
