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
from shunter.engine.state.records import Group
from shunter.engine.state.state import State
from shunter.model.job.spec import BATCH, EVERYWHERE, TaskSpec, array_values
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
    LASTING = 8  # a job that is kept up
    DRAIN = 9  # of a node, in place of a job
    SCHEDULING = 10  # of a Scheduling, by its uid


JOB_TIMERS = (TimerKind.JOB_START, TimerKind.JOB_TIMEOUT, TimerKind.JOB_DEADLINE)


@dataclass(slots=True)
class Timers:
    """What must be looked at when its time has come. Rebuilt from the state in recovery, so never committed."""

    heap: list[tuple[int, int, int, int, int]] = field(default_factory=list)

    def add(self, at_ms: int, kind: TimerKind, group: Group, index: int = 0) -> None:
        heapq.heappush(self.heap, (at_ms, int(kind), group.job.id, group.number, index))

    def add_job(self, at_ms: int, kind: TimerKind, job_id: int) -> None:
        """Of a whole job: group and index say nothing."""
        heapq.heappush(self.heap, (at_ms, int(kind), job_id, 0, 0))

    def due(self, now_ms: int) -> Iterator[tuple[TimerKind, int, int, int]]:
        while self.heap and self.heap[0][0] <= now_ms:
            _, kind, job, group, index = heapq.heappop(self.heap)
            yield TimerKind(kind), job, group, index

    @property
    def next_ms(self) -> int | None:
        return self.heap[0][0] if self.heap else None


class Notes(Protocol):
    """Who looks on when a policy decides: the flight recorder, and shadows."""

    def look(self, view: ClusterView, now: float, budget: int) -> ClusterView:
        """The view to decide on."""
        ...

    def note(self, decision: Decision) -> None: ...


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
    past: list[PastRecord] = field(default_factory=list)  # Schedulings that were deleted
    summaries: dict[int, Any] = field(default_factory=dict)  # endings.Summary by job id, for whoever watches the job
    spans: dict[int, tuple[int, int]] = field(default_factory=dict)  # of applications that ended: start and stop, in ms
    maybe_over: dict[int, None] = field(default_factory=dict)  # job ids, in order
    stirred: dict[tuple[int, int], None] = field(default_factory=dict)  # (job id, node or 0) of jobs to be kept up
    shaken: dict[int, None] = field(default_factory=dict)  # ids of jobs with gangs of which tasks have moved
    stirred_nodes: dict[int, None] = field(default_factory=dict)
    has_stirred_nodes: bool = False  # testbeds look at nodes after `stirred_nodes` was dealt with
    hungry: dict[tuple[int, int], None] = field(default_factory=dict)  # (class id, node) of lanes that lost work
    orders: dict[int, list[Order]] = field(default_factory=dict)  # by node, like the three below
    specs: dict[int, dict[int, TaskSpec]] = field(default_factory=dict)
    stops: dict[int, list[StopRange]] = field(default_factory=dict)
    late_stops: dict[int, list[StopRange]] = field(default_factory=dict)  # of what this round has ordered
    recalls: dict[int, list[int]] = field(default_factory=dict)
    acks: dict[int, int] = field(default_factory=dict)
    is_partial: bool = False  # the policy has more to decide
    is_fruitless: bool = False  # it says so, and nothing came of what it decided
    has_payloads: bool = False  # among the specs of its orders
    place_again_ms: int | None = None  # when the policy wants to decide again, even if nothing changes
    notes: Notes | None = None  # who writes down what is decided
    has_backlog: bool = False  # somewhere more tasks than lanes are outstanding

    def record(self, change: Change) -> None:
        self.state.apply(change)
        self.changes.append(change)
        stir = _STIRRED_BY.get(type(change))
        if stir is not None:
            stir(self, change)

    def stir_job(self, change: Any) -> None:
        """What happens to a job that is kept up is looked at before the round ends: by `engine.services.reconcile`.
        What happens to gangs is looked at by `engine.placement.gangs`."""
        if self.state.ganged and change.job in self.state.ganged:
            self.shaken[change.job] = None
        if self.state.objects.applications:
            self.state.objects.stir_application(change.job)
        if not self.state.lasting.jobs:
            return
        job = self.state.jobs[change.job]
        if job.type == BATCH:
            return
        group = job.group(change.group) if job.type in EVERYWHERE else None
        self.stirred[job.id, group.node if group is not None else 0] = None

    def stir_released(self, change: c.EdgeSettled) -> None:
        self.stirred[change.job, 0] = None

    def stir_node(self, change: Any) -> None:
        self.stirred_nodes[change.node] = None
        self.has_stirred_nodes = True

    def stir_ended(self, change: c.JobEnded) -> None:
        if self.state.objects.applications:
            self.state.objects.stir_application(change.job)

    def order(self, group: Group, first: int, last: int, attempt: int, node: int) -> None:
        """Say to the node's worker, once committed, that it shall run these tasks."""
        job, record, spec, spec_key = group.job, group.task_class, group.spec, group.spec_key
        self.specs.setdefault(node, {})[spec_key] = spec.task
        self.has_payloads |= bool(spec.task.payload)
        order = Order(
            job.id,
            group.number,
            first,
            last,
            attempt,
            spec_key,
            record.id,
            record.lanes[node].width,
            job.namespace,
            job.name,
            spec.name,
            spec.total or spec.count or group.count,
        )
        if group.shown is not None or spec.array or spec.entries:
            order.shown, order.entries = _differences(group, first, last)
        self.orders.setdefault(node, []).append(order)

    def withdraw(self, group: Group, first: int, last: int, attempt: int, node: int) -> None:
        """Do not send again what the worker has had after all, as it says behind an inventory that lacks it."""
        name, orders = (group.job.id, group.number, attempt), self.orders.get(node, [])
        meant = [
            order
            for order in orders
            if (order.job, order.group, order.attempt) == name and order.first <= last and first <= order.last
        ]
        for order in meant:
            orders.remove(order)
            if order.first < first:
                self.order(group, order.first, first - 1, attempt, node)
            if order.last > last:
                self.order(group, last + 1, order.last, attempt, node)

    def stop(self, group: Group, first: int, last: int, node: int, grace_s: float, signal: int = 0) -> None:
        """End these attempts, which all run on the node; a later attempt is not meant."""
        newest = int(self.state.table.attempt[group.base + first : group.base + last + 1].max())
        ordered = (
            order for order in self.orders.get(node, ()) if (order.job, order.group) == (group.job.id, group.number)
        )
        is_new = any(order.first <= last and first <= order.last and order.attempt <= newest for order in ordered)
        stops = self.late_stops if is_new else self.stops
        stops.setdefault(node, []).append(StopRange(group.job.id, group.number, first, last, grace_s, newest, signal))

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
            for part in _cut(orders, specs):
                yield node, Orders(self.epoch, part, {order.spec: specs[order.spec] for order in part})
        for node, ranges in self.late_stops.items():
            yield node, Stop(self.epoch, ranges)
        for node, reservations in self.recalls.items():
            yield node, Recall(self.epoch, reservations)
        for node, seq in self.acks.items():
            yield node, Ack(seq)


