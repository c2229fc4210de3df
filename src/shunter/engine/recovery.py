"""Loads the state from the store: a snapshot, then the rounds after it. Called by `engine.replica`. Also creates the
timers that the state implies, when an engine takes the lead."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from shunter.engine import changes as c
from shunter.engine.jobs.job_timers import set_job_timers
from shunter.engine.jobs.submit import arm_timer
from shunter.engine.state.snapshots import load
from shunter.engine.state.state import State
from shunter.engine.timers import TimerKind, Timers
from shunter.model.errors import StoreFailed
from shunter.model.lifecycles import JobState, NodeState
from shunter.ports.store import Store

ROUNDS_PER_READ = 1_000


async def load_state(store: Store) -> State:
    """Load the last committed state. Raises StoreFailed if what was committed cannot be decoded."""
    snapshot = await store.snapshot()
    state = State()
    if snapshot is not None:
        with _naming_damage(snapshot.version):
            state = load(snapshot)
    for finished in await store.finished_names():
        ended = (finished.run, finished.id, int(JobState[finished.state.upper()]))
        state.last_runs.setdefault(finished.namespace, {})[finished.name] = ended
    while rounds := await store.rounds_after(state.version, ROUNDS_PER_READ):
        for logged in rounds:
            with _naming_damage(logged.version):
                changes = c.decode_round(logged.body)
            for change in changes:
                state.apply(change)
            state.version = logged.version
    return state


@contextmanager
def _naming_damage(version: int) -> Iterator[None]:
    try:
        yield
    except c.DECODE_ERRORS as error:
        fix = "restore a backup into an empty home (`shunter restore FILE`)"
        raise StoreFailed(f"the store is damaged at version {version} ({error}); {fix}") from error


def create_timers(state: State) -> Timers:
    """The timers of a state that was loaded or followed: they are not committed."""
    timers = Timers()
    for template in state.templates.by_id.values():
        arm_timer(timers, template)
    for job_id in state.services.jobs:
        timers.add_for(0, TimerKind.SERVICE, job_id)  # the first round finds out what is due
    for node in state.nodes.records.values():
        if node.drain_deadline_ms:
            timers.add_for(node.drain_deadline_ms, TimerKind.DRAIN, node.id)
        if node.state is NodeState.DOWN and state.nodes.tasks[node.id]:
            timers.add_for(0, TimerKind.DISCONNECT, node.id)  # the first round begins to count
    for job in state.jobs.values():
        set_job_timers(timers, state, job)
        for task_set in job.task_sets:
            for index, not_before_ms in (task_set.delayed or {}).items():
                timers.add(not_before_ms, TimerKind.BACK_OFF, task_set, index)
            if task_set.spec.queue_timeout_s:
                due_ms = job.submitted_ms + int(task_set.spec.queue_timeout_s * 1000)
                timers.add(due_ms, TimerKind.QUEUE_TIMEOUT, task_set)
    return timers
