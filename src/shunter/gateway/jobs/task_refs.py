"""Finds the task that a `TaskReference` names: its task set in a live or finished run, and its index there. Called by
every sub-gateway that takes one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import msgspec

from shunter.engine.jobs.finish import Summary, TaskSetRef
from shunter.engine.jobs.stop import find_task
from shunter.engine.state.records import Job, TaskSet, local_index
from shunter.engine.state.state import State
from shunter.model.errors import Invalid, NotFound, Problem
from shunter.model.job.arrays import IndexRange, format_indexes
from shunter.model.job.groups import GROUP_DEFAULT
from shunter.model.job.spec import LONG_RUNNING, GroupSpec
from shunter.model.rest.job_views import JobView
from shunter.ports.principals import TaskReference

_groups_decoder = msgspec.msgpack.Decoder(tuple[GroupSpec, ...])


@dataclass(frozen=True, slots=True)
class FinishedRun:
    """A run as stored in history. Also stands for a template that has no run yet."""

    id: int
    summary: Summary

    @property
    def view(self) -> JobView:
        return self.summary.view

    @property
    def namespace(self) -> str:
        return self.view.namespace

    @property
    def name(self) -> str:
        return self.summary.view.name

    @property
    def specs(self) -> tuple[GroupSpec, ...]:
        """The specs of its groups; empty if history does not have them."""
        return _groups_decoder.decode(self.summary.groups) if self.summary.groups else ()


AnyRun = Job | FinishedRun


def task_sets_of(run: AnyRun) -> list[TaskSetRef]:
    """The task sets of a run, in the order in which they are listed."""
    if isinstance(run, Job):
        groups: Sequence[TaskSet] = run.task_sets
        if run.is_long_running:
            groups = sorted(groups, key=lambda group: (group.group_index, group.visible_index_of(0), group.number))
        return [task_set_of(group) for group in groups]
    if not run.view.run:
        return []  # a template
    return run.summary.pieces or [TaskSetRef(0, GROUP_DEFAULT, run.view.count)]


def task_set_of(task_set: TaskSet) -> TaskSetRef:
    return TaskSetRef(task_set.number, task_set.spec.name, task_set.count, task_set.visible_index)


def instance_indexes(task_set: TaskSetRef) -> Sequence[int]:
    """The index of each of its tasks, in their order; in an array, the position of its index."""
    return range(task_set.count) if task_set.visible_index is None else task_set.visible_index


def is_long_running(run: AnyRun) -> bool:
    return (run.type if isinstance(run, Job) else run.view.type) in LONG_RUNNING


def has_one_group(run: AnyRun) -> bool:
    """If so, references need not name the group."""
    return (
        len(run.spec_version.groups if isinstance(run, Job) else {task_set.name for task_set in task_sets_of(run)}) == 1
    )


def locate_task(state: State, run: AnyRun, reference: TaskReference) -> tuple[TaskSetRef, int]:
    """The task set of a task, and its index there. Raises NotFound, or Invalid if the group is missing."""
    name = group_name(run, reference.group)
    if isinstance(run, Job):
        try:
            group, index = find_task(state, run, name, reference.index)
        except NotFound:
            raise _task_not_found(run, name, reference.index) from None
        return task_set_of(group), index
    for task_set in reversed(task_sets_of(run)):
        if task_set.name != name:
            continue
        position = local_index_of(task_set, array_of(run, name), reference.index)
        if position is not None:
            return task_set, position
    raise _task_not_found(run, name, reference.index)


def local_index_of(task_set: TaskSetRef, array: tuple[IndexRange, ...], index: int) -> int | None:
    """Where the task with this index is in its task set; None if it has no such task."""
    return local_index(index, task_set.count, task_set.visible_index, array)


def array_of(run: AnyRun, group: str) -> tuple[IndexRange, ...]:
    """The indexes of a group's tasks; empty if they count from 0."""
    specs = run.spec_version.groups if isinstance(run, Job) else run.specs
    return next((spec.array for spec in specs if spec.name == group), ())


def first_task_of(run: AnyRun) -> TaskReference:
    """The first task of a job with one group."""
    names = [task_set.name for task_set in task_sets_of(run)]
    array = array_of(run, names[0]) if names else ()
    return TaskReference(array[0][0] if array else 0)


def group_name(run: AnyRun, group: str | None) -> str:
    """The name of the group that a reference means. A job with several groups needs one in the reference."""
    job = run.name
    specs = run.spec_version.groups if isinstance(run, Job) else None
    names = (
        [spec.name for spec in specs] if specs else list(dict.fromkeys(task_set.name for task_set in task_sets_of(run)))
    )
    if not names and not isinstance(run, Job):
        raise NotFound(f"job '{job}' has not run yet: {run.view.reason}")  # a template
    if group is None and len(names) == 1:
        return names[0]
    if group is None:
        array = array_of(run, names[0])
        fix = f"name the group: {job}/{names[0]}/{array[0][0] if array else 0}"
        raise Invalid([Problem("group", f"is missing: job '{job}' has groups {', '.join(names)}", None, fix)])
    if group not in names:
        raise NotFound(f"job '{job}' has no group '{group}': its groups are {', '.join(names)}")
    return group


def _task_not_found(run: AnyRun, name: str, index: int) -> NotFound:
    job = run.name
    task_sets = [task_set for task_set in task_sets_of(run) if task_set.name == name]
    last = max(
        (max(task_set.visible_index) if task_set.visible_index else task_set.count - 1 for task_set in task_sets),
        default=-1,
    )
    array = array_of(run, name)
    valid_range = f"its tasks are 0 to {last}" if last >= 0 else "it has no tasks yet"
    valid_range = f"its tasks are {format_indexes(array)}" if array else valid_range
    return NotFound(f"job '{job}' has no task {index}: {valid_range}")
