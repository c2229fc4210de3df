"""Limits a view to what the policy wants to see, in the same way in every mode.

A policy declares it in its attribute `wants`. Called by the engine for policies in rounds and by readers of deltas."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np

from shunter.model.protocol.scheduler_messages import NAMES, OBJECTS, RULES, RUNNING, TASKS, WANTS_DEFAULT
from shunter.model.resources import STANDARD
from shunter.planning.order.pending_queue import PendingQueue
from shunter.planning.view import ClusterView, Decides, NodeKind, Nodes

ROWS_MIN = 64
COLUMNS = ("capacity", "reserved", "busy", "tasks", "eligible", "owner", "kind", "changed")


def wants_of(policy: Decides) -> tuple[str, ...]:
    return tuple(getattr(policy, "wants", WANTS_DEFAULT))


def limit_view(view: ClusterView, wants: Collection[str]) -> ClusterView:
    hidden: dict[str, Any] = {}
    if TASKS not in wants:
        hidden |= {"nodes": empty_nodes(), "queued": PendingQueue(), "usage": {}, "queues": {}, "licences": {}}
        hidden |= {"quotas": {}, "tenants": {}, "preempt_gap": None, "reserve_after_s": None, "hold_after_s": None}
    if OBJECTS not in wants:
        hidden |= {"testbeds": {}, "batch_jobs": {}, "schedulings": {}}
    if RUNNING not in wants:
        hidden |= {"running": None, "classes": None, "lowest_priority": None, "longest_s": None}
    if RULES not in wants:
        hidden |= {"tally": None, "leaving": None, "presence": None, "matches": None, "repels": None}
    if NAMES not in wants:
        hidden["called"] = None
    return replace(view, accepts=None, **hidden) if hidden else view


def empty_nodes(resources: Sequence[str] = STANDARD) -> Nodes:
    """Empty columns for some nodes, with only the unused row 0."""
    rows, width = ROWS_MIN, len(resources)
    return Nodes(
        resources=list(resources),
        capacity=np.zeros((rows, width), np.int64),
        reserved=np.zeros((rows, width), np.int64),
        busy=np.zeros(rows),
        tasks=np.zeros(rows, np.int64),
        eligible=np.zeros(rows, np.bool_),
        owner=np.zeros(rows, np.int64),
        kind=np.zeros(rows, np.int32),
        changed=np.zeros(rows, np.int64),
        kinds=[NodeKind("", {}, {})],
        names=[""],
    )


@contextmanager
def read_only(nodes: Nodes) -> Iterator[None]:
    """Make the engine's columns read-only meanwhile: a write raises an error."""
    columns = [getattr(nodes, name) for name in COLUMNS]
    try:
        for column in columns:
            column.flags.writeable = False
        yield
    finally:
        for column in columns:
            column.flags.writeable = True


def add_resource_columns(nodes: Nodes, resources: Sequence[str]) -> None:
    """Add columns for further resources; existing ones stay where they are."""
    more = np.zeros((len(nodes.changed), len(resources) - len(nodes.resources)), np.int64)
    nodes.resources.extend(resources[len(nodes.resources) :])
    nodes.capacity, nodes.reserved = np.hstack([nodes.capacity, more]), np.hstack([nodes.reserved, more])


def grow_rows(nodes: Nodes, count: int) -> None:
    """Make room for this many rows."""
    size = len(nodes.changed)
    if count <= size:
        return
    more = max(count, size * 2) - size
    for name in COLUMNS:
        old = getattr(nodes, name)
        setattr(nodes, name, np.concatenate([old, np.zeros((more, *old.shape[1:]), old.dtype)]))
