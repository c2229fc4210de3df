"""Co-location in the current state: what runs where, and what may start next to it. `planning.filter.colocation` has
the rules.

- Policies ask what runs where, through `engine.placement.cluster_view`: `tally`, `leaving`, `presence`, `matches`,
  `repels`.
- The engine checks tasks that no policy places: tasks of per-node jobs (`allowed_nodes`), pinned tasks and moved tasks
  (`colocation_allows`).
- `has_alternative_node`: a task that avoids the node of its last attempt returns to it if no other node fits.

Running tasks are never stopped because of these rules. Affinities to nodes are constraints: see
`engine.services.per_node`."""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Callable, Iterable, Mapping

import numpy as np
from numpy.typing import NDArray

from shunter.engine.round import Round
from shunter.engine.state.records import ClassRecord, Job, NodeRecord, TaskSet
from shunter.engine.state.state import State
from shunter.model.job.spec import GroupSpec
from shunter.model.lifecycles import NodeState, TaskState
from shunter.planning.filter.cel import JobAttributes, parse_job_match
from shunter.planning.filter.colocation import conflicting_rows, is_required_anti_affinity
from shunter.planning.filter.node_kinds import NodeKindIndex
from shunter.planning.view import BoolArray, IntArray, Rules

_ASSIGNED, _STOPPING = int(TaskState.ASSIGNED), int(TaskState.STOPPING)


# ---- what runs where ----


def tally(state: State, class_id: int) -> Mapping[int, int]:
    """Number of tasks of the class's job and group on each node, in any version of the spec."""
    counts: Counter[int] = Counter()
    for task_set in _task_sets_of(state, class_id):
        counts.update(_live_nodes(state, task_set).tolist())
    return counts


def leaving(state: State, class_id: int) -> Mapping[int, int]:
    """How many tasks of the class are stopping on each node, or will stop once the newer task with the same visible
    index is up."""
    counts: Counter[int] = Counter()
    visible_indexes = [(task_set, _visible_indexes(task_set)) for task_set in _task_sets_of(state, class_id)]
    indexes = max((int(each.max()) + 1 for _, each in visible_indexes if len(each)), default=0)
    has_replacement = {task_set.spec.name: np.zeros(indexes, np.bool_) for task_set, _ in visible_indexes}
    for task_set, each in reversed(visible_indexes):
        rows, is_replaced = slice(task_set.base, task_set.base + task_set.count), has_replacement[task_set.spec.name]
        states = state.table.state[rows]
        is_leaving = _is_live(states) & ((states == _STOPPING) | is_replaced[each])
        counts.update(state.table.node[rows][is_leaving].tolist())
        is_replaced[each[states < _STOPPING]] = True
    return counts


def presence(state: State, match: str) -> IntArray:
    """Number of tasks on each row, of jobs for which a match holds."""
    return _count_matching(state, _live_rows(state), match)


def matches(state: State, match: str, class_id: int) -> bool:
    """Whether a match holds for any job with tasks of the class."""
    return any(_holds(match, job) for job in jobs_of(state, class_id))


def repels(state: State, class_id: int) -> IntArray | None:
    """Number of tasks on each row whose anti-affinity repels the class; None if there are none."""
    counts: IntArray | None = None
    jobs = jobs_of(state, class_id)
    for task_set in state.anti_affinity_task_sets.values():
        if _repels(task_set, jobs):
            counts = np.zeros(state.nodes.view.count, np.int64) if counts is None else counts
            np.add.at(counts, _live_nodes(state, task_set), 1)
    return counts


def jobs_of(state: State, class_id: int) -> list[Job]:
    """Jobs with tasks of a class; for a class of a single job, that one."""
    record = state.classes.get(class_id)
    if record is None:
        return []
    if record.key.rules is not None:
        job = state.jobs.get(record.key.rules.job)
        return [job] if job is not None else []
    task_sets = (task_set for task_set in state.task_sets if task_set is not None and task_set.task_class is record)
    return list({task_set.job.id: task_set.job for task_set in task_sets}.values())


# ---- tasks that no policy places ----


