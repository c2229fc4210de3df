"""Reading the tasks of runs: their list, single ones, their attempts, and where their logs are. Called by the gateway.

Those of a live run are read from the engine's memory between rounds, those of a finished one from the store.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from shunter.engine.engine import Engine
from shunter.engine.jobs.finish import TaskSetRef
from shunter.engine.read.views import TaskBlock, group_columns, job_view, task_view
from shunter.engine.services.instances import collect_instances
from shunter.engine.state.records import Job, PastAttempt, TaskSet
from shunter.engine.state.registries.services import ReplacedTask
from shunter.engine.state.state import State
from shunter.engine.state.task_table import unpack_columns
from shunter.gateway.jobs.replaced_tasks import find_replaced, replaced_tasks, replaced_view
from shunter.gateway.jobs.task_refs import AnyRun, group_name, has_one_group, locate_task, task_set_of, task_sets_of
from shunter.model.errors import NotFound
from shunter.model.lifecycles import TaskState
from shunter.model.rest.views import TaskPage, TaskView
from shunter.planning.filter.node_kinds import RUNTIME_BUILT_IN
from shunter.ports.gateway import TaskQuery, TaskReference
from shunter.ports.store import Store
from shunter.ports.workers import AttemptKey

_CODES = {state.wire_name: int(state) for state in TaskState}
REPLACED_CURSOR = 999_999_999  # as the task set of a cursor: the tasks that were replaced
_FINISHED_STATES = ("succeeded", "failed", "cancelled")


@dataclass(frozen=True, slots=True)
class LogLocation:
    """Where one attempt of a task is, for reading its log. A log of 0 means that nobody has told of one yet; what is
    `starting_attempt` may have one all the same, which its worker knows by the attempt."""

    node: int
    log: int
    is_over: bool
    attempt: int = 0
    starting_attempt: AttemptKey | None = None

    def continues(self, before: LogLocation | None) -> bool:
        """Whether it is the same log as before, so that one reads on where one was."""
        if before is None:
            return False
        was_starting = before.starting_attempt is not None and before.attempt == self.attempt
        return was_starting or (before.log, before.starting_attempt) == (self.log, self.starting_attempt)


class Tasks:
    def __init__(self, engine: Engine, store: Store) -> None:
        self._engine, self._store = engine, store

    async def page(self, run: AnyRun, query: TaskQuery) -> TaskPage:
        """By group and index. The cursor is PIECE.INDEX of the last one; what was replaced comes before the rest."""
        if isinstance(run, Job) and run.is_long_running:
            return await self._instances(run, query)
        view = job_view(run, self._engine.state) if isinstance(run, Job) else run.view
        total = sum(view.counts.get(state, 0) for state in query.states) if query.states else view.count
        task_sets = task_sets_of(run)
        start, first = _cursor(query.after, REPLACED_CURSOR if query.all else 0)
        found: list[tuple[str, TaskView]] = []
        if query.all:
            replaced = [task for task in self._replaced(run) if not query.states or task.state in query.states]
            total += len(replaced)
            if start == REPLACED_CURSOR:
                part = enumerate(replaced[first : first + query.limit + 1], first)
                found = [(f"{REPLACED_CURSOR}.{index}", task) for index, task in part]
                start = first = 0
        for position in range(start, len(task_sets)):
            task_set = task_sets[position]
            while first < task_set.count and len(found) <= query.limit:
                block = await self._block(run, task_set, first)
                if block is None:
                    break
                rows = _select(block, query.states, first, query.limit + 1 - len(found))
                found += [(f"{position}.{index}", task_view(block, index)) for index in rows]
                first = block.first + len(block)
            first = 0
        page = found[: query.limit]
        return TaskPage([task for _, task in page], page[-1][0] if len(found) > query.limit else None, total)

    async def _instances(self, run: Job, query: TaskQuery) -> TaskPage:
        """Tasks of a long-running job, by what they stand for: task sets overlap where instances were replaced. The
        cursor is GROUP.INDEX.PIECE, or that of `page` among those that were replaced and have left."""
        view = job_view(run, self._engine.state)
        total = sum(view.counts.get(state, 0) for state in query.states) if query.states else view.count
        after = tuple(int(part) for part in query.after.split(".")) if query.after else ()
        found: list[tuple[str, TaskView]] = []
        if query.all:
            replaced = [task for task in self._replaced(run) if not query.states or task.state in query.states]
            total += len(replaced)
            if after[:1] in ((), (REPLACED_CURSOR,)):
                first = after[1] + 1 if after else 0
                found = [(f"{REPLACED_CURSOR}.{index}", task) for index, task in enumerate(replaced) if index >= first]
                after = ()
        blocks: dict[int, TaskBlock] = {}
        rows: list[tuple[int, int, int, int]] = []
        for task_set in run.task_sets:
            block = await self._block(run, task_set_of(task_set), 0)
            assert block is not None
            blocks[task_set.number] = block
            indexes = _select(block, query.states, 0, task_set.count)
            rows += [
                (task_set.group_index, task_set.visible_index_of(index), task_set.number, index) for index in indexes
            ]
        rows = sorted(row for row in rows if row[:3] > after)[: query.limit + 1]
        found += [(".".join(map(str, row[:3])), task_view(blocks[row[2]], row[3])) for row in rows]
        page = found[: query.limit]
        return TaskPage([task for _, task in page], page[-1][0] if len(found) > query.limit else None, total)

    def _replaced(self, run: AnyRun) -> list[TaskView]:
        names = self._engine.state.nodes.view.names
        return [replaced_view(task, run.name, has_one_group(run), names) for task in self._past(run)]

    def _past(self, run: AnyRun) -> list[ReplacedTask]:
        return replaced_tasks(self._engine.state, run) if isinstance(run, Job) else run.summary.past

    def _find_replaced(self, run: AnyRun, reference: TaskReference, task_set: int) -> ReplacedTask:
        return find_replaced(self._past(run), group_name(run, reference.group), reference.index, task_set)

    async def task(self, run: AnyRun, reference: TaskReference) -> TaskView:
        if reference.piece is not None:
            past = self._find_replaced(run, reference, reference.piece)
            return replaced_view(past, run.name, has_one_group(run), self._engine.state.nodes.view.names)
        task_set, index = locate_task(self._engine.state, run, reference)
        block = await self._block(run, task_set, index)
        if block is None:
            raise NotFound(f"task {reference.index} has left history")
        return task_view(block, index)

    async def log_location(self, run: AnyRun, reference: TaskReference, attempt: int | None) -> LogLocation:
        """Where an attempt's log is; None means the latest. Of a task that was replaced, only that is known."""
        if reference.piece is not None:
            replaced = self._find_replaced(run, reference, reference.piece)
            if attempt not in (None, replaced.attempt):
                raise NotFound(
                    f"of task {reference.index}~{replaced.task_set_number}, only attempt {replaced.attempt} is known"
                )
            return LogLocation(replaced.node, replaced.log, True, replaced.attempt)
        task = await self.task(run, reference)
        for past in self.history(run, reference):
            if past[1] == attempt:
                return LogLocation(past[2], past[6], True, past[1])
        if attempt is not None and attempt != task.attempt:
            raise NotFound(f"task {task.name} has no attempt {attempt}: its latest is {task.attempt}")
        task_set, index = locate_task(self._engine.state, run, reference)
        block = await self._block(run, task_set, index)
        if block is None:
            raise NotFound(f"task {task.name} has left history")
        row = index - block.first
        node, log = int(block.columns["node"][row]), int(block.columns["log"][row])
        starting_attempt = None
        if task.state == "assigned" and _logs_while_starting(run, task_set):
            starting_attempt, log = (
                (run.id, task_set.number, index, task.attempt),
                0,
            )  # what is known is that of the one before
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

    async def _block(self, run: AnyRun, task_set: TaskSetRef, index: int) -> TaskBlock | None:
        """Neighbouring tasks of a task set with `index` among them; None if they have left."""
        names = self._engine.state.nodes.view.names
        if isinstance(run, Job):
            group = run.task_set(task_set.number)
            if group is None:
                return None
            return TaskBlock(
                run.name,
                task_set.name,
                has_one_group(run),
                0,
                group_columns(self._engine.state, group),
                names,
                group.reasons or {},
                group.visible_index,
                group.ports or {},
                group.health or {},
                *_current_and_hidden(self._engine.state, run, group),
                array=group.spec.array,
                entries=group.spec.entries,
            )
        chunks = await self._store.finished_tasks(run.id, task_set.number, index, index)
        if not chunks:
            return None
        columns = unpack_columns(chunks[0].count, chunks[0].body)
        task_sets = task_sets_of(run)
        reasons = run.summary.reasons[task_sets.index(task_set)]
        spec = next((spec for spec in run.specs if spec.name == task_set.name), None)
        return TaskBlock(
            run.view.name,
            task_set.name,
            has_one_group(run),
            chunks[0].first,
            columns,
            names,
            reasons,
            task_set.visible_index,
            array=spec.array if spec is not None else (),
            entries=spec.entries if spec is not None else (),
        )


