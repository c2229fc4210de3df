"""Who is on which node beside whom: what rules that couple tasks ask about. Asked by policies through
`engine.placement.cluster_view`, and by `engine.placement.alternative_nodes`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

import numpy as np

from shunter.engine.state.records import Job, TaskSet
from shunter.engine.state.state import State
from shunter.model.lifecycles import TaskState
from shunter.planning.filter.cel import JobAttributes, parse_job_match
from shunter.planning.view import IntArray

_ASSIGNED, _STOPPING = int(TaskState.ASSIGNED), int(TaskState.STOPPING)


def tally(state: State, class_id: int) -> Mapping[int, int]:
    """Tasks on each node of the class's job and group, whatever version of the spec they follow."""
    counts: Counter[int] = Counter()
    for task_set in _task_sets_of(state, class_id):
        counts.update(_live_nodes(state, task_set).tolist())
    return counts


def leaving(state: State, class_id: int) -> Mapping[int, int]:
    """Those of them that were told to end, or will be when the younger task that shows the same index is up."""
    counts: Counter[int] = Counter()
    visible_indexes = [(task_set, _visible_indexes(task_set)) for task_set in _task_sets_of(state, class_id)]
    indexes = max((int(each.max()) + 1 for _, each in visible_indexes if len(each)), default=0)
    has_replacement = {task_set.spec.name: np.zeros(indexes, np.bool_) for task_set, _ in visible_indexes}
    for task_set, each in reversed(visible_indexes):
        rows, is_replaced = slice(task_set.base, task_set.base + task_set.count), has_replacement[task_set.spec.name]
        states = state.table.state[rows]
        is_live = (states >= _ASSIGNED) & (states <= _STOPPING)
        counts.update(state.table.node[rows][is_live & ((states == _STOPPING) | is_replaced[each])].tolist())
        is_replaced[each[states < _STOPPING]] = True
    return counts


def _visible_indexes(task_set: TaskSet) -> IntArray:
    """The indexes that people see, by the task set's own."""
    return np.arange(task_set.count) if task_set.visible_index is None else np.array(task_set.visible_index, np.int64)


def _task_sets_of(state: State, class_id: int) -> list[TaskSet]:
    """All task sets of the class's job and group, oldest first."""
    record = state.classes[class_id]
    rules = record.key.rules
    job = state.jobs.get(rules.job) if rules is not None else None
    if job is None:
        return []
    names = {task_set.spec.name for task_set in job.task_sets if task_set.task_class is record}
    return [task_set for task_set in job.task_sets if task_set.spec.name in names]


def presence(state: State, match: str) -> IntArray:
    """Tasks on each row of jobs for which a match holds."""
    holds = parse_job_match(match).holds
    counts = np.zeros(state.nodes.view.count, np.int64)
    for job in state.jobs.values():
        if _has_live_tasks(job) and holds(job_facts(job)):
            for task_set in job.task_sets:
                np.add.at(counts, _live_nodes(state, task_set), 1)
    return counts


def matches(state: State, match: str, class_id: int) -> bool:
    """Whether a match holds for any job with tasks of the class."""
    holds = parse_job_match(match).holds
    return any(holds(job_facts(job)) for job in _jobs_of(state, class_id))


def repels(state: State, class_id: int) -> IntArray | None:
    """Tasks on each row that want nobody like this beside them; None if there are none."""
    counts: IntArray | None = None
    jobs = _jobs_of(state, class_id)
    for task_set in state.anti_affinity_task_sets.values():
        rules = [rule for rule in task_set.spec.affinity if rule.to == "job" and rule.anti and rule.require]
        others = [job for job in jobs if job is not task_set.job]
        if any(parse_job_match(rule.match).holds(job_facts(job)) for rule in rules for job in others):
            counts = np.zeros(state.nodes.view.count, np.int64) if counts is None else counts
            np.add.at(counts, _live_nodes(state, task_set), 1)
    return counts


def called(state: State, class_id: int) -> str:
    jobs = _jobs_of(state, class_id)
    return f"{jobs[0].name}@{jobs[0].run}" if jobs else "a job that has ended"


def _jobs_of(state: State, class_id: int) -> list[Job]:
    """Jobs with tasks of a class; of a class that belongs to one job, that one."""
    record = state.classes.get(class_id)
    if record is None:
        return []
    if record.key.rules is not None:
        job = state.jobs.get(record.key.rules.job)
        return [job] if job is not None else []
    task_sets = (task_set for task_set in state.task_sets if task_set is not None and task_set.task_class is record)
    return list({task_set.job.id: task_set.job for task_set in task_sets}.values())


def _has_live_tasks(job: Job) -> bool:
    return any(sum(task_set.counts[_ASSIGNED : _STOPPING + 1]) for task_set in job.task_sets)


def job_facts(job: Job) -> JobAttributes:
    return JobAttributes(job.name, job.namespace, job.labels, job.user, job.type)


def _live_nodes(state: State, task_set: TaskSet) -> IntArray:
    rows = slice(task_set.base, task_set.base + task_set.count)
    states = state.table.state[rows]
    live: IntArray = state.table.node[rows][(states >= _ASSIGNED) & (states <= _STOPPING)].astype(np.int64)
    return live