def mark_dirty_by_colocation(round: Round) -> None:
    """Mark per-node jobs on the nodes where, since the last round, they may start or may no longer start."""
    state, registry = round.state, round.state.services
    if not registry.per_node or registry.colocation_tick == state.nodes.view.tick:
        return
    registry.colocation_tick = state.nodes.view.tick
    previous, registry.colocation_masks = registry.colocation_masks, {}
    for job in registry.per_node.values():
        for spec in job.spec_version.groups:
            if not _has_job_rules(state, spec):
                continue
            allowed = registry.colocation_masks[job.id, spec.name] = _allowed_nodes(state, job, spec, _live_rows(state))
            cached = previous.get((job.id, spec.name), allowed[:0])
            differs = allowed.copy()
            differs[: cached.size] ^= cached
            for node in np.flatnonzero(differs).tolist():
                round.dirty.jobs[job.id, node] = None


def allowed_nodes(state: State, job: Job, spec: GroupSpec) -> BoolArray | None:
    """The rows on which the rules between jobs let a task start; None: all rows."""
    if not _has_job_rules(state, spec):
        return None
    cached = state.services.colocation_masks.get((job.id, spec.name))
    if cached is not None and cached.size == state.nodes.view.count:
        return cached
    return _allowed_nodes(state, job, spec, _live_rows(state))


def colocation_allows(state: State, task_set: TaskSet, indexes: Iterable[int], node: int) -> bool:
    """Whether these tasks of the set may start on the node, next to the tasks that are there now."""
    if task_set.spec.distinct:
        occupied = _nodes_of_others(state, task_set, indexes)
        if conflicting_rows(state.nodes.view, task_set.spec.distinct, occupied)[node]:
            return False
    if not _has_job_rules(state, task_set.spec):
        return True
    return bool(_allowed_nodes(state, task_set.job, task_set.spec, _live_rows(state, node))[node])


def _nodes_of_others(state: State, task_set: TaskSet, indexes: Iterable[int]) -> IntArray:
    """Where other tasks of the group are. Tasks that these replace do not count: they stop once these are up."""
    replaced = [task_set.instance_index_of(index) for index in indexes]
    nodes = [
        _live_nodes(state, each, ~np.isin(_visible_indexes(each), replaced))
        for each in task_set.job.task_sets
        if each.spec.name == task_set.spec.name
    ]
    return np.concatenate(nodes)


def _has_job_rules(state: State, spec: GroupSpec) -> bool:
    return bool(state.anti_affinity_task_sets) or any(rule.to == "job" and rule.require for rule in spec.affinity)


def _allowed_nodes(state: State, job: Job, spec: GroupSpec, live: IntArray) -> BoolArray:
    """A job does not repel its own tasks, and may itself be the job that its affinity names."""
    allowed = np.ones(state.nodes.view.count, np.bool_)
    for rule in spec.affinity:
        if rule.to == "job" and rule.require:
            present = _count_matching(state, live, rule.match, except_job=job if rule.anti else None) > 0
            allowed &= ~present if rule.anti else present
    if state.anti_affinity_task_sets:
        allowed &= _count_tasks(state, live, lambda task_set: _repels(task_set, [job])) == 0
    return allowed


# ---- tasks that avoid a node ----


def has_alternative_node(state: State, record: ClassRecord, node: int) -> bool:
    """Whether another node that accepts work is large enough for the class, and nothing that runs there repels the
    class. Usually one of the first nodes does. A pinned class has no other node."""
    if record.key.node:
        return False
    kinds, is_excluded = NodeKindIndex(state.nodes.view.kinds, state.nodes.view), _excluded_rows(state, record)
    return any(
        other.id != node
        and other.state is NodeState.READY
        and not other.cordoned_by
        and not is_excluded[other.id]
        and _is_feasible(state, record, other, kinds)
        for other in state.nodes.records.values()
    )


