"""A cluster view as deltas: what changed since the last one. Made by whoever shows views to others (schedulers, the
flight recorder); `planning.remote.delta_reader` puts them together again.

A writer keeps a copy of what it has told, so that the cost of a delta grows with what changed, apart from a few
comparisons of whole columns.
"""

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
    KindRow,
    LicenceRow,
    NodeRows,
    QueuedRow,
    QueueRow,
    UsageRow,
    ViewDelta,
)
from shunter.planning.order.pending_queue import Waiting
from shunter.planning.remote.view_queries import class_row, full_answers
from shunter.planning.remote.view_scope import empty_nodes, grow, widen
from shunter.planning.view import ClusterView, IntArray, Nodes, Queued, QueueRules, TaskClass

Kept = TypeVar("Kept", Testbed, BatchJob, Scheduling)
Fields = dict[str, Any]
UNTOLD = -1  # no amount


class ViewWriter:
    """Tells one reader about the views of one engine. `wants` are those of `model.protocol.scheduler_messages`."""

    def __init__(self, wants: Collection[str]) -> None:
        self.wants = frozenset(wants)
        self._number = 0
        self.forget()

    def forget(self) -> None:
        """The next delta is whole: the reader is a new one, or the state is another."""
        self._is_new = True
        self._nodes = _NodesTold()
        self._waiting = _WaitingTold()
        self._usage: dict[tuple[str, str], bytes] = {}
        self._queues: Mapping[str, QueueRules] | None = None
        self._licences: Mapping[str, tuple[int, int]] | None = None
        self._testbeds: dict[ObjectName, Testbed] = {}
        self._batch_jobs: dict[ObjectName, BatchJob] = {}
        self._schedulings: dict[ObjectName, Scheduling] = {}

    def write(self, view: ClusterView) -> ViewDelta:
        self._number += 1
        fields: Fields = {"is_whole": self._is_new}
        if TASKS in self.wants:
            self._nodes.tell(view.nodes, fields)
            self._waiting.tell(view.queued, fields)
            self._tell_limits(view, fields)
        if OBJECTS in self.wants:
            _tell_objects(view.testbeds, self._testbeds, "testbeds", fields)
            _tell_objects(view.batch_jobs, self._batch_jobs, "batch_jobs", fields)
            _tell_objects(view.schedulings, self._schedulings, "schedulings", fields)
        if self.wants & {RUNNING, RULES}:
            fields["answers"] = full_answers(view, self.wants)
        self._is_new = False
        return ViewDelta(self._number, view.version, **fields)

    def _tell_limits(self, view: ClusterView, fields: Fields) -> None:
        fields.update(
            preempt_gap=view.preempt_gap, reserve_after_s=view.reserve_after_s, hold_after_s=view.hold_after_s
        )
        told = self._usage
        now = {who: amounts.tobytes() for who, amounts in view.usage.items()}
        if now != told:
            changed = [(who, view.usage[who].tolist()) for who, amounts in now.items() if told.get(who) != amounts]
            gone = [(who, None) for who in told if who not in now]
            fields["usage"] = [UsageRow(*who, amounts) for who, amounts in [*gone, *changed]]
            self._usage = now
        if view.queues != self._queues:
            self._queues = dict(view.queues)
            fields["queues"] = [
                QueueRow(name, rules.is_paused, rules.is_strict, rules.running_max, rules.running)
                for name, rules in view.queues.items()
            ]
        if view.licences != self._licences:
            self._licences = dict(view.licences)
            fields["licences"] = [LicenceRow(name, *numbers) for name, numbers in view.licences.items()]


