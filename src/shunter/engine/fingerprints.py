"""All of the committed state in a form that can be compared, whatever way it came about: live, replayed or loaded.
Used by the simulator's checkers and by tests.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np

from shunter.engine.records import Group, Job
from shunter.engine.state import State
from shunter.model.jobs import PORT_PREFIX


def fingerprint(state: State) -> dict[str, Any]:
    table, delayed = state.table, _delayed(state)
    return {
        "version": state.version,
        "next_job": state.next_job,
        "counts": (list(state.task_counts), list(state.job_counts)),
        "jobs": {job.id: _describe_job(state, job) for job in state.jobs.values()},
        "lanes": sorted(
            (record.id, repr(record.key), lanes.node, lanes.width, lanes.outstanding)
            for record in state.classes.values()
            for lanes in record.lanes.values()
        ),
        "classes": sorted(
            (record.id, record.queued + delayed[record.id], record.members) for record in state.classes.values()
        ),
        "nodes": {
            node.name: (
                node.id, node.boot, node.datacenter, node.labels, node.attributes, node.state.word, node.reason,
                _capacity(state, node.id), _amounts(state, state.nodes.view.reserved[node.id].tolist()),
                int(state.nodes.tasks[node.id]), node.switched_by, node.switched_because, node.is_drain_asked,
                node.drain_deadline_ms,
            )
            for node in state.nodes.records.values()
        },
        "keys": dict(state.keys),
        "books": {name: book.dump() for name, book in state.books.items()},
        "usage": {who: _amounts(state, used.tolist()) for who, used in state.usage.items() if used.any()},
        "owners": state.nodes.view.owner[: state.nodes.view.count].tolist(),
        "live": int(np.isin(table.state[: table.used], (2, 3, 4)).sum()),
    }  # fmt: skip


def _delayed(state: State) -> Counter[int]:
    """Queued tasks by class that wait out their back-off: whether one is due is a matter of time, not of state."""
    delayed: Counter[int] = Counter()
    for group in state.groups:
        if group is not None and group.delayed:
            delayed[group.task_class.id] += len(group.delayed)
    return delayed


def _describe_job(state: State, job: Job) -> tuple[object, ...]:
    columns = [
        tuple(getattr(state.table, name)[group.base : group.base + group.count].tobytes() for name in
              ("state", "attempt", "restarts", "lost", "node", "exit_code", "started_ms", "ended_ms", "log"))
        for group in job.groups
    ]  # fmt: skip
    return (
        job.ref, job.type, job.priority, job.labels, job.user, job.submitted_ms, job.state, job.started_ms, job.reason,
        job.blueprint.body, job.options, job.version, job.next_group, job.is_held, columns,
        [_describe_group(group) for group in job.groups],
    )  # fmt: skip


def _describe_group(group: Group) -> tuple[object, ...]:
    return (
        group.number, group.part, group.blueprint.body, group.node, group.shown, group.counts, group.history or [],
        group.reasons or {}, group.coming_back or set(), group.avoiding or {}, group.ports or {}, group.health or {},
    )  # fmt: skip


def _capacity(state: State, node: int) -> dict[str, int]:
    """Without ports, of which every node has one each as soon as somebody asks."""
    amounts = _amounts(state, state.nodes.view.capacity[node].tolist())
    return {resource: amount for resource, amount in amounts.items() if not resource.startswith(PORT_PREFIX)}


def _amounts(state: State, used: list[int]) -> dict[str, int]:
    """By name and without zeroes, because a column may come later in one life than in another."""
    return {resource: amount for resource, amount in zip(state.nodes.view.resources, used, strict=False) if amount}