def _logs_while_starting(run: AnyRun, task_set: TaskSetRef) -> bool:
    """A process starts at once; what a container waits for, its image, stands in its log."""
    group = run.task_set(task_set.number) if isinstance(run, Job) else None
    return group is not None and group.spec.task.runtime != RUNTIME_BUILT_IN


def _current_and_hidden(state: State, run: Job, group: TaskSet) -> tuple[dict[int, bool] | None, frozenset[int]]:
    """Which tasks of a task set follow the present version of a long-running job, and which were replaced and have
    ended."""
    if run.id not in state.services.jobs:
        return None, frozenset()
    visible_indexes = {group.visible_index_of(index) for index in range(group.count)}
    task_sets = [
        task_set
        for task_set in run.task_sets
        if task_set.spec.name == group.spec.name and _overlaps(task_set, visible_indexes)
    ]
    instances = collect_instances(state, run, task_sets)
    current: dict[int, bool] = {}
    hidden: set[int] = set()
    for instance in instances.values():
        for member in instance.members:
            if member.task_set is group:
                current[member.index] = member.is_current_version
                if not member.is_alive and member is not instance.current:
                    hidden.add(member.index)
    return current, frozenset(hidden)


def _overlaps(task_set: TaskSet, visible_indexes: set[int]) -> bool:
    first, last = task_set.visible_index_of(0), task_set.visible_index_of(task_set.count - 1)
    return any(first <= index <= last for index in visible_indexes)


def _cursor(after: str | None, begin: int) -> tuple[int, int]:
    """The task set and the index to go on with. A plain number is an index of the first task set."""
    if not after:
        return begin, 0
    task_set, _, index = after.rpartition(".")
    return int(task_set or 0), int(index) + 1


def _select(block: TaskBlock, states: tuple[str, ...], first: int, limit: int) -> list[int]:
    """Indexes of the task set from `first` on, in any of these states."""
    column = block.columns["state"]
    start = max(first - block.first, 0)
    if states:
        wanted = np.isin(column[start:], [_CODES[state] for state in states])
        rows = (np.flatnonzero(wanted)[:limit] + start).tolist()
    else:
        rows = list(range(start, min(start + limit, len(column))))
    return [block.first + row for row in rows if block.first + row not in block.hidden]
