"""What might start a job that waits: single changes of its manifest, or of what stands in its way. Called by
`gateway.explain.verified_remedies`, which finds out which of them really do."""

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
from shunter.engine.state.registries.services import IN_PROGRESS
from shunter.engine.state.state import State
from shunter.model.job.spec import LICENCE_PREFIX, PORT_PREFIX, QUEUE_DEFAULT, GroupSpec, JobOptions, JobSpec
from shunter.model.lifecycles import TaskState
from shunter.model.resources import STANDARD, format_amount
from shunter.planning.explain.start_estimate import Forecast
from shunter.planning.explain.suggest import Cut, Fitting
from shunter.planning.filter.filters import Filter, spell_amount
from shunter.planning.reserve.preemption import PREEMPT_GAP

PRIORITIES_MAX = 3  # that are tried, the smallest rise first
PRIORITY_MAX = 100
GROUP_DEFAULT = "main"

# How much of a change it is, to put the smallest first. A cut counts as the share that it takes away.
RELEASING, RESUMING, UNCORDONING, RAISING, WIDENING, LOOSENING, DROPPING = 0.01, 0.02, 0.05, 0.1, 0.3, 0.4, 0.6

Amend = Callable[[JobSpec], JobSpec]
Arrange = Callable[[Round], None]
Change = Callable[[GroupSpec], GroupSpec]


def _as_it_is(spec: JobSpec) -> JobSpec:
    return spec


@dataclass(frozen=True, slots=True)
class Candidate:
    """A change of the job (`amend`), or of something else in the cluster (`arrange`)."""

    size: float
    path: str
    before: Any
    after: Any  # None: without it
    text: str
    amend: Amend = _as_it_is
    arrange: Arrange | None = None
    nodes: int = 0
    is_update: bool = False  # it takes effect on what runs of the job, too: tried as an update of it


AS_IT_IS = Candidate(0.0, "", None, None, "")


def find_candidates(state: State, job: Job, filters: Sequence[Filter]) -> Iterator[Candidate]:
    """In no particular order."""
    yield from _of_options(job)
    ready = [group for group in job.task_sets if group.ready]
    if not ready:
        return
    yield from _of_queue(state, job)
    yield from _of_priority(state, job)
    fitting = Fitting(state.nodes.view, filters)
    for group in ready:
        spot = _Spot(state, group, "spec" if _is_only(job) else f"spec.groups[{group.group_index}]")
        yield from _of_resources(spot, fitting)
        yield from _of_licences(spot)
        yield from _of_places(spot, fitting)
        yield from _of_rules(spot, filters)


def limit_of_its_own(job: Job) -> Candidate | None:
    """The one change that helps a job which is kept back by nothing but its own tasks that run."""
    for group in job.task_sets:
        spec, path = group.spec, "spec" if _is_only(job) else f"spec.groups[{group.group_index}]"
        most = spec.parallel_max
        if most and group.ready and group.task_class.width >= most:
            text = f"parallel_max {most} → {most + 1}: as many run as it allows itself"
            amend = _in_group(spec.name, _set(parallel_max=most + 1))
            return Candidate(RAISING, f"{path}.parallel_max", most, most + 1, text, amend)
        if spec.distinct and group.ready:
            text, amend = f"without distinct: {spec.distinct}", _in_group(spec.name, _set(distinct=""))
            return Candidate(DROPPING, f"{path}.distinct", spec.distinct, None, text, amend)
    return None


def helps_update(state: State, job: Job) -> Iterator[Candidate]:
    """What helps an update that stands still because its successors find no room beside what they replace."""
    service_state = state.services.jobs.get(job.id)
    if service_state is None or service_state.status not in IN_PROGRESS:
        return
    waiting = {group.group_index for group in job.task_sets if group.ready}
    for group_index, spec in enumerate(job.spec_version.groups):
        most = spec.update.unavailable_max
        if group_index in waiting and most < spec.count:
            path = "spec" if _is_only(job) else f"spec.groups[{group_index}]"
            text = f"update.unavailable_max {most} → {most + 1}: the old one ends before its successor starts"
            update = msgspec.structs.replace(spec.update, unavailable_max=most + 1)
            amend = _in_group(spec.name, _set(update=update))
            yield Candidate(RAISING, f"{path}.update.unavailable_max", most, most + 1, text, amend, is_update=True)


