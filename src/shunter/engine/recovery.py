"""Loads the state from the store: a snapshot, then the rounds after it. Called by `engine.replica`. Also creates the
timers that the state implies, when an engine takes the lead."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager

from shunter.engine import changes as c
from shunter.engine.changes.formats import FORMATS, Formats
from shunter.engine.jobs.history_packer import SMALL_TASK_SET
from shunter.engine.jobs.job_timers import set_job_timers
from shunter.engine.jobs.submit import arm_timer
from shunter.engine.state.snapshots import LoadingState
from shunter.engine.state.state import State
from shunter.engine.timers import TimerKind, Timers
from shunter.model.errors import StoreFailed
from shunter.model.lifecycles import NodeState
from shunter.ports.store import LoggedRound, Store

ROUNDS_PER_READ = 1_000
SLICE_CHANGES = 1_000  # applied before the loop comes around


async def load_state(store: Store, formats: Formats = FORMATS) -> State:
    """Load the last committed state. Raises StoreFailed if what was committed cannot be decoded, and NewerFormat if a
    newer version can."""
    snapshot = await store.snapshot()
    state = State(formats)
    if snapshot is not None:
        loading = LoadingState(snapshot, formats)
        with _naming_damage(snapshot.version):
            for _ in loading.slices():
                await asyncio.sleep(0)
        state = loading.state
        del loading, snapshot  # its body may be large
    applied = 0
    while rounds := await store.rounds_after(state.version, ROUNDS_PER_READ):
        for logged in rounds:
            for change in decode_logged(logged, formats):
                state.apply(change)
                applied += 1
                if applied % SLICE_CHANGES == 0:
                    await asyncio.sleep(0)
            state.version = logged.version
    return state


def decode_logged(logged: LoggedRound, formats: Formats) -> list[c.Change]:
    with _naming_damage(logged.version):
        try:
            return c.decode_round(logged.body)
        except c.DECODE_ERRORS:
            if (raised := c.find_format(logged.body)) is not None:
                formats.refuse_newer(raised.format, raised.by)
            raise


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
            if task_set.count > SMALL_TASK_SET:
                timers.add_for(0, TimerKind.JOB_END, job.id)  # its tasks may have ended, without being packed
    return timers
