"""Renders the engine's records as views (`model.rest.views`). Called by the gateway for live and finished runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from shunter.engine.jobs.dependencies import earliest_start_ms, edge_of, waits_for
from shunter.engine.services.crashes import crashing_tasks, visible_status
from shunter.engine.services.instances import Instance, collect_instances, is_wanted
from shunter.engine.state.records import STATE_COUNT, Job, NodeRecord, PastAttempt, TaskSet
from shunter.engine.state.registries.flags import DEADLINE
from shunter.engine.state.state import State
from shunter.model.job import isolation
from shunter.model.job.arrays import IndexRange, index_at
from shunter.model.job.spec import DEFAULT_OPTIONS, PER_NODE, PORT_PREFIX, GroupSpec
from shunter.model.lifecycles import TaskState
from shunter.model.resources import STANDARD, format_amount
from shunter.model.rest.job_views import AttemptView, EdgeView, GroupView, JobTerms, JobView, TaskView, UpdateView
from shunter.model.rest.node_views import NodeView
from shunter.model.timestamps import iso

_STATE_NAMES = [state.wire_name for state in TaskState]
# states without a reason
_STATES_WITHOUT_REASON = (
    TaskState.ASSIGNED,
    TaskState.RUNNING,
    TaskState.SUCCEEDED,
)


def counts_view(counts: Sequence[int]) -> dict[str, int]:
    """The non-zero counts, by state name."""
    return {_STATE_NAMES[state]: count for state, count in enumerate(counts) if count}


def job_view(job: Job, state: State | None = None, now_ms: int = 0) -> JobView:
    """Includes what the job waits for. Without the time, a service's task that was restarted is not healthy yet."""
    specs = job.spec_version.groups
    update, counts, by_group = None, job.counts(), None
    if state is not None and job.id in state.services.jobs:
        update, by_group = rollout_view(state, job, now_ms)
        counts = [sum(each[code] for each in by_group.values()) for code in range(STATE_COUNT)]
    return JobView(
        name=job.name,
        namespace=job.namespace,
        id=job.id,
        run=job.run,
        state=job.state.wire_name,
        type=job.type,
        count=sum(counts),
        counts=counts_view(counts),
        priority=job.priority,
        submitted_at=iso(job.submitted_ms / 1000) or "",
        started_at=iso(job.started_ms / 1000),
        reason=job.reason or None,
        labels=job.labels,
        user=job.user,
        command=command_of(specs[0]),
        image=image_of(specs[0]),
        resources=resources_of(specs[0]),
        groups=[_group_view(job, spec, by_group) for spec in specs] if len(specs) > 1 else [],
        terms=None if state is None else job_terms(job, state),
        version=job.version,
        update=update if job.is_long_running else None,
    )


def rollout_view(state: State, job: Job, now_ms: int = 0) -> tuple[UpdateView, dict[str, list[int]]]:
    """The progress of a rollout, with its instances by group and state, without replaced ones."""
    service_state = state.services.jobs[job.id]
    names = {spec.name: spec.count for spec in job.spec_version.groups}
    counts = {name: [0] * STATE_COUNT for name in names}
    updated = healthy = leaving = 0
    wanted: list[Instance] = []
    for (name, index), instance in collect_instances(state, job).items():
        alive = sum(member.is_alive for member in instance.members)
        if not is_wanted(job, name, index):
            leaving += alive
            continue
        wanted.append(instance)
        current = instance.current
        counts[name][current.state] += 1
        leaving += alive - current.is_alive
        updated += current.is_current_version and current.is_alive
        healthy += any(member.healthy_at_ms for member in instance.members)
    crashing = crashing_tasks(state, wanted, now_ms)
    healthy -= sum(member.healthy_at_ms > 0 for member in crashing)
    status, reason = visible_status(state, job, wanted, now_ms)
    view = UpdateView(
        status=status,
        wanted=sum(map(sum, counts.values())) if job.type in PER_NODE else sum(names.values()),
        updated=updated,
        healthy=healthy,
        reason=reason or None,
        began_at=iso(service_state.rollout_began_ms / 1000),
        good_version=service_state.stable_version.number if service_state.stable_version is not None else None,
        leaving=leaving,
    )
    return view, counts