def _is_feasible(state: State, record: ClassRecord, node: NodeRecord, kinds: NodeKindIndex) -> bool:
    view, task_class = state.nodes.view, record.task_class
    is_large_enough = bool((view.capacity[node.id, : record.vector.size] >= record.vector).all())
    row = np.array([node.id])
    return (
        is_large_enough
        and bool(kinds.suit(task_class)[view.kind[node.id]])
        and all(kinds.hold_on(text, row).all() for text in task_class.constraints)
    )


def _excluded_rows(state: State, record: ClassRecord) -> BoolArray:
    """The rows that the class cannot use because of tasks there, which may stay forever."""
    view, rules = state.nodes.view, record.key.rules or Rules(0)
    owner = view.owner[: view.count]
    is_excluded: BoolArray = (owner != 0) & (owner != rules.job)
    if state.anti_affinity_task_sets and (repel_counts := repels(state, record.id)) is not None:
        is_excluded |= repel_counts > 0
    if rules.exclusive:
        is_excluded |= (view.tasks[: view.count] > 0) & (owner != rules.job)
    for rule in rules.affinity:
        if rule.to == "job" and rule.require:
            is_present = presence(state, rule.match) > 0
            is_excluded |= is_present if rule.anti else ~is_present
    if rules.distinct:
        is_excluded |= conflicting_rows(view, rules.distinct, np.array([*tally(state, record.id)], np.int64))
    return is_excluded


# ---- live tasks ----


def _task_sets_of(state: State, class_id: int) -> list[TaskSet]:
    """All task sets of the class's job and group, oldest first."""
    record = state.classes[class_id]
    rules = record.key.rules
    job = state.jobs.get(rules.job) if rules is not None else None
    if job is None:
        return []
    names = {task_set.spec.name for task_set in job.task_sets if task_set.task_class is record}
    return [task_set for task_set in job.task_sets if task_set.spec.name in names]


def _visible_indexes(task_set: TaskSet) -> IntArray:
    """The visible indexes, by the task set's own index."""
    return np.arange(task_set.count) if task_set.visible_index is None else np.array(task_set.visible_index, np.int64)


def _live_nodes(state: State, task_set: TaskSet, is_counted: BoolArray | bool = True) -> IntArray:
    rows = slice(task_set.base, task_set.base + task_set.count)
    return state.table.node[rows][_is_live(state.table.state[rows]) & is_counted].astype(np.int64)


def _live_rows(state: State, node: int | None = None) -> IntArray:
    """Rows of the task table that are on nodes, or on one of them."""
    table = state.table
    is_live = _is_live(table.state[: table.used])
    if node is not None:
        is_live &= table.node[: table.used] == node
    return np.flatnonzero(is_live)


def _is_live(states: NDArray[np.uint8]) -> BoolArray:
    return (states >= _ASSIGNED) & (states <= _STOPPING)


def _count_tasks(state: State, live: IntArray, is_match: Callable[[TaskSet], bool]) -> IntArray:
    """How many of these rows of the task table are on each node, of matching task sets."""
    slots = state.table.group[live]
    is_matching = np.zeros(len(state.task_sets), np.bool_)
    for slot in np.flatnonzero(np.bincount(slots)).tolist():
        task_set = state.task_sets[slot]
        is_matching[slot] = task_set is not None and is_match(task_set)
    return np.bincount(state.table.node[live[is_matching[slots]]], minlength=state.nodes.view.count)


def _count_matching(state: State, live: IntArray, match: str, except_job: Job | None = None) -> IntArray:
    """The same, of jobs for which a match holds. The match is evaluated once per job, which may have many task sets."""
    holds = functools.cache(functools.partial(_holds, match))
    return _count_tasks(state, live, lambda task_set: task_set.job is not except_job and holds(task_set.job))


def _repels(task_set: TaskSet, jobs: list[Job]) -> bool:
    """Whether its anti-affinity repels tasks of any of these jobs. A job does not repel its own tasks."""
    return any(
        _holds(rule.match, job)
        for rule in task_set.spec.affinity
        if is_required_anti_affinity(rule)
        for job in jobs
        if job is not task_set.job
    )


def _holds(match: str, job: Job) -> bool:
    return parse_job_match(match).holds(JobAttributes(job.name, job.namespace, job.labels, job.user, job.type))
