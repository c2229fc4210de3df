"""A hash by which tests compare views."""

from __future__ import annotations

from hashlib import blake2b
from typing import Any

import numpy as np

from shunter.planning.remote.view_scope import COLUMNS
from shunter.planning.view import ClusterView, NodeKind


def view_hash(view: ClusterView) -> str:
    """Equal for views that show the same, however they were built."""
    nodes, count = view.nodes, view.nodes.count
    digest = blake2b(digest_size=16)
    for name in COLUMNS[:-1]:  # each view counts for itself when rows changed
        digest.update(np.ascontiguousarray(getattr(nodes, name)[:count]).tobytes())
    contents = (
        nodes.resources, nodes.names[:count], [_kind_key(kind) for kind in nodes.kinds],
        sorted(nodes.ineligible_because.items()),
        [_queued_key(queued) for queued in view.queued],
        sorted((owner, amounts.tolist()) for owner, amounts in view.usage.items()),
        sorted(view.queues.items(), key=lambda item: item[0]), sorted(view.licences.items()),
        sorted(view.quotas.items(), key=lambda item: item[0]), sorted(view.tenants.items()),
        view.preempt_gap, view.reserve_after_s, view.hold_after_s,
        list(view.testbeds.items()), list(view.batch_jobs.items()), list(view.schedulings.items()),
    )  # fmt: skip
    digest.update(repr(contents).encode())
    return digest.hexdigest()


def _kind_key(kind: NodeKind) -> tuple[Any, ...]:
    return kind.datacenter, sorted(kind.labels.items()), sorted(kind.attributes.items())


def _queued_key(queued: Any) -> tuple[Any, ...]:
    each = queued.task_class
    return (
        each.id, sorted(each.needs.items()), each.namespace, each.user, each.priority, each.datacenters,
        each.constraints, each.queue, each.runtime, each.deadline_ms, each.rules,
        queued.count, queued.since, queued.since_ms, queued.estimate_s, sorted(queued.avoid),
    )  # fmt: skip