def job_terms(job: Job, state: State) -> JobTerms | None:
    """The options of a job that are not defaults; None if all are."""
    options = job.options
    is_plain = options is DEFAULT_OPTIONS and not job.is_held
    has_edges = state.edges.targets(job.id) or state.edges.settled(job.id)
    if is_plain and not has_edges and not any(task_set.spec.after for task_set in job.task_sets):
        return None
    return JobTerms(
        queue=options.queue,
        held=job.is_held,
        start_at=iso(earliest_start_ms(job) / 1000),
        deadline=iso(job.deadline_ms / 1000),
        deadline_missed=state.flags.has(job.id, DEADLINE),
        timeout_s=options.timeout_s or None,
        failures_max=options.failures_max or None,
        waits_for=waits_for(state, job),
        after=_edges(job, state),
    )


def _edges(job: Job, state: State) -> list[EdgeView]:
    """The edges of its manifest, and the edge to an earlier run of its name."""
    targets, settled = state.edges.targets(job.id), state.edges.settled(job.id)
    found = []
    for edge_index in sorted({*range(len(job.options.after)), *targets, *settled}):
        edge, target = edge_of(job, edge_index), state.jobs.get(targets.get(edge_index, -1))
        name, outcome = settled.get(edge_index, (edge.job if target is None else f"{target.name}@{target.run}", None))
        found.append(
            EdgeView(
                name=name or edge.job, when=edge.when, otherwise=edge.otherwise, open=edge_index in targets,
                outcome=outcome or None,
            )
        )  # fmt: skip
    return found


def _group_view(job: Job, spec: GroupSpec, by_group: dict[str, list[int]] | None) -> GroupView:
    task_sets = [group for group in job.task_sets if group.spec.name == spec.name]
    counts = [sum(group.counts[state] for group in task_sets) for state in range(STATE_COUNT)]
    if by_group is not None:
        counts = by_group[spec.name]
    return GroupView(
        name=spec.name,
        count=sum(counts),
        counts=counts_view(counts),
        command=command_of(spec),
        image=image_of(spec),
        resources=resources_of(spec),
        after=[
            EdgeView(name=edge.group, when=edge.when, otherwise=edge.otherwise, open=bool(counts[TaskState.WAITING]))
            for edge in spec.after
        ],
    )


def command_of(spec: GroupSpec) -> list[str]:
    """The command with its arguments, or the arguments of the image's entry point."""
    container = spec.task.container
    return [*spec.task.command, *(container.args if container is not None else ())]


def image_of(spec: GroupSpec) -> str | None:
    return spec.task.container.image if spec.task.container is not None else None


def resources_of(spec: GroupSpec) -> dict[str, str]:
    """As in the manifest: without the node's ports."""
    return {
        resource: format_amount(resource, amount)
        for resource, amount in spec.needs.items()
        if not resource.startswith(PORT_PREFIX)
    }


@dataclass(frozen=True, slots=True)
class TaskBlock:
    """Columns of neighbouring tasks of one task set, live or finished. Row 0 is index `first` of the task set."""

    job_name: str
    group_name: str
    is_only_group: bool  # the job has no other group
    first: int
    columns: Mapping[str, NDArray[np.generic]]
    node_names: list[str]
    reasons: Mapping[int, str]
    visible_index: tuple[int, ...] | None = None
    ports: Mapping[int, dict[str, int]] = field(default_factory=dict)
    health: Mapping[int, tuple[bool, int]] = field(default_factory=dict)
    current: Mapping[int, bool] | None = None  # for a long-running job: whether it follows the current version
    hidden: frozenset[int] = frozenset()  # replaced tasks that have ended
    leaving: Mapping[int, str] = field(default_factory=dict)  # tasks that are being replaced: what follows their index
    array: tuple[IndexRange, ...] = ()
    entries: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.columns["state"])

    def visible_index_of(self, index: int) -> int:
        """SHUNTER_TASK_INDEX."""
        index = self.instance_index_of(index)
        return index_at(self.array, index) if self.array else index

    def instance_index_of(self, index: int) -> int:
        return index if self.visible_index is None else self.visible_index[index]