@dataclass(frozen=True, slots=True)
class _Spot:
    """One group that waits, and where its fields stand in the manifest."""

    state: State
    group: TaskSet
    path: str

    def change(self, change: Change) -> Amend:
        return _in_group(self.group.spec.name, change)


def _is_only(job: Job) -> bool:
    return len(job.spec_version.groups) == 1 and job.spec_version.groups[0].name == GROUP_DEFAULT


def _of_options(job: Job) -> Iterator[Candidate]:
    """What a job that is not queued yet waits for."""
    if job.is_held:
        text = f"release it: shunter release {job.name}"
        arrange = partial(on_hold, job_id=job.id, is_held=False)
        yield Candidate(RELEASING, "spec.hold", True, False, text, arrange=arrange)
    if not job.counts()[TaskState.WAITING]:
        return
    options = job.options
    if options.start_at_ms or options.start_in_s:
        text = "without start_at it starts now"
        yield Candidate(WIDENING, "spec.start_at", "", None, text, _optional(start_at_ms=0, start_in_s=0.0))
    for place, edge in enumerate(options.after):
        rest = options.after[:place] + options.after[place + 1 :]
        text = f"without waiting for {edge.job}"
        yield Candidate(DROPPING, f"spec.after[{place}]", edge.job, None, text, _optional(after=rest))


def _of_queue(state: State, job: Job) -> Iterator[Candidate]:
    name = job.options.queue
    queue = state.queues.get(name)
    settle = partial(_set_queue, name, queue.is_strict, queue.queued_max)
    if queue.is_paused:
        text = f"resume queue {name}: shunter queue resume {name}"
        arrange = partial(settle, running_max=queue.running_max)
        yield Candidate(RESUMING, f"queue.{name}.paused", True, False, text, arrange=arrange)
    elif queue.running_max and state.queue_lanes[name] + _at_once(job) > queue.running_max:
        more = state.queue_lanes[name] + _at_once(job)
        text = f"running_max {queue.running_max} → {more}: shunter queue set {name} --running-max {more}"
        arrange = partial(settle, running_max=more)
        yield Candidate(RAISING, f"queue.{name}.running_max", queue.running_max, more, text, arrange=arrange)
    if name != QUEUE_DEFAULT and (queue.is_paused or queue.is_strict or queue.running_max):
        text = f"queue {name} → {QUEUE_DEFAULT}"
        yield Candidate(WIDENING, "spec.queue", name, QUEUE_DEFAULT, text, _optional(queue=QUEUE_DEFAULT))


def _at_once(job: Job) -> int:
    """The fewest of its tasks that can start: of a gang, all."""
    if job.options.gang:
        return int(job.counts()[TaskState.QUEUED])
    gangs = (int(group.counts[TaskState.QUEUED]) for group in job.task_sets if group.spec.gang)
    return max(min(gangs, default=1), 1)


def _of_priority(state: State, job: Job) -> Iterator[Candidate]:
    """To come before what waits ahead of it, or to preempt what runs: just above each priority that matters."""
    waiting = {record.task_class.priority + 1 for record in state.classes.values() if record.queued}
    gap = state.cluster.preempt_gap() or PREEMPT_GAP
    running = {record.task_class.priority + gap for record in state.classes.values() if record.lanes}
    above = sorted(each for each in waiting | running if job.priority < each <= PRIORITY_MAX)
    for priority in above[:PRIORITIES_MAX]:
        amend = partial(_replaced, priority=priority)
        size = RAISING + (priority - job.priority) / PRIORITY_MAX
        yield Candidate(size, "spec.priority", job.priority, priority, f"priority {job.priority} → {priority}", amend)


