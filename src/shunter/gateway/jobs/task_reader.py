"""Reads the tasks of a run: blocks of tasks, single tasks, their attempts, and the location of their logs. Called by
the sub-gateways `tasks`, `streams` and `explain`.

Tasks of a live run come from the engine's memory between rounds, those of a finished run from the store."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from shunter.engine.engine import Engine
from shunter.engine.jobs.finish import TaskSetRef
from shunter.engine.read.views import TaskBlock, group_columns, task_view
from shunter.engine.services.instances import collect_instances, is_wanted, replaced_tasks
from shunter.engine.state.records import Job, PastAttempt, TaskSet
from shunter.engine.state.registries.services import ReplacedTask
from shunter.engine.state.state import State
from shunter.engine.state.task_table import unpack_columns
from shunter.gateway.jobs.replaced_tasks import find_replaced, is_over, replaced_view
from shunter.gateway.jobs.task_refs import (
    AnyRun,
    FinishedRun,
    group_name,
    has_one_group,
    instance_indexes,
    locate_task,
    task_sets_of,
)
from shunter.model.errors import NotFound
from shunter.model.job.spec import SERVICE
from shunter.model.lifecycles import TaskState
from shunter.model.rest.job_views import TaskView
from shunter.planning.filter.node_kinds import RUNTIME_BUILT_IN
from shunter.ports.principals import TaskReference
from shunter.ports.store import Store
from shunter.ports.workers import AttemptKey

LIVE_BLOCK_TASKS = 262_144  # of a live task set that one block has at most: a look at all of them takes a millisecond
_FINISHED_STATES = ("succeeded", "failed", "cancelled")


@dataclass(frozen=True, slots=True)
class LogLocation:
    """Where the log of one attempt is. A log of 0 means that the worker has not reported one yet. A `starting_attempt`
    may have a log all the same: its worker finds it by the attempt."""

    node: int
    log: int
    is_over: bool
    attempt: int = 0
    starting_attempt: AttemptKey | None = None

    def continues(self, before: LogLocation | None) -> bool:
        """Whether this is the same log as before, so that the offset still holds."""
        if before is None:
            return False
        was_starting = before.starting_attempt is not None and before.attempt == self.attempt
        return was_starting or (before.log, before.starting_attempt) == (self.log, self.starting_attempt)


class TaskReader:
    def __init__(self, engine: Engine, store: Store) -> None:
        self._engine, self._store = engine, store

    def replaced(self, run: AnyRun) -> list[TaskView]:
        """Tasks of a long-running job that others have replaced, oldest first."""
        names = self._engine.state.nodes.view.names
        ended = (task for task in self._past(run) if is_over(task))
        return [replaced_view(task, run.name, has_one_group(run), names) for task in ended]

    async def task(self, run: AnyRun, reference: TaskReference) -> TaskView:
        if reference.piece is not None:
            past = self._find_replaced(run, reference, reference.piece)
            return replaced_view(past, run.name, has_one_group(run), self._engine.state.nodes.view.names)
        task_set, index = locate_task(self._engine.state, run, reference)
        block = await self.block(run, task_set, index)
        if block is None:
            raise NotFound(f"task {reference.index} is no longer in history")
        return task_view(block, index)

    async def log_location(self, run: AnyRun, reference: TaskReference, attempt: int | None) -> LogLocation:
        """Where an attempt's log is; None means the latest attempt, the only one known of a replaced task."""
        if reference.piece is not None:
            replaced = self._find_replaced(run, reference, reference.piece)
            if attempt not in (None, replaced.attempt):
                raise NotFound(f"task {reference.index}~{replaced.task_set_number} has only attempt {replaced.attempt}")
            return LogLocation(replaced.node, replaced.log, is_over(replaced), replaced.attempt)
        task = await self.task(run, reference)
        for past in self.history(run, reference):
            if past[1] == attempt:
                return LogLocation(past[2], past[6], True, past[1])
        if attempt is not None and attempt != task.attempt:
            raise NotFound(f"task {task.name} has no attempt {attempt}: its latest is {task.attempt}")
        task_set, index = locate_task(self._engine.state, run, reference)
        block = await self.block(run, task_set, index)
        if block is None:
            raise NotFound(f"task {task.name} is no longer in history")
        row = index - block.first
        node, log = int(block.columns["node"][row]), int(block.columns["log"][row])
        starting_attempt = None
        if task.state == "assigned" and _logs_while_starting(run, task_set):
            starting_attempt = (run.id, task_set.number, index, task.attempt)
            log = 0  # the column still has the log of the attempt before
        return LogLocation(node, log, task.state in _FINISHED_STATES, task.attempt, starting_attempt)

    def history(self, run: AnyRun, reference: TaskReference) -> list[PastAttempt]:
        if reference.piece is not None:
            return []
        task_set, index = locate_task(self._engine.state, run, reference)
        if isinstance(run, Job):
            group = run.task_set(task_set.number)
            past = (group.history or []) if group is not None else []
        else:
            past = run.summary.history[task_sets_of(run).index(task_set)]
        return [attempt for attempt in past if attempt[0] == index]

    async def block(self, run: AnyRun, task_set: TaskSetRef, index: int) -> TaskBlock | None:
        """Neighbouring tasks of a task set, with `index` among them; None if history does not have them any more."""
        if isinstance(run, Job):
            return self._live_block(run, task_set, index)
        return await self._finished_block(run, task_set, index)

    def _live_block(self, run: Job, task_set: TaskSetRef, index: int) -> TaskBlock | None:
        group = run.task_set(task_set.number)
        if group is None:
            return None
        first = index - index % LIVE_BLOCK_TASKS
        return TaskBlock(
            run.name,
            task_set.name,
            has_one_group(run),
            first,
            group_columns(self._engine.state, group, first, min(group.count, first + LIVE_BLOCK_TASKS)),
            self._engine.state.nodes.view.names,
            _reasons(self._engine.state, group),
            group.visible_index,
            group.ports or {},
            group.health or {},
            *_replacement_columns(self._engine.state, run, group),
            array=group.spec.array,
            entries=group.spec.entries,
        )

    async def _finished_block(self, run: FinishedRun, task_set: TaskSetRef, index: int) -> TaskBlock | None:
        names = self._engine.state.nodes.view.names
        chunks = await self._store.finished_tasks(run.id, task_set.number, index, index)
        if not chunks:
            return None
        spec = next((spec for spec in run.specs if spec.name == task_set.name), None)
        return TaskBlock(
            run.view.name,
            task_set.name,
            has_one_group(run),
            chunks[0].first,
            unpack_columns(chunks[0].count, chunks[0].body),
            names,
            run.summary.reasons[task_sets_of(run).index(task_set)],
            task_set.visible_index,
            hidden=_replaced_indexes(run, task_set),
            array=spec.array if spec is not None else (),
            entries=spec.entries if spec is not None else (),
        )

    def _past(self, run: AnyRun) -> list[ReplacedTask]:
        if not isinstance(run, Job):
            return run.summary.past
        return replaced_tasks(self._engine.state, run) if run.id in self._engine.state.services.jobs else []

    def _find_replaced(self, run: AnyRun, reference: TaskReference, task_set: int) -> ReplacedTask:
        return find_replaced(self._past(run), group_name(run, reference.group), reference.index, task_set)


