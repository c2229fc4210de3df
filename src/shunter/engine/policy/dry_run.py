"""Tries changes on a copy of the cluster: for `plan`, and to verify the suggestions of `why`.

A `DryRunSource` is taken between rounds, on the engine's loop. Each `DryRun` made from it is a separate cluster. Making
one takes time in proportion to the unfinished jobs, so another thread may do it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from random import Random
from typing import TypeVar

import numpy as np

from shunter.engine import changes as c
from shunter.engine.changes.formats import FORMATS, Formats
from shunter.engine.jobs.submit import SubmitResult, on_submit
from shunter.engine.nodes.reports import mark_lost
from shunter.engine.placement.cluster_view import called
from shunter.engine.placement.place import place, release_idle_lanes
from shunter.engine.round import Round
from shunter.engine.services.reconcile import reconcile_services
from shunter.engine.settings import EngineSettings
from shunter.engine.state.ended_runs import EndedRuns
from shunter.engine.state.records import Job, ranges_where
from shunter.engine.state.snapshots import load, make_partial_snapshot
from shunter.engine.state.state import State
from shunter.engine.timers import Timers
from shunter.model.job.spec import JobSpec
from shunter.model.lifecycles import TaskEvent, TaskState
from shunter.planning.policies import fork_policy
from shunter.planning.view import ClusterView, Decision, FloatArray, IntArray, Policy
from shunter.ports.store import Snapshot

T = TypeVar("T")
ALL_JOBS_MAX = 2_000  # a cluster with fewer unfinished jobs is copied completely
LIVE_TASK_SETS_MAX = 5_000  # jobs with tasks on nodes, of a larger cluster
WAITING_TASK_SETS_MAX = 2_000  # pending jobs
ROUNDS_MAX = 1_000  # of placement in one dry run: 20 million tasks with the present limits of rounds


@dataclass(frozen=True, slots=True)
class DryRunSource:
    """The source of copies of the cluster: the committed state, and what else the planner can see."""

    snapshot: Snapshot
    ended_runs: EndedRuns
    synced: tuple[int, ...]
    busy: FloatArray
    tasks: IntArray
    outstanding: Mapping[tuple[int, int], int]  # (class id, node) -> tasks, including those of omitted jobs
    policy: Policy
    settings: EngineSettings
    now_ms: int
    formats: Formats = FORMATS
    called: Callable[[State, int], str] = called  # names the jobs of a class in the reasons of planners


def take_dry_run_source(
    state: State, policy: Policy, settings: EngineSettings, now_ms: int, subject_jobs: Iterable[Job] = ()
) -> DryRunSource:
    """Call it when no commit is in flight. `subject_jobs` are the jobs that the dry runs are about: of very many jobs,
    only those that matter are copied."""
    nodes = state.nodes
    return DryRunSource(
        snapshot=make_partial_snapshot(state, relevant_jobs(state, subject_jobs)),
        ended_runs=state.ended_runs.copy({}),
        synced=tuple(node.id for node in nodes.records.values() if node.is_synced),
        busy=nodes.view.busy.copy(),
        tasks=nodes.view.tasks.copy(),
        outstanding={
            (record.id, lanes.node): lanes.outstanding
            for record in state.classes.values()
            for lanes in record.lanes.values()
        },
        policy=fork_policy(policy),
        settings=settings,
        now_ms=now_ms,
        formats=state.format.program,
    )


def relevant_jobs(state: State, subject_jobs: Iterable[Job]) -> list[Job]:
    """All jobs of a cluster with few jobs. Of many: the named ones, those on nodes, and the next ones of every class.
    The others wait behind them, and what does not fit once does not fit twice."""
    if len(state.jobs) <= ALL_JOBS_MAX:
        return list(state.jobs.values())
    chosen = {job.id: job for job in subject_jobs}
    states = state.table.state[: state.table.used]
    live = np.flatnonzero((states >= TaskState.ASSIGNED) & (states <= TaskState.STOPPING))
    for slot in np.unique(state.table.group[live])[:LIVE_TASK_SETS_MAX].tolist():
        task_set = state.task_sets[slot]
        assert task_set is not None
        chosen[task_set.job.id] = task_set.job
    waiting = [record for record in state.classes.values() if record.queued]
    for record in waiting:
        for task_set in islice(record.task_sets, max(1, WAITING_TASK_SETS_MAX // len(waiting))):
            chosen[task_set.job.id] = task_set.job
    return [chosen[job_id] for job_id in sorted(chosen)]


class DryRun:
    """One copy of the cluster. `do` commands, then `place`, then read the result."""

    def __init__(self, dry_run_source: DryRunSource) -> None:
        self._dry_run_source = dry_run_source
        self.state = _copy_state(dry_run_source)
        policy = fork_policy(dry_run_source.policy)
        self._policy = _RecordingPolicy(policy, partial(dry_run_source.called, self.state))
        self.placed: Counter[tuple[int, int, int]] = Counter()  # (job id, group, node) -> tasks
        self.preempted: Counter[tuple[int, int]] = Counter()  # (job id, node) -> tasks

    def do(self, command: Callable[[Round], T]) -> T:
        """Execute a command of the engine; a refusal is raised."""
        round = self._new_round()
        answer = command(round)
        reconcile_services(round)
        self._collect_changes(round)
        return answer

    def submit(self, specs: list[JobSpec], user: str) -> list[SubmitResult]:
        return self.do(lambda round: on_submit(round, specs, user, None))

    def cancel_pending(self, job_id: int) -> None:
        """Cancel the pending tasks of a job and free its name, so that another can be submitted in its place."""
        job, round = self.state.jobs[job_id], self._new_round()
        for task_set in job.task_sets:
            states = self.state.table.state[task_set.base : task_set.base + task_set.count]
            for first, last in ranges_where(states <= TaskState.QUEUED):
                round.transition(task_set, first, last, TaskEvent.CANCELLED)
        self.state.jobs_by_name.get(job.namespace, {}).pop(job.name, None)

    def finish_stopping(self, job_id: int) -> None:
        """Let the stopping tasks of a job end, and process the consequences."""
        round = self._new_round()
        for task_set in list(self.state.jobs[job_id].task_sets):
            states = self.state.table.state[task_set.base : task_set.base + task_set.count]
            for index in np.flatnonzero(states == TaskState.STOPPING).tolist():
                mark_lost(round, task_set, index, index, "")
        release_idle_lanes(round)
        round.dirty.jobs[job_id, 0] = None
        reconcile_services(round)
        self._collect_changes(round)

    def place(self, stop_if_preempted: int = 0) -> None:
        """Run the placement rounds that a change would cause; preempted tasks end at once, all together. Stops if a
        task of the job `stop_if_preempted` would be preempted, because the caller does not want that."""
        for _ in range(ROUNDS_MAX):
            round = self._new_round()
            place(round, self._policy)
            self._collect_changes(round)
            if any(job_id == stop_if_preempted for job_id, _ in self.preempted):
                break
            if not round.is_partial and not self._end_preempted():
                break

    def pending_reasons(self, job_id: int) -> list[str]:
        """The policy's reasons for the pending tasks of a job: whose room they wait for."""
        classes = {task_set.task_class.id for task_set in self.state.jobs[job_id].task_sets}
        return [text for class_id, text in self._policy.reasons.items() if class_id in classes]

    def started(self, job_id: int) -> int:
        """How many tasks of a job were placed in this dry run."""
        return sum(count for (job, _, _), count in self.placed.items() if job == job_id)

    def _end_preempted(self) -> bool:
        """Let preempted tasks end; return whether there were any."""
        round, found = self._new_round(), False
        for job_id in {job for job, _ in self.preempted}:
            for task_set in self.state.jobs[job_id].task_sets:
                for index in sorted(task_set.requeue_when_stopped or ()):
                    mark_lost(round, task_set, index, index, "")
                    found = True
        release_idle_lanes(round)
        return found

    def _new_round(self) -> Round:
        dry_run_source = self._dry_run_source
        return Round(
            self.state, 0, dry_run_source.now_ms, dry_run_source.settings, Random(dry_run_source.now_ms), Timers()
        )

    def _collect_changes(self, round: Round) -> None:
        for change in round.changes:
            if isinstance(change, c.TasksPlaced):
                self.placed[change.job, change.task_set, change.node] += change.last - change.first + 1
            elif isinstance(change, c.TasksTransitioned) and change.event == TaskEvent.PREEMPTED:
                task_set = self.state.require_task_set(change.job, change.task_set)
                nodes = self.state.table.node[task_set.base + change.first : task_set.base + change.last + 1]
                self.preempted.update((change.job, node) for node in nodes.tolist())