def _of_resources(spot: _Spot, fitting: Fitting) -> Iterator[Candidate]:
    task_class = spot.group.task_class.task_class
    for cut in fitting.cuts(task_class):
        if cut.resource.startswith(PORT_PREFIX):
            yield from _of_ports(spot, cut)
            continue
        before, after, resource = task_class.needs[cut.resource], cut.amount, cut.resource
        shown = f"{resource} {spell_amount(resource, before)} → {spell_amount(resource, after)} fits"
        text = f"{shown if after else f'without {resource} it fits'} {_nodes(cut.nodes)}"
        yield Candidate(
            1 - after / before, f"{spot.path}.resources.{resource}", _written(resource, before),
            _written(resource, after) if after else None, text, spot.change(_needing(resource, after)), nodes=cut.nodes,
        )  # fmt: skip


def _of_ports(spot: _Spot, cut: Cut) -> Iterator[Candidate]:
    """A port of the node that is taken: any other would do."""
    number = int(cut.resource.removeprefix(PORT_PREFIX))
    for place, port in enumerate(spot.group.spec.task.ports):
        if port.host_port == number:
            text = f"any free port instead of {number}: fits {_nodes(cut.nodes)}"
            path, amend = f"{spot.path}.ports[{place}].host_port", spot.change(_on_any_port(place))
            yield Candidate(LOOSENING, path, number, None, text, amend, nodes=cut.nodes)


def _of_licences(spot: _Spot) -> Iterator[Candidate]:
    """What the cluster has too few of, whatever the nodes have."""
    state = spot.state
    for resource, need in spot.group.task_class.task_class.needs.items():
        if not resource.startswith(LICENCE_PREFIX):
            continue
        total, used = state.cluster.licences().get(resource, 0), state.licences_used[resource]
        if total - used >= need:
            continue
        arrange = partial(_set_cluster, resource, str(used + need))
        text = f"{resource} {total} → {used + need}: shunter cluster set {resource}={used + need}"
        yield Candidate(RAISING, f"cluster.{resource}", total, used + need, text, arrange=arrange)
        if total > used:
            text = f"{resource} {need} → {total - used}, which are free"
            amend = spot.change(_needing(resource, total - used))
            size = 1 - (total - used) / need
            yield Candidate(size, f"{spot.path}.resources.{resource}", need, total - used, text, amend)


def _of_places(spot: _Spot, fitting: Fitting) -> Iterator[Candidate]:
    task_class = spot.group.task_class.task_class
    for dropped in fitting.drops(task_class):
        constraint = task_class.constraints[dropped.place]
        text = f"without the constraint {constraint} it fits {_nodes(dropped.nodes)}"
        amend = spot.change(_without("constraints", dropped.place))
        path = f"{spot.path}.constraints[{dropped.place}]"
        yield Candidate(DROPPING, path, constraint, None, text, amend, nodes=dropped.nodes)
    for widened in fitting.widenings(task_class):
        after = [*task_class.datacenters, widened.datacenter]
        text = f"datacenter {widened.datacenter} too: fits {_nodes(widened.nodes)}"
        amend = spot.change(_set(datacenters=tuple(after)))
        path, before = f"{spot.path}.datacenters", list(task_class.datacenters)
        yield Candidate(WIDENING, path, before, after, text, amend, nodes=widened.nodes)
    switched = [spot.state.nodes.records[row] for row in fitting.ineligible(task_class)]
    for node in [node for node in switched if node.cordoned_by][:1]:
        word = "uncordon" if node.cordoned_by == "cordon" else "release"
        text = f"{word} node {node.name}: shunter node {word} {node.name}"
        arrange = partial(_switch_on, node.id, node.name)
        yield Candidate(
            UNCORDONING, f"node.{node.name}.{node.cordoned_by}", True, False, text, arrange=arrange, nodes=1
        )


