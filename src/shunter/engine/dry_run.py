"""Trying something out on a copy of the cluster: what `plan` answers, and how suggestions of `why` are verified.

`Material` is taken between rounds, on the engine's loop. Every `DryRun` made of it is a cluster of its own that nobody
sees; making one takes time in proportion to the unfinished jobs, so it may be done in another thread.
"""

from __future__ import annotations

from collections import ChainMap, Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from random import Random
from typing import Any

import numpy as np

from shunter.engine import changes as c
from shunter.engine.placing import place
from shunter.engine.records import runs_of
from shunter.engine.recovery import load, make_snapshot
from shunter.engine.round import Round, Timers
from shunter.engine.settings import EngineSettings
from shunter.engine.state import State
from shunter.engine.submits import Submitted, on_submit
from shunter.model.jobs import JobSpec
from shunter.model.lifecycles import TaskEvent, TaskState
from shunter.planning.policies import fork_policy
from shunter.planning.view import ClusterView, Decision, FloatArray, Policy
from shunter.ports.store import Snapshot

ROUNDS_MAX = 1_000  # of placing in one dry run: 20 million tasks, as rounds are limited now


@dataclass(frozen=True, slots=True)
class Material:
    """What copies of the cluster are made of: the committed state, and what of the rest the planner can see."""

    snapshot: Snapshot
    last_runs: Mapping[str, dict[str, tuple[int, int]]]
    synced: tuple[int, ...]
    busy: FloatArray
    policy: Policy
    settings: EngineSettings
    now_ms: int


def take_material(state: State, policy: Policy, settings: EngineSettings, now_ms: int) -> Material:
    """Call it when no commit is in flight."""
    nodes = state.nodes
    synced = tuple(node.id for node in nodes.records.values() if node.is_synced)
    return Material(
        make_snapshot(state), state.last_runs, synced, nodes.view.busy.copy(), fork_policy(policy), settings, now_ms
    )


class DryRun:
    """One copy. `do` what commands do, then `place`; what came of it is read off."""

    def __init__(self, material: Material) -> None:
        self.state = _copy_state(material)
        self._policy = _Heard(fork_policy(material.policy))
        self._round = Round(self.state, 0, material.now_ms, material.settings, Random(material.now_ms), Timers())
        self._read = 0
        self.placed: Counter[tuple[int, int, int]] = Counter()  # (job id, group, node) -> tasks
        self.preempted: Counter[tuple[int, int]] = Counter()  # (job id, node) -> tasks

    def do(self, command: Callable[[Round], Any]) -> Any:
        """Carry out any command of the engine; what it refuses is raised."""
        return command(self._round)

    def submit(self, specs: list[JobSpec], user: str) -> list[Submitted]:
        return on_submit(self._round, specs, user, None)

    def withdraw(self, job_id: int) -> None:
        """Take back what of a job has not started, and free its name: another may be submitted in its place."""
        job = self.state.jobs[job_id]
        for group in job.groups:
            states = self.state.table.state[group.base : group.base + group.count]
            for first, last in runs_of(np.flatnonzero(states <= TaskState.QUEUED)):
                cancelled = c.TasksMoved(
                    job.id, group.number, first, last, TaskEvent.CANCELLED, self._round.now_ms, "", job.ref
                )
                self._round.record(cancelled)
        self.state.names.get(job.namespace, {}).pop(job.name, None)

    def place(self) -> None:
        """Rounds of placing until nothing more happens."""
        for _ in range(ROUNDS_MAX):
            before = len(self._round.changes)
            self._policy.is_partial = False
            place(self._round, self._policy)
            if len(self._round.changes) == before and not self._policy.is_partial:
                break
        self._read_off()

    def started(self, job_id: int) -> int:
        """How many tasks of a job found a node in this dry run."""
        return sum(count for (job, _, _), count in self.placed.items() if job == job_id)

    def _read_off(self) -> None:
        for change in self._round.changes[self._read :]:
            if isinstance(change, c.TasksPlaced):
                self.placed[change.job, change.group, change.node] += change.last - change.first + 1
            elif isinstance(change, c.TasksMoved) and change.event == TaskEvent.PREEMPTED:
                group = self.state.jobs[change.job].groups[change.group]
                nodes = self.state.table.node[group.base + change.first : group.base + change.last + 1]
                self.preempted.update((change.job, node) for node in nodes.tolist())
        self._read = len(self._round.changes)


class _Heard:
    """A policy, and whether its last answer was only a part."""

    fast = True

    def __init__(self, policy: Policy) -> None:
        self.name = policy.name
        self.is_partial = False
        self._policy = policy

    def decide(self, view: ClusterView, now: float, budget: int) -> Decision:
        decision = self._policy.decide(view, now, budget)
        self.is_partial = decision.is_partial
        return decision


def _copy_state(material: Material) -> State:
    state = load(material.snapshot)
    for space, names in material.last_runs.items():
        state.last_runs[space] = ChainMap({}, names)  # type: ignore[assignment]  # a view: there may be a million names
    for node_id in material.synced:
        node = state.nodes.records[node_id]
        node.is_synced = True
        state.nodes.refresh_eligible(node)
    state.nodes.view.busy[: material.busy.size] = material.busy[: state.nodes.view.busy.size]
    return state
