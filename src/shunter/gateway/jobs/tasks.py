"""Reading the tasks of runs: their list, single ones, their attempts, and where their logs are. Called by the gateway.

Those of a live run are read from the engine's memory between rounds, those of a finished one from the store.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from shunter.engine.engine import Engine
from shunter.engine.jobs.finish import Piece
from shunter.engine.read.views import Block, group_columns, job_view, task_view
from shunter.engine.services.instances import look
from shunter.engine.state.records import Job, PastAttempt, TaskSet
from shunter.engine.state.registries.services import ReplacedTask
from shunter.engine.state.state import State
from shunter.engine.state.task_table import unpack_columns
from shunter.gateway.jobs.replaced_tasks import find_replaced, replaced_tasks, replaced_view
from shunter.gateway.jobs.task_refs import Run, group_name, has_one_group, locate, piece_of, pieces_of
from shunter.model.errors import NotFound
from shunter.model.lifecycles import TaskState
from shunter.model.rest.views import TaskPage, TaskView
from shunter.planning.filter.node_kinds import RUNTIME_ANYWHERE
from shunter.ports.gateway import TaskQuery, TaskReference
from shunter.ports.store import Store
from shunter.ports.workers import AttemptName

_CODES = {state.word: int(state) for state in TaskState}
REPLACED = 999_999_999  # as the piece of a cursor: the tasks that were replaced
_ENDED = ("succeeded", "failed", "cancelled")


@dataclass(frozen=True, slots=True)
class TaskPlace:
    """Where one attempt of a task is, for reading its log. A log of 0 means that nobody has told of one yet; what is
    `opening` may have one all the same, which its worker knows by the attempt."""

    node: int
    log: int
    is_over: bool
    attempt: int = 0
    opening: AttemptName | None = None

    def goes_on(self, before: TaskPlace | None) -> bool:
        """Whether it is the same log as before, so that one reads on where one was."""
        if before is None:
            return False
        is_opened = before.opening is not None and before.attempt == self.attempt
        return is_opened or (before.log, before.opening) == (self.log, self.opening)


class Tasks:
    def __init__(self, engine: Engine, store: Store) -> None:
        self._engine, self._store = engine, store

    async def page(self, run: Run, query: TaskQuery) -> TaskPage:
        """By group and index. The cursor is PIECE.INDEX of the last one; what was replaced comes before the rest."""
        if isinstance(run, Job) and run.is_long_running:
            return await self._instances(run, query)
        view = job_view(run, self._engine.state) if isinstance(run, Job) else run.view
        total = sum(view.counts.get(state, 0) for state in query.states) if query.states else view.count
        pieces = pieces_of(run)
        start, first = _cursor(query.after, REPLACED if query.all else 0)
        found: list[tuple[str, TaskView]] = []
        if query.all:
            replaced = [task for task in self._replaced(run) if not query.states or task.state in query.states]
            total += len(replaced)
            if start == REPLACED:
                part = enumerate(replaced[first : first + query.limit + 1], first)
                found = [(f"{REPLACED}.{index}", task) for index, task in part]
                start = first = 0
        for position in range(start, len(pieces)):
            piece = pieces[position]
            while first < piece.count and len(found) <= query.limit:
                block = await self._block(run, piece, first)
                if block is None:
                    break
                rows = _select(block, query.states, first, query.limit + 1 - len(found))
                found += [(f"{position}.{index}", task_view(block, index)) for index in rows]
                first = block.first + len(block)
            first = 0
        page = found[: query.limit]
        return TaskPage([task for _, task in page], page[-1][0] if len(found) > query.limit else None, total)

    async def _instances(self, run: Job, query: TaskQuery) -> TaskPage:
        """Tasks of a lasting job, by what they stand for: pieces overlap where instances were replaced. The cursor is
        GROUP.INDEX.PIECE, or that of `page` among those that were replaced and have left."""
        view = job_view(run, self._engine.state)
        total = sum(view.counts.get(state, 0) for state in query.states) if query.states else view.count
        after = tuple(int(part) for part in query.after.split(".")) if query.after else ()
        found: list[tuple[str, TaskView]] = []
        if query.all:
            replaced = [task for task in self._replaced(run) if not query.states or task.state in query.states]
            total += len(replaced)
            if after[:1] in ((), (REPLACED,)):
                first = after[1] + 1 if after else 0
                found = [(f"{REPLACED}.{index}", task) for index, task in enumerate(replaced) if index >= first]
                after = ()
        blocks: dict[int, Block] = {}
        rows: list[tuple[int, int, int, int]] = []
        for group in run.task_sets:
            block = await self._block(run, piece_of(group), 0)
            assert block is not None
            blocks[group.number] = block
            indexes = _select(block, query.states, 0, group.count)
            rows += [(group.group_index, group.visible_index_of(index), group.number, index) for index in indexes]
        rows = sorted(row for row in rows if row[:3] > after)[: query.limit + 1]
        found += [(".".join(map(str, row[:3])), task_view(blocks[row[2]], row[3])) for row in rows]
        page = found[: query.limit]
        return TaskPage([task for _, task in page], page[-1][0] if len(found) > query.limit else None, total)

    def _replaced(self, run: Run) -> list[TaskView]:
        names = self._engine.state.nodes.view.names
        return [replaced_view(task, run.name, has_one_group(run), names) for task in self._past(run)]

    def _past(self, run: Run) -> list[ReplacedTask]:
        return replaced_tasks(self._engine.state, run) if isinstance(run, Job) else run.summary.past

    def _find_replaced(self, run: Run, reference: TaskReference, piece: int) -> ReplacedTask:
        return find_replaced(self._past(run), group_name(run, reference.group), reference.index, piece)

    async def task(self, run: Run, reference: TaskReference) -> TaskView:
        if reference.piece is not None:
            past = self._find_replaced(run, reference, reference.piece)
            return replaced_view(past, run.name, has_one_group(run), self._engine.state.nodes.view.names)
        piece, index = locate(self._engine.state, run, reference)
        block = await self._block(run, piece, index)
        if block is None:
            raise NotFound(f"task {reference.index} has left history")
        return task_view(block, index)

    async def place_of(self, run: Run, reference: TaskReference, attempt: int | None) -> TaskPlace:
        """Where an attempt's log is; None means the latest. Of a task that was replaced, only that is known."""
        if reference.piece is not None:
            replaced = self._find_replaced(run, reference, reference.piece)
            if attempt not in (None, replaced.attempt):
                raise NotFound(
                    f"of task {reference.index}~{replaced.task_set_number}, only attempt {replaced.attempt} is known"
                )
            return TaskPlace(replaced.node, replaced.log, True, replaced.attempt)
        task = await self.task(run, reference)
        for past in self.history(run, reference):
            if past[1] == attempt:
                return TaskPlace(past[2], past[6], True, past[1])
        if attempt is not None and attempt != task.attempt:
            raise NotFound(f"task {task.name} has no attempt {attempt}: its latest is {task.attempt}")
        piece, index = locate(self._engine.state, run, reference)
        block = await self._block(run, piece, index)
        if block is None:
            raise NotFound(f"task {task.name} has left history")
        row = index - block.first
        node, log = int(block.columns["node"][row]), int(block.columns["log"][row])
        opening = None
        if task.state == "assigned" and _tells_while_it_starts(run, piece):
            opening, log = (run.id, piece.number, index, task.attempt), 0  # what is known is that of the one before
        return TaskPlace(node, log, task.state in _ENDED, task.attempt, opening)

    def history(self, run: Run, reference: TaskReference) -> list[PastAttempt]:
        if reference.piece is not None:
            return []
        piece, index = locate(self._engine.state, run, reference)
        if isinstance(run, Job):
            group = run.task_set(piece.number)
            past = (group.history or []) if group is not None else []
        else:
            past = run.summary.history[pieces_of(run).index(piece)]
        return [attempt for attempt in past if attempt[0] == index]

    async def _block(self, run: Run, piece: Piece, index: int) -> Block | None:
        """Neighbouring tasks of a piece with `index` among them; None if they have left."""
        names = self._engine.state.nodes.view.names
        if isinstance(run, Job):
            group = run.task_set(piece.number)
            if group is None:
                return None
            return Block(
                run.name,
                piece.name,
                has_one_group(run),
                0,
                group_columns(self._engine.state, group),
                names,
                group.reasons or {},
                group.visible_index,
                group.ports or {},
                group.health or {},
                *_follows(self._engine.state, run, group),
                array=group.spec.array,
                entries=group.spec.entries,
            )
        chunks = await self._store.finished_tasks(run.id, piece.number, index, index)
        if not chunks:
            return None
        columns = unpack_columns(chunks[0].count, chunks[0].body)
        pieces = pieces_of(run)
        reasons = run.summary.reasons[pieces.index(piece)]
        spec = next((spec for spec in run.specs if spec.name == piece.name), None)
        return Block(
            run.view.name,
            piece.name,
            has_one_group(run),
            chunks[0].first,
            columns,
            names,
            reasons,
            piece.visible_index,
            array=spec.array if spec is not None else (),
            entries=spec.entries if spec is not None else (),
        )


