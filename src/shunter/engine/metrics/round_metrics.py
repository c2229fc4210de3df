"""Counts what the engine does: rounds, commits, submits, jobs and tasks. Owned by `engine.engine`, which calls it after
each commit; the gateway reads it for /metrics.

Counters begin at 0 with the process. A range of tasks costs as much as one task."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from shunter.engine import changes as c
from shunter.engine.round import Round
from shunter.engine.state.state import State
from shunter.model.lifecycles import JobEvent, JobState, TaskEvent
from shunter.model.metrics import catalogue
from shunter.model.metrics.metric import Histogram, LabelledCounter

RECENT_ROUNDS_MAX = 500  # that are remembered for `shunter debug bundle`
SUCCEEDED, FAILED, STOPPED, LOST = "succeeded", "failed", "stopped", "lost"
_ENDED_STATES = {
    JobEvent.SUCCEEDED: JobState.SUCCEEDED.wire_name,
    JobEvent.FAILED: JobState.FAILED.wire_name,
    JobEvent.CANCELLED: JobState.CANCELLED.wire_name,
}
_FAILURES = (TaskEvent.RETRIED, TaskEvent.GAVE_UP)


@dataclass(frozen=True, slots=True)
class RoundRecord:
    """One round that is over."""

    at_ms: int
    version: int
    commands: int
    changes: int
    size_bytes: int
    duration_s: float
    commit_s: float


class RoundMetrics:
    """`stopwatch` gives seconds since an arbitrary moment."""

    def __init__(self, stopwatch: Callable[[], float]) -> None:
        self.stopwatch = stopwatch
        self.rounds = Histogram(catalogue.ROUNDS.buckets)
        self.commits = Histogram(catalogue.COMMITS.buckets)
        self.submits = Histogram(catalogue.SUBMITS.buckets)
        self.queue_wait = Histogram(catalogue.QUEUE_WAIT.buckets)
        self.start_latency = Histogram(catalogue.START_LATENCY.buckets)
        self.run_time = Histogram(catalogue.RUN_TIME.buckets)
        self.commit_failures = self.jobs_submitted = self.preemptions = 0
        self.jobs_ended = LabelledCounter(_ENDED_STATES.values())
        self.attempts = LabelledCounter((SUCCEEDED, FAILED, STOPPED, LOST))
        self.placed_by_queue = LabelledCounter()
        self.changes_by_node = LabelledCounter()
        self.recent: deque[RoundRecord] = deque(maxlen=RECENT_ROUNDS_MAX)
        self._commit_s = 0.0
        self._counters: dict[type, Callable[[Round, State, Any], None]] = {
            c.TasksPlaced: self._on_placed,
            c.TasksFinished: self._on_finished,
            c.TaskEnded: self._on_ended,
            c.TasksLost: self._on_lost,
            c.TasksTransitioned: self._on_transitioned,
            c.JobSubmitted: self._on_job_submitted,
            c.JobEnded: self._on_job_ended,
            c.NodeTransitioned: self._on_node_transitioned,
        }

    @contextmanager
    def time_submit(self) -> Iterator[None]:
        """Only submits that were accepted count."""
        began_s = self.stopwatch()
        yield
        self.submits.observe(self.stopwatch() - began_s)

    def on_commit(self, began_s: float) -> None:
        self._commit_s = self.stopwatch() - began_s
        self.commits.observe(self._commit_s)

    def on_round(self, round: Round, began_s: float, commands: int) -> None:
        """A round is over, its commit included."""
        duration_s = self.stopwatch() - began_s
        self.rounds.observe(duration_s)
        if not round.changes:
            return
        state = round.state
        for change in round.changes:
            count = self._counters.get(type(change))
            if count is not None:
                count(round, state, change)
        round.measures.sort_into(self.queue_wait, self.start_latency, self.run_time)
        record = RoundRecord(
            round.now_ms, state.version, commands, len(round.changes), round.size_bytes, duration_s, self._commit_s
        )
        self.recent.append(record)

    def _on_placed(self, round: Round, state: State, change: c.TasksPlaced) -> None:
        job, count = state.jobs.get(change.job), change.last - change.first + 1
        task_set = None if job is None else job.task_set(change.task_set)
        if job is None or task_set is None:  # it was stopped in the same round
            return
        self.placed_by_queue.add(task_set.task_class.key.queue, count)
        if change.attempt == 1:
            round.measures.placed.append((round.now_ms - job.submitted_ms, count))

    def _on_finished(self, _round: Round, _state: State, change: c.TasksFinished) -> None:
        self.attempts.values[SUCCEEDED] += change.last - change.first + 1

    def _on_ended(self, _round: Round, _state: State, change: c.TaskEnded) -> None:
        self.attempts.values[FAILED if change.event in _FAILURES else STOPPED] += 1

    def _on_lost(self, _round: Round, _state: State, change: c.TasksLost) -> None:
        self.attempts.values[LOST] += change.last - change.first + 1

    def _on_transitioned(self, _round: Round, _state: State, change: c.TasksTransitioned) -> None:
        if change.event == TaskEvent.PREEMPTED:
            self.preemptions += change.last - change.first + 1

    def _on_job_submitted(self, _round: Round, _state: State, _change: c.JobSubmitted) -> None:
        self.jobs_submitted += 1

    def _on_job_ended(self, _round: Round, _state: State, change: c.JobEnded) -> None:
        self.jobs_ended.add(_ENDED_STATES[JobEvent(change.event)])

    def _on_node_transitioned(self, _round: Round, _state: State, change: c.NodeTransitioned) -> None:
        self.changes_by_node.add(change.ref)
