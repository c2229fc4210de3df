"""Audits the live state: recomputes its counts and indexes, and compares them with its task table and the reference
model.

Called by `simulation.checks.checkers` every few rounds and at the end."""

from __future__ import annotations

from collections import Counter

import numpy as np

from shunter.engine.state.records import TaskSet
from shunter.engine.state.state import State
from shunter.model.job.spec import LICENCE_PREFIX
from shunter.model.lifecycles import NodeState, TaskState
from shunter.simulation.checks.reference_model import ReferenceModel
from shunter.simulation.checks.reference_records import LIVE, require
from shunter.simulation.checks.start_rules import FAIL_FLAGS, must_fail, temporary_block


def audit(state: State, model: ReferenceModel) -> None:
    require(set(state.jobs) == set(model.unfinished), "the unfinished jobs differ from the model's")
    runs = Counter((job.namespace, job.name, job.run) for job in state.jobs.values())
    require(all(count == 1 for count in runs.values()), f"runs of unfinished jobs are not unique: {runs}")
    _audit_waiting_tasks(model)
    for job in state.jobs.values():
        task_sets = sorted(task_set.number for task_set in job.task_sets)
        require(
            task_sets == sorted(model.jobs[job.id].groups), f"job {job.id} has task sets {task_sets}, not the model's"
        )
        for task_set in job.task_sets:
            _audit_counts(state, task_set)
            _audit_tasks(state, model, task_set)
    _audit_reservations(state, model)


def audit_empty(state: State) -> None:
    """After the last job, nothing is left that belongs to one."""
    require(not state.jobs, f"unfinished jobs: {sorted(state.jobs)}")
    require(not state.classes, f"classes without jobs: {sorted(state.classes)}")
    require(not state.nodes.view.reserved.any(), "resources are reserved for nobody")
    require(not state.nodes.tasks.any(), "nodes count tasks that are over")
    require(sum(state.task_counts) == 0, f"tasks are counted that are over: {state.task_counts}")


def _audit_waiting_tasks(model: ReferenceModel) -> None:
    """Whatever waits has a reason that will pass: a job, a time or a group of its own. What is to fail is stopped."""
    for job in model.unfinished.values():
        for flag in () if job.stop_was_asked else FAIL_FLAGS:
            require(not must_fail(job, flag, model.now_ms), f"job {job.id} goes on although it is to fail ({flag})")
        for number, task_set in job.groups.items():
            if any(task.state is TaskState.WAITING for task in task_set.tasks):
                reason = temporary_block(model, job, task_set)
                require(bool(reason), f"group {number} of job {job.id} waits for nothing any more")


def _audit_counts(state: State, task_set: TaskSet) -> None:
    states = state.table.state[task_set.base : task_set.base + task_set.count]
    counts = np.bincount(states, minlength=len(TaskState)).tolist()
    require(list(task_set.counts) == counts, f"job {task_set.job.id} counts {task_set.counts}, its tasks are {counts}")
    require(sum(counts) == task_set.count, f"counts of job {task_set.job.id} do not sum to {task_set.count}")


def _audit_tasks(state: State, model: ReferenceModel, task_set: TaskSet) -> None:
    """Every task is as in the reference model, and in a queue exactly once if it is queued."""
    rows = slice(task_set.base, task_set.base + task_set.count)
    table, tasks = state.table, model.jobs[task_set.job.id].groups[task_set.number].tasks
    found = zip(table.state[rows].tolist(), table.attempt[rows].tolist(), table.node[rows].tolist(), strict=True)
    queued = _queued_counts(task_set)
    delayed, is_free = task_set.delayed or {}, not task_set.job.is_held
    may_wait_for_node = task_set.spec.at_most_once or task_set.spec.replace_after_s > 0
    for index, (task, (state_now, attempt, node)) in enumerate(zip(tasks, found, strict=True)):
        is_live = task.state in LIVE
        is_same = task.state == state_now and task.attempt == attempt and (not is_live or task.node == node)
        is_queued_once = queued[index] == (task.state is TaskState.QUEUED and (is_free or index in delayed))
        is_on_live_node = not is_live or may_wait_for_node or model.nodes[node].state is not NodeState.DOWN
        if not (is_same and is_queued_once and is_on_live_node):
            where = f"task {task_set.job.id}/{index} ({TaskState(state_now).wire_name}, attempt {attempt}, node {node})"
            require(is_same, f"{where} is {task} in the model")
            require(is_queued_once, f"{where} is {queued[index]} times in a queue")
            require(is_on_live_node, f"{where} is on a node that is down")
    if task_set.ready:
        is_found = task_set.in_queue and any(task_set is each for each in task_set.task_class.task_sets)
        require(is_found, f"job {task_set.job.id} has tasks ready that nobody will look at")


def _queued_counts(task_set: TaskSet) -> Counter[int]:
    """How often each index is in a queue, ready or delayed."""
    queued = Counter(index for first, last, _ in task_set.ready for index in range(first, last + 1))
    queued.update(list(task_set.delayed or ()))
    return queued


def _audit_reservations(state: State, model: ReferenceModel) -> None:
    """Lanes hold what the table has, and what all lanes need fits on their node."""
    view = state.nodes.view
    outstanding = _outstanding(state)
    reserved = np.zeros_like(view.reserved)
    for record in state.classes.values():
        for node, lanes in record.lanes.items():
            where, found = f"class {record.id} on node {node}", outstanding.pop((record.id, node), 0)
            require(lanes.outstanding == found, f"{where}: {lanes.outstanding} outstanding, really {found}")
            committed = model.nodes[node].widths.get(record.id)
            require(0 < lanes.width == committed, f"{where} is {lanes.width} wide, committed is {committed}")
            for resource, amount in record.task_class.needs.items():
                if resource.startswith(LICENCE_PREFIX):
                    continue
                reserved[node, view.resources.index(resource)] += amount * lanes.width
    for testbed in state.objects.testbeds.values():
        for slot in testbed.status.slots:
            for resource, amount in slot.size.items():
                reserved[state.nodes.by_name[slot.place.node].id, view.resources.index(resource)] += amount
    require(not outstanding, f"tasks are live without lanes (class, node): {dict(outstanding)}")
    require(bool((reserved == view.reserved).all()), "the reserved resources are not what lanes and slots need")
    overcommitted = np.flatnonzero((reserved > view.capacity).any(axis=1)).tolist()
    overcommitted = [node for node in overcommitted if not model.nodes[node].has_shrunk]
    require(not overcommitted, f"more is reserved than these nodes have: {overcommitted}")


def _outstanding(state: State) -> Counter[tuple[int, int]]:
    """Live tasks by class and node, counted row by row."""
    table = state.table
    live = np.isin(table.state[: table.used], [int(each) for each in LIVE])
    outstanding: Counter[tuple[int, int]] = Counter()
    for row in np.flatnonzero(live).tolist():
        task_set = state.task_sets[table.group[row]]
        assert task_set is not None
        outstanding[task_set.task_class.id, int(table.node[row])] += 1
    return outstanding