class _NodesTold:
    """The nodes as they were told. Not every column is covered by `changed`: a task more in a lane is not."""

    def __init__(self) -> None:
        self._tick = -1
        self._count = 1  # row 0 and kind 0 are none at all, and known to every reader
        self._told = empty_nodes(resources=())
        self._capacity: IntArray = np.zeros((1, 0), np.int64)

    def tell(self, nodes: Nodes, fields: Fields) -> None:
        told, count = self._told, nodes.count
        fields["count"] = count
        if len(nodes.kinds) > len(told.kinds):
            kinds = nodes.kinds[len(told.kinds) :]
            fields["kinds"] = [KindRow(each.datacenter, dict(each.labels), dict(each.attributes)) for each in kinds]
            told.kinds.extend(kinds)
        touched = nodes.changed[:count] >= self._tick
        if count > self._count:
            fields["names"] = {row: nodes.names[row] for row in range(self._count, count)}
            touched[self._count :] = True
        if len(nodes.resources) != len(told.resources):
            fields["resources"] = list(nodes.resources)
            touched[:] = True
        if self._capacity.shape != (count, len(nodes.resources)):
            self._fit(nodes)
        counted = nodes.tasks[:count] != told.tasks[:count]
        if touched.any() or counted.any():
            rows, uncounted = np.flatnonzero(touched), np.flatnonzero(counted & ~touched)
            rows = rows[np.argsort(nodes.changed[rows], kind="stable")]
            fields["nodes"] = self._rows(nodes, rows, uncounted)
            self._tell_capacity(nodes, rows, fields)
        self._tick, self._count = nodes.tick, count

    def _fit(self, nodes: Nodes) -> None:
        """Make room for more nodes and resources; nothing is known of their capacity."""
        known = self._capacity
        self._capacity = np.full((nodes.count, len(nodes.resources)), UNTOLD, np.int64)
        self._capacity[: known.shape[0], : known.shape[1]] = known
        widen(self._told, nodes.resources)
        grow(self._told, nodes.count)

    def _rows(self, nodes: Nodes, rows: IntArray, uncounted: IntArray) -> NodeRows:
        told = self._told
        reserved, before = nodes.reserved[rows], told.reserved[rows]
        columns = np.flatnonzero((reserved != before).any(axis=0)).tolist()
        found = NodeRows(
            rows=rows.tolist(),
            tasks=nodes.tasks[rows].tolist(),
            reserved={nodes.resources[column]: reserved[:, column].tolist() for column in columns},
            uncounted=dict(zip(uncounted.tolist(), nodes.tasks[uncounted].tolist(), strict=True)),
            busy=_differing(nodes.busy, told.busy, rows),
            eligible=_differing(nodes.eligible, told.eligible, rows),
            owner=_differing(nodes.owner, told.owner, rows),
            kind=_differing(nodes.kind, told.kind, rows),
            because=self._because(nodes),
        )
        told.reserved[rows] = reserved
        told.tasks[: nodes.count] = nodes.tasks[: nodes.count]
        return found

    def _tell_capacity(self, nodes: Nodes, rows: IntArray, fields: Fields) -> None:
        differing = rows[(nodes.capacity[rows] != self._capacity[rows]).any(axis=1)]
        if len(differing):
            amounts = zip(nodes.resources, nodes.capacity[differing].T.tolist(), strict=True)
            fields["capacity"] = CapacityRows(differing.tolist(), dict(amounts))
            self._capacity[differing] = nodes.capacity[differing]

    def _because(self, nodes: Nodes) -> dict[int, str]:
        now, told = nodes.ineligible_because, self._told.ineligible_because
        if now == told:
            return {}
        gone = {row: "" for row in told if row not in now}
        changed = gone | {row: text for row, text in now.items() if told.get(row) != text}
        self._told.ineligible_because = dict(now)
        return changed


def _differing(now: Any, told: Any, rows: IntArray) -> dict[int, Any]:
    """Row -> value where a column is not what was told, which it is from then on."""
    found = rows[now[rows] != told[rows]]
    if not len(found):
        return {}
    told[found] = now[found]
    return dict(zip(found.tolist(), now[found].tolist(), strict=True))


class _WaitingTold:
    """The classes that wait as they were told: the reader has all of them, in the same order."""

    def __init__(self) -> None:
        self._source: Waiting | None = None
        self._tick = -1
        self._told: dict[int, TaskClass] = {}

    def tell(self, queued: Sequence[Queued], fields: Fields) -> None:
        waiting = queued if isinstance(queued, Waiting) else None
        changed = waiting.changed_since(self._tick) if waiting is not None and waiting is self._source else None
        if waiting is None or changed is None:
            gone, put = list(self._told), list(queued)
        else:
            gone, put = self._changed(waiting, changed)
        if gone:
            fields["gone"] = gone
        if put:
            classes = [each.task_class for each in put if self._told.get(each.task_class.id) is not each.task_class]
            fields["classes"] = [class_row(each) for each in classes]
            fields["queued"] = [queued_row(each) for each in put]
        for class_id in gone:
            del self._told[class_id]
        self._told.update((each.task_class.id, each.task_class) for each in put)
        self._source, self._tick = waiting, waiting.tick if waiting is not None else -1

    def _changed(self, waiting: Waiting, changed: list[int]) -> tuple[list[int], list[Queued]]:
        """What is gone, and what to put: first what changed in its place, then what is new at the end. What left and
        came again since stands at the end, too, so it is both."""
        gone, kept, new = [], [], []
        for class_id in changed:
            queued, is_told = waiting.get(class_id), class_id in self._told
            if queued is not None and is_told and waiting.entered(class_id) <= self._tick:
                kept.append(queued)
                continue
            if is_told:
                gone.append(class_id)
            if queued is not None:
                new.append(queued)
        new.sort(key=lambda queued: waiting.entered(queued.task_class.id))
        return gone, [*kept, *new]


def queued_row(queued: Queued) -> QueuedRow:
    return QueuedRow(
        queued.task_class.id,
        queued.count,
        queued.since,
        queued.since_ms,
        queued.estimate_s,
        tuple(sorted(queued.avoid)) if queued.avoid else (),
    )


def _tell_objects(now: Mapping[ObjectName, Kept], told: dict[ObjectName, Kept], kind: str, fields: Fields) -> None:
    """Objects are values: whoever is the same one has not changed. One of another uid is a new one of an old name."""
    changed = {name: each for name, each in now.items() if told.get(name) is not each}
    gone = [name for name, each in changed.items() if name in told and told[name].meta.uid != each.meta.uid]
    if len(told) + len(changed) > len(now):
        gone += [name for name in told if name not in now]
    for name in gone:
        del told[name]
    told.update(changed)
    if gone:
        fields[f"{kind}_gone"] = gone
    if changed:
        fields[kind] = list(changed.values())