def task_view(block: TaskBlock, index: int) -> TaskView:
    """The task at an index of the block's task set."""
    columns, row = block.columns, index - block.first
    state, node = int(columns["state"][row]), int(columns["node"][row])
    exit_code = int(columns["exit_code"][row])
    group_prefix = "" if block.is_only_group else f"{block.group_name}/"
    health = block.health.get(index)
    return TaskView(
        name=f"{block.job_name}/{group_prefix}{block.visible_index_of(index)}{block.leaving.get(index, '')}",
        index=block.visible_index_of(index),
        group=block.group_name,
        array_index=block.visible_index_of(index) if block.array else None,
        entry=block.entries[block.instance_index_of(index)] if block.entries else None,
        state=_STATE_NAMES[state],
        attempt=int(columns["attempt"][row]),
        node=block.node_names[node] or None,
        exit_code=None if exit_code < 0 or state < TaskState.SUCCEEDED else exit_code,  # not an earlier attempt's
        started_at=None if state <= TaskState.ASSIGNED else iso(int(columns["started_ms"][row]) / 1000),
        ended_at=iso(int(columns["ended_ms"][row]) / 1000) if state >= TaskState.SUCCEEDED else None,
        reason=None
        if state in _STATES_WITHOUT_REASON
        else block.reasons.get(index),  # that of an earlier attempt is history's
        restarts=int(columns["restarts"][row]),
        lost=int(columns["lost"][row]),
        current=None if block.current is None else block.current.get(index),
        ports=block.ports.get(index, {}),
        healthy=None if health is None else health[0],
    )


def group_columns(state: State, task_set: TaskSet, first: int, end: int) -> dict[str, NDArray[np.generic]]:
    """A live group's slice of the task table: the tasks from `first` up to, without, `end`."""
    rows = slice(task_set.base + first, task_set.base + end)
    names = ("state", "attempt", "restarts", "lost", "node", "exit_code", "started_ms", "ended_ms", "log")
    return {name: getattr(state.table, name)[rows] for name in names}


def past_attempt_view(task: TaskView, past: PastAttempt, node_names: list[str]) -> AttemptView:
    _, attempt, node, exit_code, started_ms, ended_ms, _, reason = past
    return AttemptView(
        name=f"{task.name}#{attempt}",
        index=task.index,
        attempt=attempt,
        state="lost" if exit_code < 0 else "failed" if exit_code else "succeeded",
        node=node_names[node] or None,
        exit_code=None if exit_code < 0 else exit_code,
        started_at=iso(started_ms / 1000),
        ended_at=iso(ended_ms / 1000),
        reason=reason or None,
    )


def last_attempt_view(task: TaskView) -> AttemptView:
    """The attempt that the task's own row describes."""
    attempt_states = {"assigned": "ordered", "stopping": "running", "cancelled": "stopped"}
    return AttemptView(
        name=f"{task.name}#{task.attempt}",
        index=task.index,
        attempt=task.attempt,
        state=attempt_states.get(task.state, task.state),
        node=task.node,
        exit_code=task.exit_code,
        started_at=task.started_at,
        ended_at=task.ended_at,
        reason=task.reason,
    )


def node_view(state: State, node: NodeRecord, now_ms: int, stale_after_ms: int) -> NodeView:
    columns = state.nodes.view
    stats = node.stats
    capacity, reserved = amounts_view(
        columns.resources, columns.capacity[node.id].tolist(), columns.reserved[node.id].tolist()
    )
    return NodeView(
        name=node.name,
        id=node.id,
        state=node.state.wire_name,
        eligible=bool(columns.eligible[node.id]),
        reason=columns.ineligible_because.get(node.id) or node.reason or None,
        datacenter=node.datacenter,
        labels=node.labels,
        attributes=node.attributes,
        capacity=capacity,
        reserved=reserved,
        tasks=int(columns.tasks[node.id]),
        isolation=node.attributes.get(isolation.ATTRIBUTE, isolation.NONE),
        heard_at=iso(node.last_heartbeat_ms / 1000),
        stats=None if stats is None else {name: getattr(stats, name) for name in stats.__struct_fields__},
        stats_stale=stats is not None and now_ms - stats.at_ms > stale_after_ms,
    )


def amounts_view(
    resources: list[str], capacity: list[int], reserved: list[int]
) -> tuple[dict[str, str], dict[str, str]]:
    """Capacity and reservations by resource. A resource that was only requested is not listed, nor is a free port."""
    exist: dict[str, str] = {}
    held: dict[str, str] = {}
    for resource, total, amount in zip(resources, capacity, reserved, strict=True):
        is_port = resource.startswith(PORT_PREFIX)
        if (total and not is_port) or amount or resource in STANDARD:
            held[resource] = format_amount(resource, amount)
            if not is_port:
                exist[resource] = format_amount(resource, total)
    return exist, held