def _tells_while_it_starts(run: Run, piece: Piece) -> bool:
    """A process starts at once; what a container waits for, its image, stands in its log."""
    group = run.task_set(piece.number) if isinstance(run, Job) else None
    return group is not None and group.spec.task.runtime != RUNTIME_ANYWHERE


def _follows(state: State, run: Job, group: TaskSet) -> tuple[dict[int, bool] | None, frozenset[int]]:
    """Which tasks of a piece follow the present version of a lasting job, and which were replaced and have ended."""
    if run.id not in state.services.jobs:
        return None, frozenset()
    visible_indexes = {group.visible_index_of(index) for index in range(group.count)}
    pieces = [
        piece for piece in run.task_sets if piece.spec.name == group.spec.name and _overlaps(piece, visible_indexes)
    ]
    instances = look(state, run, pieces)
    current: dict[int, bool] = {}
    hidden: set[int] = set()
    for instance in instances.values():
        for member in instance.members:
            if member.group is group:
                current[member.index] = member.is_fresh
                if not member.is_alive and member is not instance.face:
                    hidden.add(member.index)
    return current, frozenset(hidden)


def _overlaps(piece: TaskSet, visible_indexes: set[int]) -> bool:
    first, last = piece.visible_index_of(0), piece.visible_index_of(piece.count - 1)
    return any(first <= index <= last for index in visible_indexes)


def _cursor(after: str | None, begin: int) -> tuple[int, int]:
    """The piece and the index to go on with. A plain number is an index of the first piece."""
    if not after:
        return begin, 0
    piece, _, index = after.rpartition(".")
    return int(piece or 0), int(index) + 1


def _select(block: Block, states: tuple[str, ...], first: int, limit: int) -> list[int]:
    """Indexes of the piece from `first` on, in any of these states."""
    column = block.columns["state"]
    start = max(first - block.first, 0)
    if states:
        wanted = np.isin(column[start:], [_CODES[state] for state in states])
        rows = (np.flatnonzero(wanted)[:limit] + start).tolist()
    else:
        rows = list(range(start, min(start + limit, len(column))))
    return [block.first + row for row in rows if block.first + row not in block.hidden]
