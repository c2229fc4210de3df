"""Finding runs, live or finished, and reading their tasks. Called by the gateway.

A live run is read from the engine's memory between rounds, a finished one from the store.
"""

from __future__ import annotations

from dataclasses import dataclass
from difflib import get_close_matches

import msgspec
import numpy as np

from shunter.engine.books.lasting import PastTask
from shunter.engine.books.templates import Template
from shunter.engine.endings import Piece, Summary
from shunter.engine.engine import Engine
from shunter.engine.instances import look
from shunter.engine.records import Group, Job, PastAttempt
from shunter.engine.state import State
from shunter.engine.stops import find_task
from shunter.engine.table import unpack_columns
from shunter.engine.views import Block, group_columns, job_view, task_view
from shunter.gateway.replaced import find_replaced, replaced_tasks, replaced_view
from shunter.gateway.templates import template_as_job
from shunter.model.errors import Invalid, NotFound, Problem
from shunter.model.job_groups import GROUP_DEFAULT
from shunter.model.jobs import GroupSpec
from shunter.model.lifecycles import TaskState
from shunter.model.views import JobPage, JobView, TaskPage, TaskView
from shunter.planning.kinds import RUNTIME_ANYWHERE
from shunter.ports.gateway import JobQuery, JobReference, TaskQuery, TaskReference
from shunter.ports.store import FinishedJob, FinishedQuery, Store
from shunter.ports.workers import AttemptName

_summary_decoder = msgspec.msgpack.Decoder(Summary)
_groups_decoder = msgspec.msgpack.Decoder(tuple[GroupSpec, ...])
_CODES = {state.word: int(state) for state in TaskState}
REPLACED = 999_999_999  # as the piece of a cursor: the tasks that were replaced
_ENDED_JOBS = ("succeeded", "failed", "cancelled")


@dataclass(frozen=True, slots=True)
class FinishedRun:
    id: int
    summary: Summary

    @property
    def view(self) -> JobView:
        return self.summary.view

    @property
    def name(self) -> str:
        return self.summary.view.name

    @property
    def specs(self) -> tuple[GroupSpec, ...]:
        """Of its groups, as far as history has kept them."""
        return _groups_decoder.decode(self.summary.groups) if self.summary.groups else ()


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


