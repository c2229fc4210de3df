"""Starts runs of templates: on schedule, by dispatch, or by hand. Called by the engine.

One commit records both the firing and its run. So no run is started twice or lost when the manager dies."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import islice

from msgspec.structs import replace

from shunter.engine import changes as c
from shunter.engine.jobs.dispatch import Payload, build_run_spec
from shunter.engine.jobs.stop import on_stop
from shunter.engine.jobs.submit import (
    SubmitResult,
    arm_timer,
    check_cluster_limits,
    record_key,
    results_by_key,
    start_run,
)
from shunter.engine.round import Round
from shunter.engine.state.registries.templates import Template
from shunter.model.errors import Busy, Conflict, NotFound, Rejected
from shunter.model.job.schedules import firings_ms

LATE_MAX_MS = 60_000  # a firing that is later than this was missed, and catch_up decides
CATCH_UP_MAX = 100  # missed firings that are made up for at once, the newest ones
FIRINGS_SCANNED_MAX = 10_000  # missed firings that are counted; beyond it, only the last hour is considered
RECENT_MS = 3_600_000
UNFINISHED_RUNS_MAX = 10_000  # of one template


@dataclass(frozen=True, slots=True)
class Dispatch:
    """A requested run; without parameters and payload the template simply runs now."""

    namespace: str
    name: str
    user: str
    parameters: Mapping[str, str]
    payload: Payload = None
    key: str | None = None


def on_dispatch(round: Round, dispatch: Dispatch) -> SubmitResult:
    """Start a run of a template at once, next to existing runs. A repeated key returns the run of the first request."""
    if (existing := results_by_key(round, dispatch.key)) is not None:
        return existing[0]
    template = _require_template(round, dispatch.namespace, dispatch.name)
    spec = build_run_spec(template.spec, dispatch.parameters, dispatch.payload)
    check_cluster_limits(round, [spec])
    if len(round.state.unfinished_runs(template.namespace, template.name)) >= UNFINISHED_RUNS_MAX:
        raise Busy(f"template '{template.name}' already has {UNFINISHED_RUNS_MAX} unfinished runs", 5.0)
    run = start_run(round, spec, dispatch.user)
    reason = f"dispatched by {dispatch.user}"
    round.record(c.TemplateFired(template.namespace, template.name, 0, run.job_id, reason, round.now_ms))
    return record_key(round, dispatch.key, [run])[0]


def on_pause_template(round: Round, namespace: str, name: str, is_paused: bool) -> None:
    """Pause a template: its schedule starts no runs, and missed runs are not made up for."""
    template = _require_template(round, namespace, name)
    if is_paused and not template.is_scheduled:
        raise Conflict(
            f"template '{name}' has no schedule to pause: it runs only when dispatched; delete it to prevent that"
        )
    if template.is_paused is not is_paused:
        round.record(c.TemplatePaused(namespace, name, is_paused, round.now_ms))
        arm_timer(round.timers, template)


def on_drop_template(round: Round, namespace: str, name: str) -> None:
    """Its runs continue."""
    _require_template(round, namespace, name)
    round.record(c.TemplateDropped(namespace, name, round.now_ms))


def on_template_due(round: Round, template_id: int) -> None:
    """Fire what is due. `catch_up` decides about firings that were missed while the cluster was stopped."""
    template = round.state.templates.by_id.get(template_id)
    if template is None or template.next_ms is None or template.next_ms > round.now_ms:
        return  # it was paused, dropped or already fired; a later firing has its own timer
    due = list(_due_firings(template, round.now_ms))
    schedule = template.spec.options.schedule
    assert schedule is not None
    on_time = due[-1:] if round.now_ms - due[-1] <= LATE_MAX_MS else []
    missed = due[: len(due) - len(on_time)]
    caught_up = {"none": [], "last": missed[-1:] if not on_time else [], "all": missed[-CATCH_UP_MAX:]}[
        schedule.catch_up
    ]
    skipped = len(missed) - len(caught_up)
    if skipped:
        reason = f"{skipped} missed while the cluster was stopped (catch_up {schedule.catch_up})"
        _record_firing(round, template, missed[-1] if not caught_up else missed[skipped - 1], 0, reason)
    for due_ms in caught_up:
        _fire(round, template, due_ms, "queue" if len(caught_up) > 1 else schedule.overlap)
    for due_ms in on_time:
        _fire(round, template, due_ms, "queue" if caught_up else schedule.overlap)
    arm_timer(round.timers, template)


def _due_firings(template: Template, now_ms: int) -> Iterator[int]:
    schedule = template.spec.options.schedule
    assert schedule is not None
    times = firings_ms(schedule.cron, schedule.timezone, template.fired_ms, now_ms)
    found = list(islice(times, FIRINGS_SCANNED_MAX))
    if next(times, None) is None:
        return iter(found)
    return firings_ms(schedule.cron, schedule.timezone, now_ms - RECENT_MS, now_ms)


def _fire(round: Round, template: Template, due_ms: int, overlap: str) -> None:
    """Start one run, unless an earlier run blocks it."""
    unfinished = round.state.unfinished_runs(template.namespace, template.name)
    if unfinished and overlap == "skip":
        _record_firing(round, template, due_ms, 0, f"run {unfinished[-1].run} has not ended (overlap skip)")
        return
    if len(unfinished) >= UNFINISHED_RUNS_MAX:
        _record_firing(round, template, due_ms, 0, f"{len(unfinished)} runs have not ended")
        return
    spec = replace(template.spec, options=replace(template.spec.options, schedule=None))
    try:
        check_cluster_limits(round, [spec])
        run = start_run(round, spec, template.user, after_job=unfinished[-1].id if unfinished else 0)
    except (Rejected, Busy) as refusal:
        _record_firing(round, template, due_ms, 0, refusal.detail)
        return
    _record_firing(round, template, due_ms, run.job_id, "")
    if overlap == "replace":
        for job in unfinished:
            on_stop(round, job.id, None, now=False, reason=f"replaced by run {run.run} (overlap replace)")


def _record_firing(round: Round, template: Template, due_ms: int, job_id: int, reason: str) -> None:
    round.record(c.TemplateFired(template.namespace, template.name, due_ms, job_id, reason, round.now_ms))


def _require_template(round: Round, namespace: str, name: str) -> Template:
    template = round.state.templates.get(namespace, name)
    if template is None:
        raise no_template(namespace, name)
    return template


def no_template(namespace: str, name: str) -> NotFound:
    return NotFound(f"template '{name}' does not exist in namespace '{namespace}'; `shunter cron list` lists all")
