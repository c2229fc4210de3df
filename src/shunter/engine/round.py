"""One round: the changes it makes and what must be said once they are committed. Made by `engine.engine`, handed to
every function that decides."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from enum import IntEnum
from random import Random
from typing import Any, Protocol

from shunter.engine import changes as c
from shunter.engine.changes import Change
from shunter.engine.settings import EngineSettings
from shunter.engine.state.records import TaskSet
from shunter.engine.state.state import State
from shunter.model.job.spec import BATCH, PER_NODE, TaskSpec, array_values
from shunter.model.protocol.worker_messages import Ack, ManagerMessage, Order, Orders, Recall, Stop, StopRange
from shunter.planning.view import ClusterView, Decision
from shunter.ports.store import FinishedJob, PastRecord

PAYLOADS_BYTES_MAX = 8 * 2**20  # in one message of orders


class TimerKind(IntEnum):
    BACK_OFF = 1
    QUEUE_TIMEOUT = 2
    JOB_START = 3  # from here on of a job as a whole
    JOB_TIMEOUT = 4
    JOB_DEADLINE = 5
    TEMPLATE = 6  # of a template, by its id
    SERVICE = 8  # a job that is kept up
    DRAIN = 9  # of a node, in place of a job
    SCHEDULING = 10  # of a Scheduling, by its uid


JOB_TIMERS = (TimerKind.JOB_START, TimerKind.JOB_TIMEOUT, TimerKind.JOB_DEADLINE)


@dataclass(slots=True)
class Timers:
    """What must be looked at when its time has come. Rebuilt from the state in recovery, so never committed."""

    heap: list[tuple[int, int, int, int, int]] = field(default_factory=list)

    def add(self, at_ms: int, kind: TimerKind, task_set: TaskSet, index: int = 0) -> None:
        heapq.heappush(self.heap, (at_ms, int(kind), task_set.job.id, task_set.number, index))

    def add_job(self, at_ms: int, kind: TimerKind, job_id: int) -> None:
        """Of a whole job: task set and index say nothing."""
        heapq.heappush(self.heap, (at_ms, int(kind), job_id, 0, 0))

    def due(self, now_ms: int) -> Iterator[tuple[TimerKind, int, int, int]]:
        while self.heap and self.heap[0][0] <= now_ms:
            _, kind, job, number, index = heapq.heappop(self.heap)
            yield TimerKind(kind), job, number, index

    @property
    def next_ms(self) -> int | None:
        return self.heap[0][0] if self.heap else None


class DecisionObserver(Protocol):
    """Who looks on when a policy decides: the flight recorder, and shadows."""

    def before_decision(self, view: ClusterView, now: float, budget: int) -> ClusterView:
        """The view to decide on."""
        ...

    def after_decision(self, decision: Decision) -> None: ...


@dataclass(slots=True)
class Round:
    state: State
    epoch: int
    now_ms: int
    settings: EngineSettings
    random: Random
    timers: Timers
    changes: list[Change] = field(default_factory=list)
    finished: list[FinishedJob] = field(default_factory=list)
    archived_objects: list[PastRecord] = field(default_factory=list)  # Schedulings that were deleted
    summaries: dict[int, Any] = field(default_factory=dict)  # jobs.finish.Summary by job id, for whoever watches it
    application_times: dict[int, tuple[int, int]] = field(
        default_factory=dict
    )  # of applications that ended: start and stop, in ms
    maybe_finished: dict[int, None] = field(default_factory=dict)  # job ids, in order
    dirty_jobs: dict[tuple[int, int], None] = field(default_factory=dict)  # (job id, node or 0) of jobs to be kept up
    dirty_gangs: dict[int, None] = field(default_factory=dict)  # ids of jobs with gangs of which tasks have moved
    dirty_nodes: dict[int, None] = field(default_factory=dict)
    had_dirty_nodes: bool = False  # testbeds look at nodes after `dirty_nodes` was dealt with
    underfilled: dict[tuple[int, int], None] = field(default_factory=dict)  # (class id, node) of lanes that lost work
    orders: dict[int, list[Order]] = field(default_factory=dict)  # by node, like the three below
    specs: dict[int, dict[int, TaskSpec]] = field(default_factory=dict)
    stops: dict[int, list[StopRange]] = field(default_factory=dict)
    deferred_stops: dict[int, list[StopRange]] = field(default_factory=dict)  # of what this round has ordered
    recalls: dict[int, list[int]] = field(default_factory=dict)
    acks: dict[int, int] = field(default_factory=dict)
    is_partial: bool = False  # the policy has more to decide
    is_unproductive: bool = False  # it says so, and nothing came of what it decided
    has_payloads: bool = False  # among the specs of its orders
    next_placement_ms: int | None = None  # when the policy wants to decide again, even if nothing changes
    observer: DecisionObserver | None = None  # who writes down what is decided
    has_backlog: bool = False  # somewhere more tasks than lanes are outstanding

    def record(self, change: Change) -> None:
        self.state.apply(change)
        self.changes.append(change)
        mark_dirty = _DIRTY_MARKERS.get(type(change))
        if mark_dirty is not None:
            mark_dirty(self, change)

    def mark_job_dirty(self, change: Any) -> None:
        """What happens to a job that is kept up is looked at before the round ends: by `engine.services.reconcile`.
        What happens to gangs is looked at by `engine.placement.gang_restart`."""
        if self.state.gang_jobs and change.job in self.state.gang_jobs:
            self.dirty_gangs[change.job] = None
        if self.state.objects.applications:
            self.state.objects.mark_application_dirty(change.job)
        if not self.state.services.jobs:
            return
        job = self.state.jobs[change.job]
        if job.type == BATCH:
            return
        task_set = job.task_set(change.task_set) if job.type in PER_NODE else None
        self.dirty_jobs[job.id, task_set.node if task_set is not None else 0] = None

    def mark_released_dirty(self, change: c.EdgeSettled) -> None:
        self.dirty_jobs[change.job, 0] = None

    def mark_node_dirty(self, change: Any) -> None:
        self.dirty_nodes[change.node] = None
        self.had_dirty_nodes = True

    def mark_ended_dirty(self, change: c.JobEnded) -> None:
        if self.state.objects.applications:
            self.state.objects.mark_application_dirty(change.job)

    def order(self, task_set: TaskSet, first: int, last: int, attempt: int, node: int) -> None:
        """Say to the node's worker, once committed, that it shall run these tasks."""
        job, record, spec, spec_key = task_set.job, task_set.task_class, task_set.spec, task_set.spec_key
        self.specs.setdefault(node, {})[spec_key] = spec.task
        self.has_payloads |= bool(spec.task.payload)
        order = Order(
            job.id,
            task_set.number,
            first,
            last,
            attempt,
            spec_key,
            record.id,
            record.lanes[node].width,
            job.namespace,
            job.name,
            spec.name,
            spec.total or spec.count or task_set.count,
        )
        if task_set.visible_index is not None or spec.array or spec.entries:
            order.shown, order.entries = _per_task_values(task_set, first, last)
        self.orders.setdefault(node, []).append(order)

    def withdraw(self, task_set: TaskSet, first: int, last: int, attempt: int, node: int) -> None:
        """Do not send again what the worker has had after all, as it says behind an inventory that lacks it."""
        name, orders = (task_set.job.id, task_set.number, attempt), self.orders.get(node, [])
        overlapping = [
            order
            for order in orders
            if (order.job, order.group, order.attempt) == name and order.first <= last and first <= order.last
        ]
        for order in overlapping:
            orders.remove(order)
            if order.first < first:
                self.order(task_set, order.first, first - 1, attempt, node)
            if order.last > last:
                self.order(task_set, last + 1, order.last, attempt, node)

    def stop(self, task_set: TaskSet, first: int, last: int, node: int, grace_s: float, signal: int = 0) -> None:
        """End these attempts, which all run on the node; a later attempt is not meant."""
        newest_attempt = int(self.state.table.attempt[task_set.base + first : task_set.base + last + 1].max())
        ordered = (
            order
            for order in self.orders.get(node, ())
            if (order.job, order.group) == (task_set.job.id, task_set.number)
        )
        is_new = any(
            order.first <= last and first <= order.last and order.attempt <= newest_attempt for order in ordered
        )
        stops = self.deferred_stops if is_new else self.stops
        stops.setdefault(node, []).append(
            StopRange(task_set.job.id, task_set.number, first, last, grace_s, newest_attempt, signal)
        )

    def messages(self) -> Iterator[tuple[int, ManagerMessage]]:
        """What to send once the round is committed. Stops go before orders: an index may be stopped and run anew. What
        this very round has ordered is stopped when the worker knows of it."""
        for node, ranges in self.stops.items():
            yield node, Stop(self.epoch, ranges)
        for node, orders in self.orders.items():
            if not orders:
                continue
            specs = self.specs[node]
            if not self.has_payloads:
                yield node, Orders(self.epoch, orders, specs)
                continue
            for batch in _split_by_size(orders, specs):
                yield node, Orders(self.epoch, batch, {order.spec: specs[order.spec] for order in batch})
        for node, ranges in self.deferred_stops.items():
            yield node, Stop(self.epoch, ranges)
        for node, reservations in self.recalls.items():
            yield node, Recall(self.epoch, reservations)
        for node, seq in self.acks.items():
            yield node, Ack(seq)