class Runs:
    def __init__(self, engine: Engine, store: Store) -> None:
        self._engine, self._store = engine, store

    async def find(self, reference: JobReference) -> Job | FinishedRun:
        """The run that is meant: the newest of its name unless the reference says otherwise."""
        await self._engine.committed()
        state = self._engine.state
        if reference.id is not None:
            live = state.jobs.get(reference.id)
            finished = None if live else await self._store.finished_job(reference.id)
        else:
            runs = state.unfinished_runs(reference.namespace, reference.name)
            live = next((run for run in reversed(runs) if reference.run in (None, run.run)), None)
            finished = None
            if live is None:
                finished = await self._store.finished_run(reference.namespace, reference.name, reference.run)
        if live is not None:
            return live
        if finished is None:
            template = self._template(reference)
            if template is None:
                raise NotFound(self._unknown(reference))
            return FinishedRun(template.id, Summary(template_as_job(template), [], []))
        return FinishedRun(finished.id, _summary_decoder.decode(finished.summary))

    async def page(self, query: JobQuery) -> JobPage:
        """Newest first. Live ones are read before the store is asked, so a job that ends meanwhile is not missed."""
        await self._engine.committed()
        before = int(query.after) if query.after else None
        live, live_total = self._live(query, before)
        states = tuple(state for state in query.states if state in _ENDED_JOBS)
        finished: list[FinishedJob] = []
        finished_total = 0
        if states or not query.states:
            finished_query = FinishedQuery(
                namespace=query.namespace, states=states, labels=query.labels, before_id=before, limit=query.limit + 1
            )
            finished = await self._store.finished_jobs(finished_query)
            finished_total = await self._store.count_finished(finished_query)
        ended = {job.id for job in finished}
        views = [view for view in live if view.id not in ended] + self._templates(query, before)
        views += [_summary_decoder.decode(job.summary).view for job in finished]
        views.sort(key=lambda view: -view.id)
        has_more = len(views) > query.limit
        views = views[: query.limit]
        total = live_total + finished_total + len(self._templates(query, None))
        return JobPage(views, str(views[-1].id) if has_more else None, total)

    async def runs_of(self, run: Job | FinishedRun, limit: int, after: str | None) -> JobPage:
        view = job_view(run, self._engine.state) if isinstance(run, Job) else run.view
        query = FinishedQuery(
            namespace=view.namespace, name=view.name, before_id=int(after) if after else None, limit=limit + 1
        )
        views = [_summary_decoder.decode(job.summary).view for job in await self._store.finished_jobs(query)]
        total = await self._store.count_finished(query)
        live = self._engine.state.unfinished_runs(view.namespace, view.name)
        if not after:
            views = [*(job_view(job, self._engine.state) for job in reversed(live)), *views]
        total += len(live)
        return JobPage(views[:limit], str(views[limit - 1].id) if len(views) > limit else None, total)

    async def tasks(self, run: Job | FinishedRun, query: TaskQuery) -> TaskPage:
        """By group and index. The cursor is PIECE.INDEX of the last one; what was replaced comes before the rest."""
        if isinstance(run, Job) and run.is_lasting:
            return await self._instances(run, query)
        view = job_view(run, self._engine.state) if isinstance(run, Job) else run.view
        total = sum(view.counts.get(state, 0) for state in query.states) if query.states else view.count
        pieces = _pieces(run)
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
        GROUP.INDEX.PIECE, or that of `tasks` among those that were replaced and have left."""
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
        for group in run.groups:
            block = await self._block(run, _piece_of(group), 0)
            assert block is not None
            blocks[group.number] = block
            indexes = _select(block, query.states, 0, group.count)
            rows += [(group.part, group.shows(index), group.number, index) for index in indexes]
        rows = sorted(row for row in rows if row[:3] > after)[: query.limit + 1]
        found += [(".".join(map(str, row[:3])), task_view(blocks[row[2]], row[3])) for row in rows]
        page = found[: query.limit]
        return TaskPage([task for _, task in page], page[-1][0] if len(found) > query.limit else None, total)

    def _replaced(self, run: Job | FinishedRun) -> list[TaskView]:
        names = self._engine.state.nodes.view.names
        return [replaced_view(task, run.name, _is_only(run), names) for task in self._past(run)]

    def _past(self, run: Job | FinishedRun) -> list[PastTask]:
        return replaced_tasks(self._engine.state, run) if isinstance(run, Job) else run.summary.past

    def _find_replaced(self, run: Job | FinishedRun, reference: TaskReference, piece: int) -> PastTask:
        return find_replaced(self._past(run), self.group_name(run, reference.group), reference.index, piece)

    async def task(self, run: Job | FinishedRun, reference: TaskReference) -> TaskView:
        if reference.piece is not None:
            past = self._find_replaced(run, reference, reference.piece)
            return replaced_view(past, run.name, _is_only(run), self._engine.state.nodes.view.names)
        piece, index = self.locate(run, reference)
        block = await self._block(run, piece, index)
        if block is None:
            raise NotFound(f"task {reference.index} has left history")
        return task_view(block, index)

    def locate(self, run: Job | FinishedRun, reference: TaskReference) -> tuple[Piece, int]:
        """The piece and the index in it of a task. Raises NotFound, or Invalid where the group must be named."""
        name = self.group_name(run, reference.group)
        if isinstance(run, Job):
            try:
                group, index = find_task(self._engine.state, run, name, reference.index)
            except NotFound:
                raise self._no_task(run, name, reference.index) from None
            return _piece_of(group), index
        for piece in reversed(_pieces(run)):
            if piece.name != name:
                continue
            if piece.shown is None and reference.index < piece.count:
                return piece, reference.index
            if piece.shown is not None and reference.index in piece.shown:
                return piece, piece.shown.index(reference.index)
        raise self._no_task(run, name, reference.index)

    def group_name(self, run: Job | FinishedRun, group: str | None) -> str:
        """The group that is meant; where there are several it must be named."""
        job = run.name
        specs = run.blueprint.groups if isinstance(run, Job) else None
        names = [spec.name for spec in specs] if specs else list(dict.fromkeys(piece.name for piece in _pieces(run)))
        if not names and not isinstance(run, Job):
            raise NotFound(f"job {job} has not run yet: {run.view.reason}")  # a template
        if group is None and len(names) == 1:
            return names[0]
        if group is None:
            fix = f"name the group: {job}/{names[0]}/0"
            raise Invalid([Problem("group", f"is missing: job {job} has groups {', '.join(names)}", None, fix)])
        if group not in names:
            raise NotFound(f"job {job} has no group {group}: its groups are {', '.join(names)}")
        return group

    def _no_task(self, run: Job | FinishedRun, name: str, index: int) -> NotFound:
        job = run.name
        pieces = [piece for piece in _pieces(run) if piece.name == name]
        last = max((max(piece.shown) if piece.shown else piece.count - 1 for piece in pieces), default=-1)
        whole = f"its tasks are 0 to {last}" if last >= 0 else "it has none yet"
        return NotFound(f"job {job} has no task {index}: {whole}")

    async def place_of(self, run: Job | FinishedRun, reference: TaskReference, attempt: int | None) -> TaskPlace:
        """Where an attempt's log is; None means the latest. Of a task that was replaced, only that is known."""
        if reference.piece is not None:
            replaced = self._find_replaced(run, reference, reference.piece)
            if attempt not in (None, replaced.attempt):
                raise NotFound(f"of task {reference.index}~{replaced.piece}, only attempt {replaced.attempt} is known")
            return TaskPlace(replaced.node, replaced.log, True, replaced.attempt)
        task = await self.task(run, reference)
        for past in self.history(run, reference):
            if past[1] == attempt:
                return TaskPlace(past[2], past[6], True, past[1])
        if attempt is not None and attempt != task.attempt:
            raise NotFound(f"task {task.name} has no attempt {attempt}: its latest is {task.attempt}")
        piece, index = self.locate(run, reference)
        block = await self._block(run, piece, index)
        if block is None:
            raise NotFound(f"task {task.name} has left history")
        row = index - block.first
        node, log = int(block.columns["node"][row]), int(block.columns["log"][row])
        opening = None
        if task.state == "assigned" and _tells_while_it_starts(run, piece):
            opening, log = (run.id, piece.number, index, task.attempt), 0  # what is known is that of the one before
        return TaskPlace(node, log, task.state in _ENDED_JOBS, task.attempt, opening)

    def history(self, run: Job | FinishedRun, reference: TaskReference) -> list[PastAttempt]:
        if reference.piece is not None:
            return []
        piece, index = self.locate(run, reference)
        if isinstance(run, Job):
            group = run.group(piece.number)
            past = (group.history or []) if group is not None else []
        else:
            past = run.summary.history[_pieces(run).index(piece)]
        return [attempt for attempt in past if attempt[0] == index]

    async def _block(self, run: Job | FinishedRun, piece: Piece, index: int) -> Block | None:
        """Neighbouring tasks of a piece with `index` among them; None if they have left."""
        names = self._engine.state.nodes.view.names
        if isinstance(run, Job):
            group = run.group(piece.number)
            if group is None:
                return None
            return Block(
                run.name,
                piece.name,
                _is_only(run),
                0,
                group_columns(self._engine.state, group),
                names,
                group.reasons or {},
                group.shown,
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
        pieces = _pieces(run)
        reasons = run.summary.reasons[pieces.index(piece)]
        spec = next((spec for spec in run.specs if spec.name == piece.name), None)
        return Block(
            run.view.name,
            piece.name,
            _is_only(run),
            chunks[0].first,
            columns,
            names,
            reasons,
            piece.shown,
            array=spec.array if spec is not None else (),
            entries=spec.entries if spec is not None else (),
        )

    def _live(self, query: JobQuery, before: int | None) -> tuple[list[JobView], int]:
        views: list[JobView] = []
        total = 0
        for job in reversed(self._engine.state.jobs.values()):
            if query.namespace not in (None, job.namespace):
                continue
            if query.states and job.state.word not in query.states:
                continue
            if any(job.labels.get(key) != value for key, value in query.labels):
                continue
            total += 1
            if (before is None or job.id < before) and len(views) <= query.limit:
                views.append(job_view(job, self._engine.state))
        return views, total

    def _template(self, reference: JobReference) -> Template | None:
        """A name without runs may be that of a template."""
        templates = self._engine.state.templates
        if reference.id is not None:
            return templates.by_id.get(reference.id)
        return templates.get(reference.namespace, reference.name) if reference.run is None else None

    def _templates(self, query: JobQuery, before: int | None) -> list[JobView]:
        """Templates stand among the jobs, unless a job's state is asked for."""
        return [
            template_as_job(template)
            for template in ([] if query.states else self._engine.state.templates.by_id.values())
            if query.namespace in (None, template.namespace)
            and (before is None or template.id < before)
            and all(template.spec.labels.get(key) == value for key, value in query.labels)
        ]

    def _unknown(self, reference: JobReference) -> str:
        if reference.id is not None:
            return f"there is no job with id {reference.id}"
        state = self._engine.state
        names = [*state.names.get(reference.namespace, ()), *state.last_runs.get(reference.namespace, ())]
        near = get_close_matches(reference.name, names[:10_000], 1)
        wanted = reference.name if reference.run is None else f"{reference.name}@{reference.run}"
        hint = f"; did you mean {near[0]}?" if near and near[0] != reference.name else ""
        return f"there is no job {wanted} in namespace {reference.namespace}{hint}"


def _pieces(run: Job | FinishedRun) -> list[Piece]:
    """What a run's tasks are divided into, in the order in which they are listed."""
    if isinstance(run, Job):
        groups = run.groups
        if run.is_lasting:
            groups = sorted(groups, key=lambda group: (group.part, group.shows(0), group.number))
        return [_piece_of(group) for group in groups]
    if not run.view.run:
        return []  # a template
    return run.summary.pieces or [Piece(0, GROUP_DEFAULT, run.view.count)]


def _tells_while_it_starts(run: Job | FinishedRun, piece: Piece) -> bool:
    """A process starts at once; what a container waits for, its image, stands in its log."""
    group = run.group(piece.number) if isinstance(run, Job) else None
    return group is not None and group.spec.task.runtime != RUNTIME_ANYWHERE


def _is_only(run: Job | FinishedRun) -> bool:
    """Whether it has one group, which need not be named."""
    return len(run.blueprint.groups if isinstance(run, Job) else {piece.name for piece in _pieces(run)}) == 1


def _follows(state: State, run: Job, group: Group) -> tuple[dict[int, bool] | None, frozenset[int]]:
    """Which tasks of a piece follow the present version of a lasting job, and which were replaced and have ended."""
    if run.id not in state.lasting.jobs:
        return None, frozenset()
    shown = {group.shows(index) for index in range(group.count)}
    pieces = [piece for piece in run.groups if piece.spec.name == group.spec.name and _overlaps(piece, shown)]
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


def _overlaps(piece: Group, shown: set[int]) -> bool:
    first, last = piece.shows(0), piece.shows(piece.count - 1)
    return any(first <= index <= last for index in shown)


def _piece_of(group: Group) -> Piece:
    return Piece(group.number, group.spec.name, group.count, group.shown)


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