def _reasons(state: State, group: TaskSet) -> Mapping[int, str]:
    """Why tasks failed or wait. The reason for a lost attempt is only in the history."""
    reasons = group.reasons or {}
    if not group.history:
        return reasons
    found = dict(reasons)
    for index, attempt, _, exit_code, _, _, _, reason in group.history:
        row = group.base + index
        if exit_code < 0 and attempt == state.table.attempt[row] and state.table.state[row] == TaskState.QUEUED:
            found[index] = reason
    return found


def _logs_while_starting(run: AnyRun, task_set: TaskSetRef) -> bool:
    """A process starts at once. A container logs how far its image is before it starts."""
    group = run.task_set(task_set.number) if isinstance(run, Job) else None
    return group is not None and group.spec.task.runtime != RUNTIME_BUILT_IN


def _replaced_indexes(run: FinishedRun, task_set: TaskSetRef) -> frozenset[int]:
    """The tasks of a task set that later ones of a finished run replaced, or that a lower count removed."""
    later = [each for each in task_sets_of(run) if each.name == task_set.name and each.number > task_set.number]
    spec = next((spec for spec in run.specs if spec.name == task_set.name), None)
    indexes = instance_indexes(task_set)
    count = spec.count if spec is not None and run.view.type == SERVICE else None
    if not later and (count is None or max(indexes) < count):
        return frozenset()
    replaced = {index for each in later for index in instance_indexes(each)}
    return frozenset(
        position
        for position, index in enumerate(indexes)
        if index in replaced or (count is not None and index >= count)
    )


def _replacement_columns(
    state: State, run: Job, group: TaskSet
) -> tuple[dict[int, bool] | None, frozenset[int], dict[int, str]]:
    """Which tasks of a long-running job's task set follow its current version; which were replaced or removed, and have
    ended; and which are being replaced, with the rest of their names."""
    if run.id not in state.services.jobs:
        return None, frozenset(), {}
    visible_indexes = {group.visible_index_of(index) for index in range(group.count)}
    task_sets = [
        task_set
        for task_set in run.task_sets
        if task_set.spec.name == group.spec.name and _overlaps(task_set, visible_indexes)
    ]
    instances = collect_instances(state, run, task_sets)
    current: dict[int, bool] = {}
    hidden: set[int] = set()
    leaving: dict[int, str] = {}
    for key, instance in instances.items():
        for member in instance.members:
            if member.task_set is not group:
                continue
            current[member.index] = member.is_current_version
            if not member.is_alive and (member is not instance.current or not is_wanted(run, *key)):
                hidden.add(member.index)
            elif member is not instance.current:
                leaving[member.index] = f"~{group.number}"
    return current, frozenset(hidden), leaving


def _overlaps(task_set: TaskSet, visible_indexes: set[int]) -> bool:
    first, last = task_set.visible_index_of(0), task_set.visible_index_of(task_set.count - 1)
    return any(first <= index <= last for index in visible_indexes)
