"""Writes a cluster view as deltas: what changed since the last one. Used for schedulers and for the flight recorder;
`planning.remote.view_reader` rebuilds the view.

A writer keeps a copy of what it has sent. So the cost of a delta grows with what changed, apart from a few comparisons
of whole columns."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, TypeVar

import numpy as np

from shunter.model.objects.batch_jobs import BatchJob
from shunter.model.objects.object_meta import ObjectName
from shunter.model.objects.schedulings import Scheduling
from shunter.model.objects.testbeds import Testbed
from shunter.model.protocol.scheduler_messages import (
    OBJECTS,
    RULES,
    RUNNING,
    TASKS,
    CapacityRows,
    LicenceRow,
    NodeRows,
    QueuedRow,
    UsageRow,
    ViewDelta,
)
from shunter.planning.order.pending_queue import PendingQueue
from shunter.planning.remote.tenant_rows import quota_rows, tenant_rows
from shunter.planning.remote.view_queries import class_row, full_answers
from shunter.planning.remote.view_scope import add_resource_columns, empty_nodes, grow_rows
from shunter.planning.view import ClusterView, IntArray, Nodes, Queued, QueueRules, TaskClass, TenantQuota

ObjectType = TypeVar("ObjectType", Testbed, BatchJob, Scheduling)
Fields = dict[str, Any]
UNSENT = -1  # no amount


class ViewWriter:
    """Tells one reader about the views of one engine. `wants` are those of `model.protocol.scheduler_messages`."""

    def __init__(self, wants: Collection[str]) -> None:
        self.wants = frozenset(wants)
        self._number = 0
        self.reset()

    def reset(self) -> None:
        """The next delta is complete: the reader is new, or the state was replaced."""
        self._is_new = True
        self._nodes = _SentNodes()
        self._pending_queue = _SentQueue()
        self._usage: dict[tuple[str, str], bytes] = {}
        self._queues: Mapping[str, QueueRules] | None = None
        self._licences: Mapping[str, tuple[int, int]] | None = None
        self._quotas: Mapping[str, TenantQuota] = {}
        self._tenants: Mapping[str, str] = {}
        self._testbeds: dict[ObjectName, Testbed] = {}
        self._batch_jobs: dict[ObjectName, BatchJob] = {}
        self._schedulings: dict[ObjectName, Scheduling] = {}

    def write(self, view: ClusterView) -> ViewDelta:
        self._number += 1
        fields: Fields = {"is_whole": self._is_new}
        if TASKS in self.wants:
            self._nodes.write_changes(view.nodes, fields)
            self._pending_queue.write_changes(view.queued, fields)
            self._write_limits(view, fields)
        if OBJECTS in self.wants:
            _write_objects(view.testbeds, self._testbeds, "testbeds", fields)
            _write_objects(view.batch_jobs, self._batch_jobs, "batch_jobs", fields)
            _write_objects(view.schedulings, self._schedulings, "schedulings", fields)
        if self.wants & {RUNNING, RULES}:
            fields["answers"] = full_answers(view, self.wants)
        self._is_new = False
        return ViewDelta(self._number, view.version, **fields)

    def _write_limits(self, view: ClusterView, fields: Fields) -> None:
        fields.update(
            preempt_gap=view.preempt_gap, reserve_after_s=view.reserve_after_s, hold_after_s=view.hold_after_s
        )
        sent = self._usage
        now = {owner: amounts.tobytes() for owner, amounts in view.usage.items()}
        if now != sent:
            changed = [
                (owner, view.usage[owner].tolist()) for owner, amounts in now.items() if sent.get(owner) != amounts
            ]
            gone = [(owner, None) for owner in sent if owner not in now]
            fields["usage"] = [UsageRow(*owner, amounts) for owner, amounts in [*gone, *changed]]
            self._usage = now
        if view.queues != self._queues:
            self._queues = dict(view.queues)
            fields["queues"] = list(view.queues.values())
        if view.licences != self._licences:
            self._licences = dict(view.licences)
            fields["licences"] = [LicenceRow(name, *numbers) for name, numbers in view.licences.items()]
        if view.quotas != self._quotas:
            self._quotas = dict(view.quotas)
            fields["quotas"] = quota_rows(view.quotas)
        if view.tenants != self._tenants:
            self._tenants = dict(view.tenants)
            fields["tenants"] = tenant_rows(view.tenants)


class _SentNodes:
    """The nodes as sent. Not every column is covered by `changed`: one more task in a lane is not."""

    def __init__(self) -> None:
        self._tick = -1
        self._count = 1  # row 0 and kind 0 are unused, and known to every reader
        self._sent = empty_nodes(resources=())
        self._capacity: IntArray = np.zeros((1, 0), np.int64)

    def write_changes(self, nodes: Nodes, fields: Fields) -> None:
        sent, count = self._sent, nodes.count
        fields["count"] = count
        if len(nodes.kinds) > len(sent.kinds):
            fields["kinds"] = nodes.kinds[len(sent.kinds) :]
            sent.kinds.extend(fields["kinds"])
        touched = nodes.changed[:count] >= self._tick
        if count > self._count:
            fields["names"] = {row: nodes.names[row] for row in range(self._count, count)}
            touched[self._count :] = True
        if len(nodes.resources) != len(sent.resources):
            fields["resources"] = list(nodes.resources)
            touched[:] = True
        if self._capacity.shape != (count, len(nodes.resources)):
            self._fit(nodes)
        counted = nodes.tasks[:count] != sent.tasks[:count]
        if touched.any() or counted.any():
            rows, uncounted = np.flatnonzero(touched), np.flatnonzero(counted & ~touched)
            rows = rows[np.argsort(nodes.changed[rows], kind="stable")]
            fields["nodes"] = self._rows(nodes, rows, uncounted)
            self._write_capacity(nodes, rows, fields)
        self._tick, self._count = nodes.tick, count

    def _fit(self, nodes: Nodes) -> None:
        """Make room for more nodes and resources, whose capacity is unknown."""
        known = self._capacity
        self._capacity = np.full((nodes.count, len(nodes.resources)), UNSENT, np.int64)
        self._capacity[: known.shape[0], : known.shape[1]] = known
        add_resource_columns(self._sent, nodes.resources)
        grow_rows(self._sent, nodes.count)

    def _rows(self, nodes: Nodes, rows: IntArray, uncounted: IntArray) -> NodeRows:
        sent = self._sent
        reserved, before = nodes.reserved[rows], sent.reserved[rows]
        columns = np.flatnonzero((reserved != before).any(axis=0)).tolist()
        found = NodeRows(
            rows=rows.tolist(),
            tasks=nodes.tasks[rows].tolist(),
            reserved={nodes.resources[column]: reserved[:, column].tolist() for column in columns},
            uncounted=dict(zip(uncounted.tolist(), nodes.tasks[uncounted].tolist(), strict=True)),
            busy=_differing(nodes.busy, sent.busy, rows),
            eligible=_differing(nodes.eligible, sent.eligible, rows),
            owner=_differing(nodes.owner, sent.owner, rows),
            kind=_differing(nodes.kind, sent.kind, rows),
            because=self._because(nodes),
        )
        sent.reserved[rows] = reserved
        sent.tasks[: nodes.count] = nodes.tasks[: nodes.count]
        return found

    def _write_capacity(self, nodes: Nodes, rows: IntArray, fields: Fields) -> None:
        differing = rows[(nodes.capacity[rows] != self._capacity[rows]).any(axis=1)]
        if len(differing):
            amounts = zip(nodes.resources, nodes.capacity[differing].T.tolist(), strict=True)
            fields["capacity"] = CapacityRows(differing.tolist(), dict(amounts))
            self._capacity[differing] = nodes.capacity[differing]

    def _because(self, nodes: Nodes) -> dict[int, str]:
        now, sent = nodes.ineligible_because, self._sent.ineligible_because
        if now == sent:
            return {}
        gone = {row: "" for row in sent if row not in now}
        changed = gone | {row: text for row, text in now.items() if sent.get(row) != text}
        self._sent.ineligible_because = dict(now)
        return changed


def _differing(now: Any, sent: Any, rows: IntArray) -> dict[int, Any]:
    """Row -> value where a column differs from what was sent; then marks it as sent."""
    found = rows[now[rows] != sent[rows]]
    if not len(found):
        return {}
    sent[found] = now[found]
    return dict(zip(found.tolist(), now[found].tolist(), strict=True))


class _SentQueue:
    """The pending classes as sent: the reader has all of them, in the same order."""

    def __init__(self) -> None:
        self._source: PendingQueue | None = None
        self._tick = -1
        self._sent: dict[int, TaskClass] = {}

    def write_changes(self, queued: Sequence[Queued], fields: Fields) -> None:
        gone, put = self._changes(queued)
        if gone:
            fields["gone"] = gone
        if put:
            classes = [each.task_class for each in put if self._sent.get(each.task_class.id) is not each.task_class]
            fields["classes"] = [class_row(each) for each in classes]
            fields["queued"] = [queued_row(each) for each in put]
        for class_id in gone:
            del self._sent[class_id]
        self._sent.update((each.task_class.id, each.task_class) for each in put)
        if isinstance(queued, PendingQueue):
            self._source, self._tick = queued, queued.tick
        else:
            self._source = None

    def _changes(self, queued: Sequence[Queued]) -> tuple[list[int], list[Queued]]:
        """The removed classes, and the entries to put. Everything, if the changes are unknown."""
        if isinstance(queued, PendingQueue) and queued is self._source:
            changed = queued.changed_since(self._tick)
            if changed is not None:
                return self._changes_among(changed, queued)
        return list(self._sent), list(queued)

    def _changes_among(self, changed: list[int], pending_queue: PendingQueue) -> tuple[list[int], list[Queued]]:
        """First the entries that changed in place, then the new ones at the end. An entry that was removed and added
        again is at the end, so it is both removed and new."""
        gone, updated, new = [], [], []
        for class_id in changed:
            queued, is_sent = pending_queue.get(class_id), class_id in self._sent
            if queued is not None and is_sent and pending_queue.entered(class_id) <= self._tick:
                updated.append(queued)
                continue
            if is_sent:
                gone.append(class_id)
            if queued is not None:
                new.append(queued)
        new.sort(key=lambda queued: pending_queue.entered(queued.task_class.id))
        return gone, [*updated, *new]


def queued_row(queued: Queued) -> QueuedRow:
    return QueuedRow(
        queued.task_class.id,
        queued.count,
        queued.since,
        queued.since_ms,
        queued.estimate_s,
        tuple(sorted(queued.avoid)) if queued.avoid else (),
    )


def _write_objects(
    now: Mapping[ObjectName, ObjectType], sent: dict[ObjectName, ObjectType], kind: str, fields: Fields
) -> None:
    """Objects are values: an identical object has not changed. An object with another uid is a new one with an old
    name."""
    changed = {name: each for name, each in now.items() if sent.get(name) is not each}
    gone = [name for name, each in changed.items() if name in sent and sent[name].meta.uid != each.meta.uid]
    if len(sent) + len(changed) > len(now):
        gone += [name for name in sent if name not in now]
    for name in gone:
        del sent[name]
    sent.update(changed)
    if gone:
        fields[f"{kind}_gone"] = gone
    if changed:
        fields[kind] = list(changed.values())
