"""What is true of the whole cluster, computed from the columns of the state when somebody asks. Called by the gateway
for /metrics."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from itertools import islice

from shunter.engine.identity.tenant_use import tenant_use
from shunter.engine.metrics.round_metrics import RoundMetrics
from shunter.engine.state.records import ClassRecord, NodeRecord
from shunter.engine.state.registries.tenants import Tenant
from shunter.engine.state.state import State
from shunter.model.job.spec import PORT_PREFIX, QUEUE_DEFAULT
from shunter.model.lifecycles import JobState, NodeState, TaskState
from shunter.model.metrics import catalogue as m
from shunter.model.metrics.exposition import Exposition
from shunter.model.metrics.metric import LABEL_VALUES_MAX, OTHER, Metric, fold_labels
from shunter.model.objects.batch_jobs import BatchJobState
from shunter.model.objects.schedulings import SchedulingState
from shunter.model.objects.testbeds import SlotState, TestbedState
from shunter.model.resources import CPU, MEMORY, STANDARD

_LIVE_TASKS = (TaskState.WAITING, TaskState.QUEUED, TaskState.ASSIGNED, TaskState.RUNNING, TaskState.STOPPING)
_LIVE_JOBS = (JobState.PENDING, JobState.RUNNING, JobState.STOPPING)
ObjectState = TestbedState | BatchJobState | SchedulingState
_UP = (NodeState.READY, NodeState.DRAINING, NodeState.DRAINED)


def put_cluster(exposition: Exposition, state: State) -> None:
    exposition.put_each(m.JOBS, ((each.wire_name, state.job_counts[each]) for each in _LIVE_JOBS))
    exposition.put_each(m.TASKS, ((each.wire_name, state.task_counts[each]) for each in _LIVE_TASKS))
    exposition.put(m.DEAD_LETTERS, len(state.dead_letters.letters))
    exposition.put(m.STATE_VERSION, state.version)
    _put_queues(exposition, state)
    _put_tenants(exposition, state)
    _put_resources(exposition, state)
    _put_nodes(exposition, state)
    _put_objects(exposition, state)


def put_tenant(exposition: Exposition, state: State, name: str) -> None:
    """What is true of one tenant: its jobs, its tasks by queue, and its quotas. Nothing about nodes."""
    tenant = state.tenants.tenants.get(name)
    if tenant is None:
        return
    for each in _LIVE_JOBS:
        count = sum(state.job_index.count(namespace, (each,)) for namespace in tenant.namespaces)
        exposition.put(m.JOBS, count, each.wire_name)
    _put_queue_tasks(exposition, [record for record in state.classes.values() if record.tenant == name], tenant.queues)
    _put_quotas(exposition, state, tenant)


def _put_queues(exposition: Exposition, state: State) -> None:
    _put_queue_tasks(exposition, state.classes.values(), state.queues.queues)
    for name, queue in islice(state.queues.queues.items(), LABEL_VALUES_MAX):
        exposition.put(m.QUEUE_PAUSED, queue.is_paused, name)


def _put_queue_tasks(exposition: Exposition, classes: Iterable[ClassRecord], queues: Iterable[str]) -> None:
    queued: Counter[str] = Counter(dict.fromkeys((QUEUE_DEFAULT, *queues), 0))
    running: Counter[str] = Counter(queued)
    for record in classes:
        name = record.key.queue
        queued[name] += record.queued
        running[name] += sum(lanes.outstanding for lanes in record.lanes.values())
    for metric_state, counts in (("queued", queued), ("running", running)):
        for name, count in fold_labels(counts).items():
            exposition.put(m.QUEUE_TASKS, count, name, metric_state)


def _put_tenants(exposition: Exposition, state: State) -> None:
    """Tenants beyond the limit are left out: quotas of several tenants have no meaningful sum."""
    for tenant in islice(state.tenants.tenants.values(), LABEL_VALUES_MAX):
        _put_quotas(exposition, state, tenant)


def _put_quotas(exposition: Exposition, state: State, tenant: Tenant) -> None:
    for quota, used in tenant_use(state, tenant).items():
        unit = 1000 if quota == CPU else 1
        exposition.put(m.QUOTA_USED, used / unit, tenant.name, quota)
        if quota in tenant.quotas:
            exposition.put(m.QUOTA_LIMIT, tenant.quotas[quota] / unit, tenant.name, quota)


def _put_resources(exposition: Exposition, state: State) -> None:
    nodes = state.nodes.view
    capacity = dict(zip(nodes.resources, nodes.capacity.sum(axis=0).tolist(), strict=False))
    reserved = dict(zip(nodes.resources, nodes.reserved.sum(axis=0).tolist(), strict=False))
    exposition.put(m.CPU_CAPACITY, capacity[CPU] / 1000)
    exposition.put(m.CPU_RESERVED, reserved[CPU] / 1000)
    exposition.put(m.MEMORY_CAPACITY, capacity[MEMORY])
    exposition.put(m.MEMORY_RESERVED, reserved[MEMORY])
    exposition.put_each(m.RESOURCE_CAPACITY, _countable(capacity))
    exposition.put_each(m.RESOURCE_RESERVED, _countable(reserved))


def _countable(amounts: Mapping[str, int]) -> list[tuple[str, float]]:
    """Every node has each port once, so ports say nothing about the cluster."""
    counts = {name: n for name, n in amounts.items() if name not in STANDARD and not name.startswith(PORT_PREFIX)}
    return list(fold_labels(counts).items())


def _put_nodes(exposition: Exposition, state: State) -> None:
    """The first nodes by name of their own, the others together."""
    by_state = Counter(node.state for node in state.nodes.records.values())
    exposition.put_each(m.NODES, ((each.wire_name, by_state[each]) for each in NodeState))
    exposition.put(m.NODES_ELIGIBLE, int(state.nodes.view.eligible.sum()))
    records = list(state.nodes.records.values())
    named, others = records[:LABEL_VALUES_MAX], records[LABEL_VALUES_MAX:]
    for node in named:
        exposition.put(m.NODE_UP, node.state in _UP, node.name)
        exposition.put(m.NODE_TASKS, int(state.nodes.tasks[node.id]), node.name)
        _put_machine(exposition, node)
    if others:
        exposition.put(m.NODE_UP, all(node.state in _UP for node in others), OTHER)
        exposition.put(m.NODE_TASKS, sum(int(state.nodes.tasks[node.id]) for node in others), OTHER)


def _put_machine(exposition: Exposition, node: NodeRecord) -> None:
    stats = node.stats
    if stats is None or node.state not in _UP:  # what it was is not what it is
        return
    values: tuple[tuple[Metric, float], ...] = (
        (m.NODE_CPU_BUSY, stats.cpu_busy),
        (m.NODE_MEMORY_AVAILABLE, stats.memory_available_bytes),
        (m.NODE_MEMORY_SIZE, stats.memory_total_bytes),
        (m.NODE_DISK_FREE, stats.disk_free_bytes),
        (m.NODE_DISK_SIZE, stats.disk_total_bytes),
    )
    for metric, value in values:
        exposition.put(metric, value, node.name)


def _put_objects(exposition: Exposition, state: State) -> None:
    """Objects of this store; those of Kubernetes are not known here. Slots of testbeds beyond the limit are added."""
    objects = state.objects
    testbeds, jobs, schedulings = objects.testbeds.values(), objects.batch_jobs.values(), objects.schedulings.values()
    _put_states(exposition, m.TESTBEDS, TestbedState, (each.status.state for each in testbeds))
    _put_states(exposition, m.BATCH_JOBS, BatchJobState, (each.status.state for each in jobs))
    _put_states(exposition, m.SCHEDULINGS, SchedulingState, (each.status.state for each in schedulings))
    slots: dict[str, Counter[SlotState]] = {}
    for number, (name, testbed) in enumerate(objects.testbeds.items()):
        label = str(name) if number < LABEL_VALUES_MAX else OTHER
        slots.setdefault(label, Counter()).update(slot.state for slot in testbed.status.slots)
    for label, counts in slots.items():
        for slot_state in SlotState:
            exposition.put(m.TESTBED_SLOTS, counts[slot_state], label, slot_state.wire_name)


def _put_states(exposition: Exposition, metric: Metric, kind: type[ObjectState], states: Iterable[ObjectState]) -> None:
    counts = Counter(states)
    exposition.put_each(metric, ((each.wire_name, counts[each]) for each in kind))


def put_counters(exposition: Exposition, metrics: RoundMetrics, state: State) -> None:
    """What this manager has done since it started. Nodes that never changed count too: an alert compares."""
    exposition.put_histogram(m.ROUNDS, metrics.rounds)
    exposition.put_histogram(m.COMMITS, metrics.commits)
    exposition.put_histogram(m.SUBMITS, metrics.submits)
    exposition.put_histogram(m.QUEUE_WAIT, metrics.queue_wait)
    exposition.put_histogram(m.START_LATENCY, metrics.start_latency)
    exposition.put_histogram(m.RUN_TIME, metrics.run_time)
    exposition.put(m.COMMIT_FAILURES, metrics.commit_failures)
    exposition.put(m.JOBS_SUBMITTED, metrics.jobs_submitted)
    exposition.put_each(m.JOBS_ENDED, metrics.jobs_ended.values.items())
    exposition.put_each(m.ATTEMPTS, metrics.attempts.values.items())
    exposition.put(m.PREEMPTIONS, metrics.preemptions)
    placed = metrics.placed_by_queue.values
    exposition.put_each(m.TASKS_PLACED, fold_labels({QUEUE_DEFAULT: 0, **placed}).items())
    known = dict.fromkeys((node.name for node in islice(state.nodes.records.values(), LABEL_VALUES_MAX)), 0)
    exposition.put_each(m.NODE_CHANGES, fold_labels({**known, **metrics.changes_by_node.values}).items())
