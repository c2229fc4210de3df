"""Sets the rules of named queues, counts their pending tasks, and clears them. Called by the engine's rounds and the
gateway."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from shunter.engine import changes as c
from shunter.engine.round import Round
from shunter.engine.state.records import ranges_where
from shunter.engine.state.registries.queues import UNLIMITED, Queue
from shunter.engine.state.state import State
from shunter.model.errors import Busy, Conflict, NotFound
from shunter.model.job.spec import DEFAULT_OPTIONS, QUEUE_DEFAULT, JobSpec
from shunter.model.lifecycles import TaskEvent, TaskState
from shunter.ports.admin import QueueChange

_QUEUED = int(TaskState.QUEUED)


@dataclass(frozen=True, slots=True)
class QueueLoad:
    """The load of a queue: tasks that could start now, and tasks on nodes."""

    queued: int
    running: int


def on_queue_patch(round: Round, name: str, change: QueueChange) -> None:
    current = round.state.queues.get(name)
    rules = Queue(
        current.is_paused if change.paused is None else change.paused,
        current.is_strict if change.strict is None else change.strict,
        current.running_max if change.running_max is None else change.running_max,
        current.queued_max if change.queued_max is None else change.queued_max,
    )
    if rules == current:
        return
    if name not in round.state.queues.queues and len(round.state.queues.queues) >= round.settings.queues_max:
        raise Conflict(f"at most {round.settings.queues_max} queues can have rules; delete one that you do not need")
    round.record(c.QueueSet(name, rules.is_paused, rules.is_strict, rules.running_max, rules.queued_max, round.now_ms))


def on_queue_drop(round: Round, name: str) -> None:
    """Remove the rules of a queue. Its tasks stay and may start."""
    if name not in round.state.queues.queues:
        raise NotFound(f"queue '{name}' has no rules; `shunter queues` lists queues with rules")
    round.record(c.QueueDropped(name, round.now_ms))


def on_queue_purge(round: Round, name: str, user: str) -> int:
    """Cancel the queued tasks of a queue, except those of services, and return their number. Running tasks continue."""
    purged = 0
    for job in round.state.jobs.values():
        if job.options.queue != name or job.is_long_running:
            continue
        for task_set in job.task_sets:
            if not task_set.counts[_QUEUED]:
                continue
            states = round.state.table.state[task_set.base : task_set.base + task_set.count]
            for first, last in ranges_where(states == _QUEUED):
                round.transition(task_set, first, last, TaskEvent.CANCELLED, f"queue {name} purged by {user}")
                purged += last - first + 1
            round.dirty.maybe_finished[job.id] = None
    return purged


def check_queue_limits(round: Round, specs: Sequence[JobSpec]) -> None:
    """Refuse the whole submit if it would exceed a queue's limits."""
    if not any(queue.queued_max for queue in round.state.queues.queues.values()):
        return
    added: Counter[str] = Counter()
    for spec in specs:
        if not spec.is_template:
            added[spec.options.queue if spec.options is not DEFAULT_OPTIONS else QUEUE_DEFAULT] += spec.count
    for name, count in added.items():
        limit = round.state.queues.get(name).queued_max
        if limit and count > limit:
            fix = f"submit fewer tasks, or raise it: `shunter queue set {name} --queued-max {count}`"
            raise Conflict(f"queue '{name}' has a queued_max of {limit}, but the submit has {count} tasks; {fix}")
        if limit and (queued := queue_load(round.state, name).queued) + count > limit:
            wanted = "" if queued >= limit else f", and the submit has {count} tasks"
            raise Busy(f"queue '{name}' is full: {queued} of {limit} tasks are queued{wanted}", 5.0)


def queue_load(state: State, name: str, sees: Callable[[str], bool] = lambda _: True) -> QueueLoad:
    """The load of a queue by tasks in namespaces that the caller sees."""
    records = [record for record in state.classes.values() if record.key.queue == name and sees(record.key.namespace)]
    running = sum(lanes.outstanding for record in records for lanes in record.lanes.values())
    return QueueLoad(sum(record.queued for record in records), running)


def queue_names(state: State) -> list[str]:
    """The default queue, those with rules, and those that unfinished jobs name."""
    return sorted({QUEUE_DEFAULT, *state.queues.queues, *(record.key.queue for record in state.classes.values())})


def queue_rules(state: State, name: str) -> Queue:
    return state.queues.queues.get(name, UNLIMITED)