def _cut(orders: list[Order], specs: dict[int, TaskSpec]) -> Iterator[list[Order]]:
    """Orders in messages of a size that a connection carries: runs of a template may each have a payload."""
    if sum(len(spec.payload or b"") for spec in specs.values()) <= PAYLOADS_BYTES_MAX:
        yield orders
        return
    part: list[Order] = []
    left_bytes = PAYLOADS_BYTES_MAX
    known: set[int] = set()
    for order in orders:
        size_bytes = len(specs[order.spec].payload or b"")
        if part and order.spec not in known and size_bytes > left_bytes:
            yield part
            part, left_bytes, known = [], PAYLOADS_BYTES_MAX, set()
        if order.spec not in known:
            known.add(order.spec)
            left_bytes -= size_bytes
        part.append(order)
    yield part


_STIRRED_BY: dict[type, Callable[[Round, Any], None]] = {
    **dict.fromkeys(
        (c.TaskStarted, c.TasksFinished, c.TaskEnded, c.TasksLost, c.TasksMoved, c.TaskHealth), Round.stir_job
    ),
    **dict.fromkeys((c.NodeJoined, c.NodeMoved, c.NodeLabelled, c.NodeAttributed, c.NodeSwitched), Round.stir_node),
    c.EdgeSettled: Round.stir_released,
    c.JobEnded: Round.stir_ended,
}


def _differences(group: Group, first: int, last: int) -> tuple[list[int], list[str]]:
    """What tells tasks of a run apart beside their index: the index that they are told, and their entries."""
    spec = group.spec
    shown = list(group.shown[first : last + 1]) if group.shown is not None else list(range(first, last + 1))
    entries = [spec.entries[index] for index in shown] if spec.entries else []
    return array_values(spec.array, shown) if spec.array else shown, entries
