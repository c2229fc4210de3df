"""The sets of what changed in a round and must be processed before it ends. `Round.record` marks what a change affects;
other code may mark more. Each set has one consumer."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from shunter.engine import changes as c
from shunter.engine.state.state import State
from shunter.model.job.spec import BATCH, PER_NODE


@dataclass(slots=True)
class DirtySets:
    """Sets in the order of insertion (dicts without values), because rounds are deterministic."""

    # (job id, node or 0): `services.reconcile` looks at the whole long-running job, or at its part on the node
    jobs: dict[tuple[int, int], None] = field(default_factory=dict)
    nodes: dict[int, None] = field(default_factory=dict)  # `services.per_node` checks them for every per-node job
    had_nodes: bool = False  # `objects.controller` reconciles testbeds after `nodes` was taken
    gangs: dict[int, None] = field(default_factory=dict)  # ids of jobs: `placement.gang_restart`
    maybe_finished: dict[int, None] = field(default_factory=dict)  # ids of jobs: `jobs.finish`
    # (class id, node) of lanes that lost work: `placement` refills or releases them
    underfilled: dict[tuple[int, int], None] = field(default_factory=dict)


def _mark_job(dirty: DirtySets, state: State, change: Any) -> None:
    """Mark a job some of whose tasks changed."""
    if state.gang_jobs and change.job in state.gang_jobs:
        dirty.gangs[change.job] = None
    if state.objects.applications:
        state.objects.mark_application_dirty(change.job)
    if not state.services.jobs:
        return
    job = state.jobs[change.job]
    if job.type == BATCH:
        return
    task_set = job.task_set(change.task_set) if job.type in PER_NODE else None
    dirty.jobs[job.id, task_set.node if task_set is not None else 0] = None


def _mark_released_job(dirty: DirtySets, _state: State, change: c.EdgeSettled) -> None:
    dirty.jobs[change.job, 0] = None


def _mark_ended_job(_dirty: DirtySets, state: State, change: c.JobEnded) -> None:
    if state.objects.applications:
        state.objects.mark_application_dirty(change.job)


def _mark_node(dirty: DirtySets, _state: State, change: Any) -> None:
    dirty.nodes[change.node] = None
    dirty.had_nodes = True


MARKERS: dict[type, Callable[[DirtySets, State, Any], None]] = {
    **dict.fromkeys(
        (c.TaskStarted, c.TasksFinished, c.TaskEnded, c.TasksLost, c.TasksTransitioned, c.TaskHealth), _mark_job
    ),
    **dict.fromkeys((c.NodeJoined, c.NodeTransitioned, c.NodeLabelled, c.NodeAttributed, c.NodeCordonSet), _mark_node),
    c.EdgeSettled: _mark_released_job,
    c.JobEnded: _mark_ended_job,
}