class _RecordingPolicy:
    """A policy, and the reasons that its last decision gave."""

    fast = True

    def __init__(self, policy: Policy, called: Callable[[int], str]) -> None:
        self.name, self._called = policy.name, called
        self.reasons: dict[int, str] = {}
        self._policy = policy

    def decide(self, view: ClusterView, now: float, budget: int) -> Decision:
        decision = self._policy.decide(replace(view, called=self._called), now, budget)
        self.reasons = decision.reasons
        return decision


def _copy_state(dry_run_source: DryRunSource) -> State:
    state = load(dry_run_source.snapshot, dry_run_source.formats)
    state.format.active = dry_run_source.formats.complete  # nothing is written, so nobody else has to read it
    state.ended_runs = dry_run_source.ended_runs.copy({})
    for node_id in dry_run_source.synced:
        node = state.nodes.records[node_id]
        node.is_synced = True
        state.nodes.refresh_eligible(node)
    view = state.nodes.view
    rows = min(view.busy.size, dry_run_source.busy.size)
    view.busy[:rows], view.tasks[:rows] = dry_run_source.busy[:rows], dry_run_source.tasks[:rows]
    for (class_id, node_id), outstanding in dry_run_source.outstanding.items():
        state.classes[class_id].lanes[node_id].outstanding = outstanding
    return state
