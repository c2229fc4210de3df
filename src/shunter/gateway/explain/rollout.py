"""Explains in one sentence what an update of a long-running job waits for, and how it continues or can be helped.
Called by `gateway.explain.why`."""

from __future__ import annotations

from shunter.engine.read.views import rollout_view
from shunter.engine.services.crashes import CRASHING, is_updated
from shunter.engine.services.instances import InstanceTask, collect_instances, health_detail
from shunter.engine.services.update import rollback_target
from shunter.engine.state.records import Job
from shunter.engine.state.registries.services import ServiceState
from shunter.engine.state.state import State
from shunter.model.lifecycles import ROLLOUT_IN_PROGRESS, RolloutStatus, TaskState
from shunter.model.resources import format_duration


def describe_update(state: State, job: Job, now_ms: int) -> str:
    """Empty for a job without an update in progress."""
    service_state = state.services.jobs.get(job.id)
    if service_state is None or service_state.status not in (*ROLLOUT_IN_PROGRESS, RolloutStatus.STALLED):
        return ""
    view, _ = rollout_view(state, job, now_ms)
    if service_state.status is RolloutStatus.STALLED:
        return _describe_stall(job, service_state) if view.status == service_state.status.wire_name else ""
    activity = {
        RolloutStatus.UPDATING: f"is updating to version {job.version}",
        RolloutStatus.ROLLING_BACK: "is rolling back to an earlier version",
        RolloutStatus.RESTARTING: "is restarting",
    }[service_state.status]
    awaited = [
        member
        for member in _current_members(state, job)
        if member.is_current_version and not member.is_healthy_at(now_ms)
    ]
    # The same numbers as in `shunter job`.
    progress = f"It {activity}, {view.updated} of {view.wanted} updated, {view.healthy} healthy"
    if not awaited:
        return f"{progress}."
    return f"{progress}{_describe_awaited(service_state, awaited, now_ms)}."


def _describe_stall(job: Job, service_state: ServiceState) -> str:
    """With advice that the cluster accepts: a rollback needs an earlier version."""
    if is_updated(job, service_state):
        stalled, ways = f"update to version {job.version}", ["submit another spec"]
    else:
        stalled, ways = "restart", [f"run `shunter restart {job.name}` again", "submit another spec"]
    if rollback_target(job, service_state) is not None:
        ways.insert(0, f"run `shunter rollback {job.name}`")
    return f"Its {stalled} has stalled: {service_state.reason}; {', or '.join(ways)}."


def describe_crash(state: State, job: Job, now_ms: int) -> str:
    """Empty unless tasks of a long-running job end again and again."""
    if job.id not in state.services.jobs:
        return ""
    view, _ = rollout_view(state, job, now_ms)
    return f"{job.name} is crashing: {view.reason}." if view.status == CRASHING else ""


def _current_members(state: State, job: Job) -> list[InstanceTask]:
    """The current task of each instance, if it is alive and starting."""
    return [instance.current for instance in collect_instances(state, job).values() if instance.current.is_active]


def _describe_awaited(service_state: ServiceState, awaited: list[InstanceTask], now_ms: int) -> str:
    """Which task must become healthy for the next step, and what happens if it does not."""
    first = min(
        awaited,
        key=lambda each: (_predates_update(service_state, each), service_state.requested_ms(each.task_set.number)),
    )
    name = first.task_set.task_name(first.index)
    if first.healthy_at_ms:
        healthy_for = format_duration(first.task_set.spec.update.healthy_for_s)
        return f"; {name} is healthy, and must stay so for {healthy_for}"
    if first.state == TaskState.RUNNING:
        status_text = f"; {name} is running but not healthy yet{health_detail(first.task_set, first.index)}"
    else:
        status_text = f"; {name} has not started yet"
    since_ms = service_state.requested_ms(first.task_set.number)
    left_s = (since_ms - now_ms) / 1000 + first.task_set.spec.update.deadline_s
    if _predates_update(service_state, first) or first.task_set.job.is_held or left_s <= 0:
        return status_text
    will_roll_back = (
        service_state.status is RolloutStatus.UPDATING
        and first.task_set.spec.update.rollback
        and service_state.stable_version is not None
    )
    outcome = (
        f"the job rolls back to version {service_state.stable_version.number}"
        if will_roll_back and service_state.stable_version is not None
        else "the update stalls"
    )
    return f"{status_text}; if it is not healthy within {format_duration(round(left_s))}, {outcome}"


def _predates_update(service_state: ServiceState, member: InstanceTask) -> bool:
    """Whether the update leaves it as it is."""
    return member.task_set.number < service_state.first_task_set
