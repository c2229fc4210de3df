"""What changes do to the book of lasting jobs (`books.lasting`). Called by `engine.state.state`, live and in
recovery."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec.structs import replace

from shunter.engine import changes as c
from shunter.engine.state.records import Group, Job
from shunter.engine.state.registries.services import (
    PAST_MAX,
    RESTARTING,
    ROLLING_BACK,
    STALLED,
    STARTING,
    STEADY,
    UNDER_WAY,
    UPDATING,
    Lasting,
    PastTask,
    Version,
)
from shunter.model.job.spec import EVERYWHERE, PLAIN, GroupSpec

if TYPE_CHECKING:
    from shunter.engine.state.state import State

GROUPS_DECODER = msgspec.msgpack.Decoder(tuple[GroupSpec, ...])
_STATUS = {"update": UPDATING, "rollback": ROLLING_BACK, "restart": RESTARTING}


def job_opened(state: State, job: Job) -> None:
    """A service is good once all of it runs well. A job that runs everywhere may never have all its nodes: it is good
    from the start."""
    lasting = Lasting(began_ms=job.submitted_ms)
    if job.type in EVERYWHERE:
        lasting.status, lasting.good = STEADY, version_of(job)
    state.lasting.jobs[job.id] = lasting


def job_updated(state: State, job: Job, change: c.JobUpdated) -> None:
    """After the job has its new spec."""
    lasting = state.lasting.jobs[job.id]
    for key in [key for key in lasting.down if not _exists(job, key)]:
        del lasting.down[key]
    if change.how == "scale":
        if lasting.status == STEADY:
            lasting.good = version_of(job)
        return
    if change.how != "update" or lasting.status not in (STARTING, UPDATING, STALLED):
        lasting.first_piece = job.next_group  # else what this update leaves as it is still has to prove itself
    if change.how != "restart" or lasting.status not in UNDER_WAY:  # a restart leaves the update what it is
        lasting.status = _STATUS[change.how]
    lasting.reason, lasting.began_ms, lasting.node = change.reason, change.at_ms, change.node
    if change.how == "restart":
        lasting.floors = {spec.name: job.next_group for spec in job.blueprint.groups}
        lasting.down = {}


def group_added(state: State, change: c.GroupAdded) -> None:
    if change.job in state.lasting.jobs:  # an application's job gets pieces, too
        state.lasting.jobs[change.job].added_ms[change.number] = change.at_ms


def group_dropped(state: State, group: Group) -> None:
    """What was replaced is remembered for a while."""
    lasting, table = state.lasting.jobs[group.job.id], state.table
    lasting.added_ms.pop(group.number, None)
    for index in range(max(group.count - PAST_MAX, 0), group.count):
        if table.attempt[group.base + index]:
            lasting.past.append(past_task(state, group, index))
    del lasting.past[:-PAST_MAX]


def past_task(state: State, group: Group, index: int) -> PastTask:
    table, row = state.table, group.base + index
    return PastTask(
        group.spec.name, group.shows(index), group.number, int(table.state[row]), int(table.attempt[row]),
        int(table.node[row]), int(table.exit_code[row]), int(table.started_ms[row]), int(table.ended_ms[row]),
        int(table.log[row]), (group.reasons or {}).get(index, ""),
    )  # fmt: skip


def update_settled(state: State, change: c.UpdateSettled) -> None:
    job = state.jobs[change.job]
    lasting = state.lasting.jobs[change.job]
    if lasting.status != ROLLING_BACK or not change.is_good:  # why it went back stays to be read
        lasting.reason = change.reason
    lasting.status = STEADY if change.is_good else STALLED
    if change.is_good:
        good = version_of(job)
        if lasting.good is not None and not is_same_but_for_counts(lasting.good.groups, good.groups):
            lasting.before = lasting.good
        lasting.good, lasting.floors = good, {}
    else:  # what was restarted by itself goes on as it is
        lasting.floors = {key: floor for key, floor in lasting.floors.items() if "/" not in key}


def instance_switched(state: State, change: c.InstanceSwitched) -> None:
    down = state.lasting.jobs[change.job].down
    key = f"{change.group}/{change.index}"
    if change.is_down:
        down[key] = None
    else:
        down.pop(key, None)


def instance_renewed(state: State, change: c.InstanceRenewed) -> None:
    job, lasting = state.jobs[change.job], state.lasting.jobs[change.job]
    key = f"{change.group}/{change.index}"
    lasting.down.pop(key, None)
    lasting.floors[key] = job.next_group
    if lasting.status == STEADY:  # else it is to become what it was to become
        lasting.status, lasting.reason, lasting.began_ms = RESTARTING, "", change.at_ms
        lasting.first_piece = job.next_group


def job_released(state: State, job: Job, now_ms: int) -> None:
    """What could not start while the job was held has all the time again."""
    lasting = state.lasting.jobs.get(job.id)
    if lasting is not None:
        lasting.added_ms = dict.fromkeys(lasting.added_ms, now_ms)


def is_same_but_for_counts(one: bytes, other: bytes) -> bool:
    """Of the groups of two versions."""
    return one == other or _countless(one) == _countless(other)


def _countless(groups: bytes) -> list[GroupSpec]:
    return [replace(spec, count=0) for spec in GROUPS_DECODER.decode(groups)]


def version_of(job: Job) -> Version:
    options = b"\x80" if job.options == PLAIN else msgspec.msgpack.encode(job.options)
    return Version(job.version, job.blueprint.body, options, job.priority, job.labels)


def _exists(job: Job, key: str) -> bool:
    group, _, index = key.rpartition("/")
    spec = next((spec for spec in job.blueprint.groups if spec.name == group), None)
    return spec is not None and (job.type in EVERYWHERE or int(index) < spec.count)


APPLIERS: dict[type, Callable[[Any, Any], None]] = {
    c.UpdateSettled: update_settled,
    c.InstanceSwitched: instance_switched,
    c.InstanceRenewed: instance_renewed,
}
