"""Rebuilds a cluster view from deltas (`planning.remote.view_writer`). Policies cannot tell it from the engine's view.

Used wherever a policy decides outside of a round: in external schedulers, slow policies, shadows and replays."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from dataclasses import replace
from typing import TypeVar

import numpy as np

from shunter.model.objects.batch_jobs import BatchJob
from shunter.model.objects.object_meta import ObjectName
from shunter.model.objects.schedulings import Scheduling
from shunter.model.objects.testbeds import Testbed
from shunter.model.protocol.scheduler_messages import OBJECTS, TASKS, Answers, NodeRows, ViewDelta
from shunter.planning.filter.filters import FILTERS
from shunter.planning.filter.hard_rules import HardRules
from shunter.planning.filter.node_ledger import NodeLedger
from shunter.planning.order.pending_queue import PendingQueue
from shunter.planning.remote.tenant_rows import read_quotas, read_tenants
from shunter.planning.remote.view_queries import RecordedAnswers, read_class
from shunter.planning.remote.view_scope import add_resource_columns, empty_nodes, grow_rows, limit_view
from shunter.planning.view import BoolArray, ClusterView, IntArray, Nodes, Queued, QueueRules, TaskClass, TenantQuota

ObjectType = TypeVar("ObjectType", Testbed, BatchJob, Scheduling)


class GapInDeltas(Exception):
    """A delta is missing: the reader must start again, with a complete one."""


class ViewReader:
    """The view has only what `wants` names. `missing` counts queries that the deltas could not answer."""

    def __init__(self, wants: Collection[str]) -> None:
        self._wants = frozenset(wants)
        self._number = 0
        self._answers: RecordedAnswers | None = None
        self._missing = 0
        self._ledger = NodeLedger()
        self._start()

    def read(self, delta: ViewDelta) -> ClusterView:
        """The view as of this delta; it is valid until the next one is read. Raises GapInDeltas."""
        if delta.is_whole:
            self._start()
        elif delta.number != self._number + 1:
            raise GapInDeltas(f"delta {delta.number} came after {self._number}")
        self._number = delta.number
        if TASKS in self._wants:
            _read_nodes(self._nodes, delta)
            self._read_queued(delta)
            self._read_limits(delta)
        if OBJECTS in self._wants:
            _read_objects(self._testbeds, delta.testbeds, delta.testbeds_gone)
            _read_objects(self._batch_jobs, delta.batch_jobs, delta.batch_jobs_gone)
            _read_objects(self._schedulings, delta.schedulings, delta.schedulings_gone)
        return self._view(delta)

    @property
    def missing(self) -> int:
        return self._missing + (self._answers.missing if self._answers is not None else 0)

    def _start(self) -> None:
        self._nodes = empty_nodes(resources=())
        self._pending_queue = PendingQueue()
        self._classes: dict[int, TaskClass] = {}
        self._usage: dict[tuple[str, str], IntArray] = {}
        self._queues: dict[str, QueueRules] = {}
        self._licences: dict[str, tuple[int, int]] = {}
        self._quotas: dict[str, TenantQuota] = {}
        self._tenants: dict[str, str] = {}
        self._testbeds: dict[ObjectName, Testbed] = {}
        self._batch_jobs: dict[ObjectName, BatchJob] = {}
        self._schedulings: dict[ObjectName, Scheduling] = {}

    def _read_queued(self, delta: ViewDelta) -> None:
        for row in delta.classes:
            self._classes[row.id] = read_class(row)
        for class_id in delta.gone:
            self._pending_queue.drop(class_id)
        for each in delta.queued:
            task_class = self._classes[each.class_id]
            avoid = frozenset(each.avoid)
            self._pending_queue.put(Queued(task_class, each.count, each.since, each.since_ms, each.estimate_s, avoid))
        for class_id in delta.gone:
            if self._pending_queue.get(class_id) is None:
                self._classes.pop(class_id, None)

    def _read_limits(self, delta: ViewDelta) -> None:
        for row in delta.usage:
            if row.amounts is None:
                del self._usage[row.namespace, row.user]
            else:
                self._usage[row.namespace, row.user] = np.array(row.amounts, np.int64)
        if delta.queues is not None:
            self._queues = {rules.name: rules for rules in delta.queues}
        if delta.licences is not None:
            self._licences = {row.name: (row.total, row.used) for row in delta.licences}
        if delta.quotas is not None:
            self._quotas = read_quotas(delta.quotas)
        if delta.tenants is not None:
            self._tenants = read_tenants(delta.tenants)

    def _view(self, delta: ViewDelta) -> ClusterView:
        self._missing = self.missing
        answers = RecordedAnswers(delta.answers or Answers(), self._nodes.count, self._classes)
        self._answers = answers
        view = ClusterView(
            version=delta.version,
            nodes=self._nodes,
            queued=self._pending_queue,
            usage=self._usage,
            queues=self._queues,
            licences=self._licences,
            quotas=self._quotas,
            tenants=self._tenants,
            preempt_gap=delta.preempt_gap,
            reserve_after_s=delta.reserve_after_s,
            hold_after_s=delta.hold_after_s,
            testbeds=self._testbeds,
            batch_jobs=self._batch_jobs,
            schedulings=self._schedulings,
            running=answers.running,
            classes=answers.class_of,
            lowest_priority=answers.lowest_priority,
            tally=answers.tally,
            leaving=answers.leaving,
            presence=answers.presence,
            matches=answers.matches,
            repels=answers.repels if delta.answers is not None and delta.answers.repels is not None else None,
            called=answers.called,
            longest_s=answers.longest_s if delta.answers is not None and delta.answers.longest_s else None,
        )
        view = limit_view(view, self._wants)
        return replace(view, accepts=self._accepts(view)) if TASKS in self._wants else view

    def _accepts(self, view: ClusterView) -> Callable[[TaskClass], BoolArray]:
        """As the manager would answer, except for filters of its plugins. Computed on request."""
        cached_rules: list[HardRules] = []

        def accepts(task_class: TaskClass) -> BoolArray:
            if not cached_rules:
                self._ledger.sync(view.nodes)
                cached_rules.append(HardRules(view, self._ledger, FILTERS))
            return cached_rules[0].accepts(task_class)

        return accepts


def _read_nodes(nodes: Nodes, delta: ViewDelta) -> None:
    if delta.resources is not None:
        add_resource_columns(nodes, delta.resources)
    grow_rows(nodes, delta.count)
    for row in range(nodes.count, delta.count):
        nodes.names.append(delta.names[row])
    nodes.count = delta.count
    nodes.kinds.extend(delta.kinds)
    if delta.nodes is not None:
        _put_rows(nodes, delta.nodes)
    if delta.capacity is not None:
        for resource, amounts in delta.capacity.amounts.items():
            nodes.capacity[delta.capacity.rows, nodes.resources.index(resource)] = amounts


def _put_rows(nodes: Nodes, changes: NodeRows) -> None:
    if changes.rows:
        rows = np.array(changes.rows, np.int64)
        nodes.tick += 2  # a policy that reads again what changed at the last tick must find only the last row
        nodes.changed[rows] = nodes.tick - 1
        nodes.changed[rows[-1]] = nodes.tick
        nodes.tasks[rows] = changes.tasks
        for resource, amounts in changes.reserved.items():
            nodes.reserved[rows, nodes.resources.index(resource)] = amounts
    columns = ((nodes.tasks, changes.uncounted), (nodes.busy, changes.busy), (nodes.eligible, changes.eligible))
    for column, values in (*columns, (nodes.owner, changes.owner), (nodes.kind, changes.kind)):
        if values:
            column[list(values)] = list(values.values())
    for row, text in changes.because.items():
        if text:
            nodes.ineligible_because[row] = text
        else:
            nodes.ineligible_because.pop(row, None)


def _read_objects(
    objects: dict[ObjectName, ObjectType], changed: Iterable[ObjectType], gone: Iterable[ObjectName]
) -> None:
    for name in gone:
        del objects[name]
    for each in changed:
        objects[each.meta.object_name] = each