def _split_by_size(orders: list[Order], specs: dict[int, TaskSpec]) -> Iterator[list[Order]]:
    """Orders in messages of a size that a connection carries: runs of a template may each have a payload."""
    if sum(len(spec.payload or b"") for spec in specs.values()) <= PAYLOADS_BYTES_MAX:
        yield orders
        return
    batch: list[Order] = []
    remaining_bytes = PAYLOADS_BYTES_MAX
    sent_specs: set[int] = set()
    for order in orders:
        size_bytes = len(specs[order.spec].payload or b"")
        if batch and order.spec not in sent_specs and size_bytes > remaining_bytes:
            yield batch
            batch, remaining_bytes, sent_specs = [], PAYLOADS_BYTES_MAX, set()
        if order.spec not in sent_specs:
            sent_specs.add(order.spec)
            remaining_bytes -= size_bytes
        batch.append(order)
    yield batch


_DIRTY_MARKERS: dict[type, Callable[[Round, Any], None]] = {
    **dict.fromkeys(
        (c.TaskStarted, c.TasksFinished, c.TaskEnded, c.TasksLost, c.TasksTransitioned, c.TaskHealth),
        Round.mark_job_dirty,
    ),
    **dict.fromkeys(
        (c.NodeJoined, c.NodeTransitioned, c.NodeLabelled, c.NodeAttributed, c.NodeCordonSet), Round.mark_node_dirty
    ),
    c.EdgeSettled: Round.mark_released_dirty,
    c.JobEnded: Round.mark_ended_dirty,
}


def _per_task_values(task_set: TaskSet, first: int, last: int) -> tuple[list[int], list[str]]:
    """What tells tasks of a run apart beside their index: the index that they are told, and their entries."""
    spec = task_set.spec
    visible_indexes = (
        list(task_set.visible_index[first : last + 1])
        if task_set.visible_index is not None
        else list(range(first, last + 1))
    )
    entries = [spec.entries[index] for index in visible_indexes] if spec.entries else []
    return array_values(spec.array, visible_indexes) if spec.array else visible_indexes, entries
