"""Proposes single changes that might start a waiting job: changes of its manifest, or of what blocks it. Called by
`gateway.explain.verified_remedies`, which finds out which of them work."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import msgspec

from shunter.engine import changes as c
from shunter.engine.jobs.hold import on_hold
from shunter.engine.round import Round
from shunter.engine.state.records import Job, TaskSet
from shunter.engine.state.state import State
from shunter.model import secrets
from shunter.model.job.isolation import REQUIRED_BY_CONSTRAINT
from shunter.model.job.spec import LICENCE_PREFIX, PORT_PREFIX, QUEUE_DEFAULT, GroupSpec, JobOptions, JobSpec
from shunter.model.lifecycles import ROLLOUT_IN_PROGRESS, TaskState
from shunter.model.resources import STANDARD, format_amount
from shunter.planning.explain.start_estimate import Forecast
from shunter.planning.explain.suggest import FitChecker, ResourceCut
from shunter.planning.filter.filters import Filter, format_amount_short
from shunter.planning.reserve.preemption import PREEMPT_GAP

PRIORITIES_MAX = 3  # that are tried, the smallest rise first
PRIORITY_MAX = 100
GROUP_DEFAULT = "main"

# How much of a change it is, to put the smallest first. A cut counts as the share that it takes away.
RELEASE_COST, RESUME_COST, UNCORDON_COST, RAISE_COST, WIDEN_COST, LOOSEN_COST, DROP_COST = (
    0.01,
    0.02,
    0.05,
    0.1,
    0.3,
    0.4,
    0.6,
)

SpecChange = Callable[[JobSpec], JobSpec]
ClusterChange = Callable[[Round], None]
GroupChange = Callable[[GroupSpec], GroupSpec]


def _unchanged_spec(spec: JobSpec) -> JobSpec:
    return spec


@dataclass(frozen=True, slots=True)
class Remedy:
    """A change of the job (`change_spec`), or of something else in the cluster (`change_cluster`)."""

    cost: float
    path: str
    before: Any
    after: Any  # None: without it
    text: str
    change_spec: SpecChange = _unchanged_spec
    change_cluster: ClusterChange | None = None
    nodes: int = 0
    is_update: bool = False  # it takes effect on what runs of the job, too: tried as an update of it


NO_CHANGE = Remedy(0.0, "", None, None, "")


def find_remedies(state: State, job: Job, filters: Sequence[Filter]) -> Iterator[Remedy]:
    """The remedies, in no particular order."""
    yield from _option_remedies(job)
    ready = [group for group in job.task_sets if group.ready]
    if not ready:
        return
    yield from _queue_remedies(state, job)
    yield from _priority_remedies(state, job)
    fit_checker = FitChecker(state.nodes.view, filters)
    for group in ready:
        waiting_group = _WaitingGroup(
            state, group, "spec" if _has_only_default_group(job) else f"spec.groups[{group.group_index}]"
        )
        yield from _resource_remedies(waiting_group, fit_checker)
        yield from _licence_remedies(waiting_group)
        yield from _node_remedies(waiting_group, fit_checker)
        yield from _rule_remedies(waiting_group, filters)


def own_limit_remedy(job: Job) -> Remedy | None:
    """The one change that helps a job that only its own running tasks block."""
    for task_set in job.task_sets:
        spec, path = task_set.spec, "spec" if _has_only_default_group(job) else f"spec.groups[{task_set.group_index}]"
        limit = spec.parallel_max
        if limit and task_set.ready and task_set.task_class.width >= limit:
            text = f"parallel_max {limit} → {limit + 1}: the job has reached its own limit"
            change_spec = _in_group(spec.name, _with_fields(parallel_max=limit + 1))
            return Remedy(RAISE_COST, f"{path}.parallel_max", limit, limit + 1, text, change_spec)
        if spec.distinct and task_set.ready:
            text, change_spec = f"without distinct: {spec.distinct}", _in_group(spec.name, _with_fields(distinct=""))
            return Remedy(DROP_COST, f"{path}.distinct", spec.distinct, None, text, change_spec)
    return None


def update_remedies(state: State, job: Job) -> Iterator[Remedy]:
    """Remedies for an update that is stuck because its successors find no room next to what they replace."""
    service_state = state.services.jobs.get(job.id)
    if service_state is None or service_state.status not in ROLLOUT_IN_PROGRESS:
        return
    waiting = {task_set.group_index for task_set in job.task_sets if task_set.ready}
    for group_index, spec in enumerate(job.spec_version.groups):
        limit = spec.update.unavailable_max
        if group_index in waiting and limit < spec.count:
            path = "spec" if _has_only_default_group(job) else f"spec.groups[{group_index}]"
            text = f"update.unavailable_max {limit} → {limit + 1}: an old instance stops before its replacement starts"
            update = msgspec.structs.replace(spec.update, unavailable_max=limit + 1)
            change_spec = _in_group(spec.name, _with_fields(update=update))
            yield Remedy(
                RAISE_COST, f"{path}.update.unavailable_max", limit, limit + 1, text, change_spec, is_update=True
            )


@dataclass(frozen=True, slots=True)
class _WaitingGroup:
    """One group that waits, and where its fields stand in the manifest."""

    state: State
    group: TaskSet
    path: str

    def change(self, change: GroupChange) -> SpecChange:
        return _in_group(self.group.spec.name, change)


def _has_only_default_group(job: Job) -> bool:
    return len(job.spec_version.groups) == 1 and job.spec_version.groups[0].name == GROUP_DEFAULT


def _option_remedies(job: Job) -> Iterator[Remedy]:
    """Remedies for a job that is not queued yet."""
    if job.is_held:
        text = f"release it: shunter release {job.name}"
        change_cluster = partial(on_hold, job_id=job.id, is_held=False)
        yield Remedy(RELEASE_COST, "spec.hold", True, False, text, change_cluster=change_cluster)
    if not job.counts()[TaskState.WAITING]:
        return
    options = job.options
    if options.start_at_ms or options.start_in_s:
        text = "without start_at, it starts now"
        yield Remedy(WIDEN_COST, "spec.start_at", "", None, text, _with_options(start_at_ms=0, start_in_s=0.0))
    for position, edge in enumerate(options.after):
        rest = options.after[:position] + options.after[position + 1 :]
        text = f"without waiting for {edge.job}"
        yield Remedy(DROP_COST, f"spec.after[{position}]", edge.job, None, text, _with_options(after=rest))


def _queue_remedies(state: State, job: Job) -> Iterator[Remedy]:
    name = job.options.queue
    queue = state.queues.get(name)
    set_rules = partial(_set_queue, name, queue.is_strict, queue.queued_max)
    if queue.is_paused:
        text = f"resume queue {name}: shunter queue resume {name}"
        change_cluster = partial(set_rules, running_max=queue.running_max)
        yield Remedy(RESUME_COST, f"queue.{name}.paused", True, False, text, change_cluster=change_cluster)
    elif queue.running_max and state.queue_lanes[name] + _start_count_min(job) > queue.running_max:
        more = state.queue_lanes[name] + _start_count_min(job)
        text = f"running_max {queue.running_max} → {more}: shunter queue set {name} --running-max {more}"
        change_cluster = partial(set_rules, running_max=more)
        yield Remedy(
            RAISE_COST, f"queue.{name}.running_max", queue.running_max, more, text, change_cluster=change_cluster
        )
    if name != QUEUE_DEFAULT and (queue.is_paused or queue.is_strict or queue.running_max):
        text = f"queue {name} → {QUEUE_DEFAULT}"
        yield Remedy(WIDEN_COST, "spec.queue", name, QUEUE_DEFAULT, text, _with_options(queue=QUEUE_DEFAULT))


def _start_count_min(job: Job) -> int:
    """The fewest of its tasks that can start: of a gang, all."""
    if job.options.gang:
        return int(job.counts()[TaskState.QUEUED])
    gangs = (int(task_set.counts[TaskState.QUEUED]) for task_set in job.task_sets if task_set.spec.gang)
    return max(min(gangs, default=1), 1)


def _priority_remedies(state: State, job: Job) -> Iterator[Remedy]:
    """To come before what waits ahead of it, or to preempt what runs: just above each priority that matters."""
    waiting = {record.task_class.priority + 1 for record in state.classes.values() if record.queued}
    gap = state.cluster.preempt_gap() or PREEMPT_GAP
    running = {record.task_class.priority + gap for record in state.classes.values() if record.lanes}
    priorities = sorted(each for each in waiting | running if job.priority < each <= PRIORITY_MAX)
    for priority in priorities[:PRIORITIES_MAX]:
        change_spec = partial(_with_spec_fields, priority=priority)
        cost = RAISE_COST + (priority - job.priority) / PRIORITY_MAX
        yield Remedy(
            cost, "spec.priority", job.priority, priority, f"priority {job.priority} → {priority}", change_spec
        )


def _resource_remedies(waiting_group: _WaitingGroup, fit_checker: FitChecker) -> Iterator[Remedy]:
    task_class = waiting_group.group.task_class.task_class
    for cut in fit_checker.resource_cuts(task_class):
        if cut.resource.startswith(PORT_PREFIX):
            yield from _port_remedies(waiting_group, cut)
            continue
        before, after, resource = task_class.needs[cut.resource], cut.amount, cut.resource
        cut_text = f"{resource} {format_amount_short(resource, before)} → {format_amount_short(resource, after)} fits"
        text = f"{cut_text if after else f'without {resource}, it fits'} {_format_node_count(cut.nodes)}"
        yield Remedy(
            1 - after / before, f"{waiting_group.path}.resources.{resource}", _manifest_amount(resource, before),
            _manifest_amount(resource, after) if after else None, text, waiting_group.change(_with_need(resource,
            after)), nodes=cut.nodes,
        )  # fmt: skip


def _port_remedies(waiting_group: _WaitingGroup, cut: ResourceCut) -> Iterator[Remedy]:
    """A port of the node that is taken: any other would do."""
    number = int(cut.resource.removeprefix(PORT_PREFIX))
    for position, port in enumerate(waiting_group.group.spec.task.ports):
        if port.host_port == number:
            text = f"any free port instead of {number}: fits {_format_node_count(cut.nodes)}"
            path, change_spec = (
                f"{waiting_group.path}.ports[{position}].host_port",
                waiting_group.change(_with_dynamic_port(position)),
            )
            yield Remedy(LOOSEN_COST, path, number, None, text, change_spec, nodes=cut.nodes)


def _licence_remedies(waiting_group: _WaitingGroup) -> Iterator[Remedy]:
    """Remedies for missing licences of the cluster."""
    state = waiting_group.state
    for resource, need in waiting_group.group.task_class.task_class.needs.items():
        if not resource.startswith(LICENCE_PREFIX):
            continue
        total, used = state.cluster.licences().get(resource, 0), state.licences_used[resource]
        if total - used >= need:
            continue
        change_cluster = partial(_set_cluster, resource, str(used + need))
        text = f"{resource} {total} → {used + need}: shunter cluster set {resource}={used + need}"
        yield Remedy(RAISE_COST, f"cluster.{resource}", total, used + need, text, change_cluster=change_cluster)
        if total > used:
            text = f"{resource} {need} → {total - used}, which are free"
            change_spec = waiting_group.change(_with_need(resource, total - used))
            cost = 1 - (total - used) / need
            yield Remedy(cost, f"{waiting_group.path}.resources.{resource}", need, total - used, text, change_spec)


def _node_remedies(waiting_group: _WaitingGroup, fit_checker: FitChecker) -> Iterator[Remedy]:
    task_class = waiting_group.group.task_class.task_class
    for dropped in fit_checker.droppable_constraints(task_class):
        constraint = task_class.constraints[dropped.index]
        if constraint == secrets.REQUIRED:  # not the job's to drop: an old worker would run it without
            continue
        isolation = REQUIRED_BY_CONSTRAINT.get(constraint)
        name = f"isolation: {isolation}" if isolation else f"the constraint {constraint}"
        text = f"without {name}, it fits {_format_node_count(dropped.nodes)}"
        change_spec = waiting_group.change(_without_item("constraints", dropped.index))
        path = f"{waiting_group.path}.{'isolation' if isolation else f'constraints[{dropped.index}]'}"
        yield Remedy(DROP_COST, path, isolation or constraint, None, text, change_spec, nodes=dropped.nodes)
    for widened in fit_checker.added_datacenters(task_class):
        after = [*task_class.datacenters, widened.datacenter]
        text = f"datacenter {widened.datacenter} as well: fits {_format_node_count(widened.nodes)}"
        change_spec = waiting_group.change(_with_fields(datacenters=tuple(after)))
        path, before = f"{waiting_group.path}.datacenters", list(task_class.datacenters)
        yield Remedy(WIDEN_COST, path, before, after, text, change_spec, nodes=widened.nodes)
    ineligible_nodes = [waiting_group.state.nodes.records[row] for row in fit_checker.ineligible(task_class)]
    for node in [node for node in ineligible_nodes if node.cordoned_by][:1]:
        word = "uncordon" if node.cordoned_by == "cordon" else "release"
        text = f"{word} node {node.name}: shunter node {word} {node.name}"
        change_cluster = partial(_make_eligible, node.id, node.name)
        yield Remedy(
            UNCORDON_COST,
            f"node.{node.name}.{node.cordoned_by}",
            True,
            False,
            text,
            change_cluster=change_cluster,
            nodes=1,
        )


def _rule_remedies(waiting_group: _WaitingGroup, filters: Sequence[Filter]) -> Iterator[Remedy]:
    spec = waiting_group.group.spec
    if spec.exclusive:
        text = "not exclusive: share nodes with other jobs"
        yield Remedy(
            DROP_COST,
            f"{waiting_group.path}.exclusive",
            True,
            False,
            text,
            waiting_group.change(_with_fields(exclusive=False)),
        )
    if spec.distinct:
        text = f"without distinct: {spec.distinct}"
        yield Remedy(
            DROP_COST,
            f"{waiting_group.path}.distinct",
            spec.distinct,
            None,
            text,
            waiting_group.change(_with_fields(distinct="")),
        )
    for position, rule in enumerate(spec.affinity):
        if rule.require:
            text = f"prefer instead of require: {'not ' if rule.anti else ''}{rule.match}"
            change_spec = waiting_group.change(_with_soft_affinity(position))
            yield Remedy(
                LOOSEN_COST, f"{waiting_group.path}.affinity[{position}].require", True, False, text, change_spec
            )
    if spec.gang:
        waiting = waiting_group.group.task_class.queued
        fits = Forecast(waiting_group.group.task_class.task_class, waiting_group.state.nodes.view, filters).room(
            waiting
        )
        if 0 < fits < spec.count:
            text = f"count {spec.count} → {fits}: this many tasks of the gang fit"
            change_spec = waiting_group.change(_with_fields(count=fits, array=(), entries=()))
            yield Remedy(1 - fits / spec.count, f"{waiting_group.path}.count", spec.count, fits, text, change_spec)
        text = "without gang: the tasks that fit start now"
        yield Remedy(
            LOOSEN_COST, f"{waiting_group.path}.gang", True, False, text, waiting_group.change(_with_fields(gang=False))
        )


# ---- changes of a spec, and of the cluster ----


def _with_spec_fields(spec: JobSpec, **fields: Any) -> JobSpec:
    return msgspec.structs.replace(spec, **fields)


def _with_options(**fields: Any) -> SpecChange:
    def change_spec(spec: JobSpec) -> JobSpec:
        options: JobOptions = msgspec.structs.replace(spec.options, **fields)
        return msgspec.structs.replace(spec, options=options)

    return change_spec


def _in_group(name: str, change: GroupChange) -> SpecChange:
    def change_spec(spec: JobSpec) -> JobSpec:
        groups = tuple(change(group) if group.name == name else group for group in spec.groups)
        return msgspec.structs.replace(spec, groups=groups)

    return change_spec


def _with_fields(**fields: Any) -> GroupChange:
    return lambda group: msgspec.structs.replace(group, **fields)


def _without_item(name: str, position: int) -> GroupChange:
    def change(group: GroupSpec) -> GroupSpec:
        items = getattr(group, name)
        return msgspec.structs.replace(group, **{name: items[:position] + items[position + 1 :]})

    return change


def _with_soft_affinity(position: int) -> GroupChange:
    def change(group: GroupSpec) -> GroupSpec:
        rules = list(group.affinity)
        rules[position] = msgspec.structs.replace(rules[position], require=False)
        return msgspec.structs.replace(group, affinity=tuple(rules))

    return change


def _with_need(resource: str, amount: int) -> GroupChange:
    def change(group: GroupSpec) -> GroupSpec:
        needs = {**group.needs, resource: amount}
        return msgspec.structs.replace(group, needs={name: need for name, need in needs.items() if need})

    return change


def _with_dynamic_port(position: int) -> GroupChange:
    def change(group: GroupSpec) -> GroupSpec:
        port = group.task.ports[position]
        free = (
            *group.task.ports[:position],
            msgspec.structs.replace(port, host_port=0),
            *group.task.ports[position + 1 :],
        )
        group = msgspec.structs.replace(group, task=msgspec.structs.replace(group.task, ports=free))
        return _with_need(f"{PORT_PREFIX}{port.host_port}", 0)(group)

    return change


def _set_queue(name: str, is_strict: bool, queued_max: int, round: Round, *, running_max: int) -> None:
    round.record(c.QueueSet(name, False, is_strict, running_max, queued_max, round.now_ms))


def _set_cluster(name: str, value: str, round: Round) -> None:
    round.record(c.ClusterSet(name, value, round.now_ms))


def _make_eligible(node: int, name: str, round: Round) -> None:
    round.record(c.NodeCordonSet(node, "", "", round.now_ms, name))


def _manifest_amount(resource: str, amount: int) -> str | int:
    """As a manifest has it: countables are numbers."""
    return format_amount(resource, amount) if resource in STANDARD else amount


def _format_node_count(count: int) -> str:
    return f"{count:,} node{'s' if count != 1 else ''}"
