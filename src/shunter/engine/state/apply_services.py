"""Applies changes to the registry of long-running jobs (`registries.services`). Called by `engine.state.state`,
live and in recovery."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec.structs import replace

from shunter.engine import changes as c
from shunter.engine.state.records import Job, TaskSet
from shunter.engine.state.registries.services import REPLACED_TASKS_MAX, JobVersion, ReplacedTask, ServiceState
from shunter.model.job.spec import DEFAULT_OPTIONS, PER_NODE, GroupSpec
from shunter.model.lifecycles import RolloutEvent, RolloutStatus

if TYPE_CHECKING:
    from shunter.engine.state.state import State

GROUPS_DECODER = msgspec.msgpack.Decoder(tuple[GroupSpec, ...])
_EVENT_BY_CAUSE = {
    "update": RolloutEvent.UPDATE_ASKED,
    "rollback": RolloutEvent.ROLLBACK_BEGUN,
    "restart": RolloutEvent.RESTART_ASKED,
}
# A further update keeps tasks that an earlier one has started: they still have to become healthy.
_UNPROVEN = frozenset({RolloutStatus.STARTING, RolloutStatus.UPDATING, RolloutStatus.STALLED})


def service_submitted(state: State, job: Job) -> None:
    """A service is steady once all of it is healthy. A per-node job may never have all its nodes: it is steady from the
    start."""
    service_state = ServiceState(rollout_began_ms=job.submitted_ms)
    if job.type in PER_NODE:
        service_state.move(RolloutEvent.CONVERGED)
        service_state.stable_version = version_of(job)
    state.services.jobs[job.id] = service_state


def job_updated(state: State, job: Job, change: c.JobUpdated) -> None:
    """Called after the job has its new spec."""
    service_state = state.services.jobs[job.id]
    for task_set in job.task_sets:
        state.task_set_columns.set_priority(task_set)
    for key in [key for key in service_state.down if not _instance_exists(job, key)]:
        del service_state.down[key]
    if change.cause == "scale":
        if service_state.status is RolloutStatus.STEADY:
            service_state.stable_version = version_of(job)
        return
    if change.cause != "update" or service_state.status not in _UNPROVEN:
        service_state.first_task_set = job.next_task_set
    service_state.move(_EVENT_BY_CAUSE[change.cause])
    service_state.reason, service_state.rollout_began_ms, service_state.node = change.reason, change.at_ms, change.node
    if change.cause == "restart":
        service_state.restart_floors = {spec.name: job.next_task_set for spec in job.spec_version.groups}
        service_state.down = {}


def task_set_added(state: State, change: c.TaskSetAdded) -> None:
    if change.job in state.services.jobs:  # an application's job gets task sets, too
        state.services.jobs[change.job].added_ms[change.number] = change.at_ms


def task_set_dropped(state: State, task_set: TaskSet) -> None:
    """Replaced tasks are remembered for a while."""
    service_state, table = state.services.jobs[task_set.job.id], state.table
    service_state.added_ms.pop(task_set.number, None)
    for index in range(max(task_set.count - REPLACED_TASKS_MAX, 0), task_set.count):
        if table.attempt[task_set.base + index]:
            service_state.replaced_tasks.append(replaced_task(state, task_set, index))
    del service_state.replaced_tasks[:-REPLACED_TASKS_MAX]


def replaced_task(state: State, task_set: TaskSet, index: int) -> ReplacedTask:
    table, row = state.table, task_set.base + index
    return ReplacedTask(
        task_set.spec.name, task_set.visible_index_of(index), task_set.number, int(table.state[row]),
        int(table.attempt[row]), int(table.node[row]), int(table.exit_code[row]), int(table.started_ms[row]),
        int(table.ended_ms[row]), int(table.log[row]), (task_set.reasons or {}).get(index, ""),
    )  # fmt: skip


def rollout_settled(state: State, change: c.RolloutSettled) -> None:
    job = state.jobs[change.job]
    service_state = state.services.jobs[change.job]
    if service_state.status is not RolloutStatus.ROLLING_BACK or not change.is_stable:  # else say why it rolled back
        service_state.reason = change.reason
    service_state.move(RolloutEvent.CONVERGED if change.is_stable else RolloutEvent.FAILED)
    if change.is_stable:
        stable_version = version_of(job)
        if service_state.stable_version is not None and not is_same_but_for_counts(
            service_state.stable_version.groups, stable_version.groups
        ):
            service_state.previous_version = service_state.stable_version
        service_state.stable_version, service_state.restart_floors = stable_version, {}
    else:  # individually restarted instances continue as they are
        service_state.restart_floors = {
            key: floor for key, floor in service_state.restart_floors.items() if "/" not in key
        }


def instance_down_set(state: State, change: c.InstanceDownSet) -> None:
    down = state.services.jobs[change.job].down
    key = f"{change.group}/{change.index}"
    if change.is_down:
        down[key] = None
    else:
        down.pop(key, None)


def instance_restart_requested(state: State, change: c.InstanceRestartRequested) -> None:
    job, service_state = state.jobs[change.job], state.services.jobs[change.job]
    key = f"{change.group}/{change.index}"
    service_state.down.pop(key, None)
    service_state.restart_floors[key] = job.next_task_set
    if service_state.status is RolloutStatus.STEADY:  # else the current rollout continues
        service_state.reason, service_state.rollout_began_ms = "", change.at_ms
        service_state.first_task_set = job.next_task_set
    service_state.move(RolloutEvent.INSTANCE_RESTART_ASKED)


def job_released(state: State, job: Job, now_ms: int) -> None:
    """Instances that could not start while the job was held get their full time again."""
    service_state = state.services.jobs.get(job.id)
    if service_state is not None:
        service_state.added_ms = dict.fromkeys(service_state.added_ms, now_ms)


def is_same_but_for_counts(one: bytes, other: bytes) -> bool:
    """Compares the groups of two versions."""
    return one == other or _without_counts(one) == _without_counts(other)


def _without_counts(groups: bytes) -> list[GroupSpec]:
    return [replace(spec, count=0) for spec in GROUPS_DECODER.decode(groups)]


def version_of(job: Job) -> JobVersion:
    options = b"\x80" if job.options == DEFAULT_OPTIONS else msgspec.msgpack.encode(job.options)
    return JobVersion(job.version, job.spec_version.body, options, job.priority, job.labels)


def _instance_exists(job: Job, key: str) -> bool:
    name, _, index = key.rpartition("/")
    spec = next((spec for spec in job.spec_version.groups if spec.name == name), None)
    return spec is not None and (job.type in PER_NODE or int(index) < spec.count)


APPLIERS: dict[type, Callable[[Any, Any], None]] = {
    c.RolloutSettled: rollout_settled,
    c.InstanceDownSet: instance_down_set,
    c.InstanceRestartRequested: instance_restart_requested,
}