def _of_rules(spot: _Spot, filters: Sequence[Filter]) -> Iterator[Candidate]:
    spec = spot.group.spec
    if spec.exclusive:
        text = "not exclusive: beside others"
        yield Candidate(DROPPING, f"{spot.path}.exclusive", True, False, text, spot.change(_set(exclusive=False)))
    if spec.distinct:
        text = f"without distinct: {spec.distinct}"
        yield Candidate(DROPPING, f"{spot.path}.distinct", spec.distinct, None, text, spot.change(_set(distinct="")))
    for place, rule in enumerate(spec.affinity):
        if rule.require:
            text = f"rather than only {'away from' if rule.anti else 'where'} {rule.match}"
            amend = spot.change(_loosened(place))
            yield Candidate(LOOSENING, f"{spot.path}.affinity[{place}].require", True, False, text, amend)
    if spec.gang:
        waiting = spot.group.task_class.queued
        fits = Forecast(spot.group.task_class.task_class, spot.state.nodes.view, filters).room(waiting)
        if 0 < fits < spec.count:
            text = f"count {spec.count} → {fits}: so many of the gang fit"
            amend = spot.change(_set(count=fits, array=(), entries=()))
            yield Candidate(1 - fits / spec.count, f"{spot.path}.count", spec.count, fits, text, amend)
        text = "without gang: those that fit start at once"
        yield Candidate(LOOSENING, f"{spot.path}.gang", True, False, text, spot.change(_set(gang=False)))


# ---- changes of a spec, and of the cluster ----


def _replaced(spec: JobSpec, **fields: Any) -> JobSpec:
    return msgspec.structs.replace(spec, **fields)


def _optional(**fields: Any) -> Amend:
    def amend(spec: JobSpec) -> JobSpec:
        options: JobOptions = msgspec.structs.replace(spec.options, **fields)
        return msgspec.structs.replace(spec, options=options)

    return amend


def _in_group(name: str, change: Change) -> Amend:
    def amend(spec: JobSpec) -> JobSpec:
        groups = tuple(change(group) if group.name == name else group for group in spec.groups)
        return msgspec.structs.replace(spec, groups=groups)

    return amend


def _set(**fields: Any) -> Change:
    return lambda group: msgspec.structs.replace(group, **fields)


def _without(name: str, place: int) -> Change:
    def change(group: GroupSpec) -> GroupSpec:
        items = getattr(group, name)
        return msgspec.structs.replace(group, **{name: items[:place] + items[place + 1 :]})

    return change


def _loosened(place: int) -> Change:
    def change(group: GroupSpec) -> GroupSpec:
        rules = list(group.affinity)
        rules[place] = msgspec.structs.replace(rules[place], require=False)
        return msgspec.structs.replace(group, affinity=tuple(rules))

    return change


def _needing(resource: str, amount: int) -> Change:
    def change(group: GroupSpec) -> GroupSpec:
        needs = {**group.needs, resource: amount}
        return msgspec.structs.replace(group, needs={name: need for name, need in needs.items() if need})

    return change


def _on_any_port(place: int) -> Change:
    def change(group: GroupSpec) -> GroupSpec:
        port = group.task.ports[place]
        free = (*group.task.ports[:place], msgspec.structs.replace(port, host_port=0), *group.task.ports[place + 1 :])
        group = msgspec.structs.replace(group, task=msgspec.structs.replace(group.task, ports=free))
        return _needing(f"{PORT_PREFIX}{port.host_port}", 0)(group)

    return change


def _set_queue(name: str, is_strict: bool, queued_max: int, round: Round, *, running_max: int) -> None:
    round.record(c.QueueSet(name, False, is_strict, running_max, queued_max, round.now_ms))


def _set_cluster(name: str, value: str, round: Round) -> None:
    round.record(c.ClusterSet(name, value, round.now_ms))


def _switch_on(node: int, name: str, round: Round) -> None:
    round.record(c.NodeCordonSet(node, "", "", round.now_ms, name))


def _written(resource: str, amount: int) -> str | int:
    """As a manifest has it: countables are numbers."""
    return format_amount(resource, amount) if resource in STANDARD else amount


def _nodes(count: int) -> str:
    return f"{count:,} node{'s' if count != 1 else ''}"
