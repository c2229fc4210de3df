"""Finds what is wrong with the instances of a long-running job outside of an update: tasks that end again and again,
and tasks that gave up. Called by `engine.read.views`, when a user asks."""

from __future__ import annotations

from collections.abc import Collection

from shunter.engine.services.instances import Instance, InstanceTask
from shunter.engine.state.records import Job
from shunter.engine.state.registries.services import ServiceState
from shunter.engine.state.state import State
from shunter.model.lifecycles import RolloutStatus, TaskState

CRASHING = "crashing"  # some instances end and are started again, before they are healthy
DEGRADED = "degraded"  # some instances gave up
ENDED = "ended"  # the job has ended
EXIT_CODE = "exit code"

_RUNNING, _STOPPING = int(TaskState.RUNNING), int(TaskState.STOPPING)
_JUDGED = (RolloutStatus.STARTING, RolloutStatus.STEADY)  # the others have a reason of their own


def crashing_tasks(state: State, instances: Collection[Instance], now_ms: int) -> list[InstanceTask]:
    """The current tasks that were restarted after their last attempt ended, and are not healthy since."""
    return [instance.current for instance in instances if _is_crashing(state, instance.current, now_ms)]


def visible_status(state: State, job: Job, instances: Collection[Instance], now_ms: int) -> tuple[str, str]:
    """The status to show for a long-running job with these instances, and the reason: what is wrong with its tasks, or
    the status of its rollout."""
    service_state = state.services.jobs[job.id]
    is_stalled_restart = service_state.status is RolloutStatus.STALLED and not is_updated(job, service_state)
    if service_state.status in _JUDGED or is_stalled_restart:
        crashing = crashing_tasks(state, instances, now_ms)
        failed = [each.current for each in instances if each.current.state == TaskState.FAILED]
        if crashing:
            return CRASHING, _describe_crashes(state, crashing, len(failed), len(instances))
        if failed:
            reason = f"{len(failed):,} of {len(instances):,} tasks gave up; {_describe_failure(state, failed[0])}"
            return DEGRADED, reason
    if is_stalled_restart and all(_is_as_wanted(each, service_state) for each in instances):
        return RolloutStatus.STEADY.wire_name, ""
    return service_state.status.wire_name, service_state.reason


def is_updated(job: Job, service_state: ServiceState) -> bool:
    """Whether its version has not been stable yet, and is not its first."""
    stable_version = service_state.stable_version
    return job.version != (1 if stable_version is None else stable_version.number)


def _is_as_wanted(instance: Instance, service_state: ServiceState) -> bool:
    is_restarted = instance.current.is_current_version and instance.current.healthy_at_ms > 0
    return is_restarted or service_state.is_down(instance.group, instance.index)


def _is_crashing(state: State, member: InstanceTask, now_ms: int) -> bool:
    if member.state >= _STOPPING or not state.table.restarts[member.task_set.base + member.index]:
        return False
    if member.state == _RUNNING and member.is_healthy_at(now_ms):
        return False
    past = _last_attempt_end(member)
    return past is not None and past[0] >= 0  # else its node was lost, or it was preempted


def _last_attempt_end(member: InstanceTask) -> tuple[int, str] | None:
    """Exit code and reason of the attempt before; None if history has none."""
    for index, _, _, exit_code, *_, reason in reversed(member.task_set.history or ()):
        if index == member.index:
            return exit_code, reason
    return None


def _describe_crashes(state: State, crashing: list[InstanceTask], failed: int, total: int) -> str:
    worst = max(crashing, key=lambda member: int(state.table.restarts[member.task_set.base + member.index]))
    gave_up = f"; {failed:,} gave up" if failed else ""
    return f"{_scope(worst, len(crashing), total)}{_describe_crash(state, worst)}{gave_up}"


def _scope(worst: InstanceTask, crashing: int, total: int) -> str:
    if total == 1:
        return ""
    return f"{crashing:,} of {total:,} tasks; {worst.task_set.task_name(worst.index)}: "


def _describe_crash(state: State, member: InstanceTask) -> str:
    restarts = int(state.table.restarts[member.task_set.base + member.index])
    exit_code, reason = _last_attempt_end(member) or (-1, "")
    if not reason or reason.startswith(EXIT_CODE):
        return f"restart {restarts}, last {EXIT_CODE} {exit_code}"
    return f"restart {restarts}, last attempt: {reason}"


def _describe_failure(state: State, member: InstanceTask) -> str:
    task_set, index = member.task_set, member.index
    reason = (task_set.reasons or {}).get(index) or f"{EXIT_CODE} {state.table.exit_code[task_set.base + index]}"
    return f"{task_set.task_name(index)}: {reason}"
