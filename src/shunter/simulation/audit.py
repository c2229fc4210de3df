"""The live state, recomputed from scratch: what it claims about itself, against its own task table and the ledger.

Called by `simulation.checkers` every so many rounds and at the end.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

import numpy as np

from shunter.engine.records import Group
from shunter.engine.state import State
from shunter.model.lifecycles import NodeState, TaskState
from shunter.simulation.ledger import LIVE, Ledger, LedgerTask, require


def audit(state: State, ledger: Ledger) -> None:
    require(set(state.jobs) == set(ledger.unfinished.values()), "the unfinished jobs differ from the ledger's")
    names = Counter((job.namespace, job.name) for job in state.jobs.values())
    require(all(count == 1 for count in names.values()), f"names of unfinished jobs are not unique: {names}")
    for job in state.jobs.values():
        for group in job.groups:
            _audit_counts(state, group)
            _audit_tasks(state, ledger, group)
    _audit_reservations(state, ledger)


def audit_empty(state: State) -> None:
    """After the last job, nothing is left that belongs to one."""
    require(not state.jobs, f"unfinished jobs: {sorted(state.jobs)}")
    require(not state.classes, f"classes without jobs: {sorted(state.classes)}")
    require(not state.nodes.view.reserved.any(), "resources are reserved for nobody")
    require(not state.nodes.tasks.any(), "nodes count tasks that are over")
    require(sum(state.task_counts) == 0, f"tasks are counted that are over: {state.task_counts}")


def _audit_counts(state: State, group: Group) -> None:
    states = state.table.state[group.base : group.base + group.count]
    counts = np.bincount(states, minlength=len(TaskState)).tolist()
    require(group.counts == counts, f"job {group.job.id} counts {group.counts}, its tasks are {counts}")
    require(sum(counts) == group.count, f"counts of job {group.job.id} do not sum to {group.count}")


def _audit_tasks(state: State, ledger: Ledger, group: Group) -> None:
    """Every task is what the ledger says; every queued one is in a queue, once, and no other is."""
    job = group.job.id
    queued = Counter(_indexes(group.ready))
    queued.update(dict.fromkeys(group.delayed or {}, 1))
    for index, task in enumerate(ledger.jobs[job].groups[group.number]):
        _audit_task(state, ledger, group, index, task)
        times, expected = queued[index], int(task.state is TaskState.QUEUED)
        require(times == expected, f"task {job}/{index} is {task.state.word}, and {times} times in a queue")
    if group.ready:
        is_found = group.in_queue and any(group is each for each in group.task_class.groups)
        require(is_found, f"job {job} has tasks ready that nobody will look at")


def _indexes(ready: Iterable[tuple[int, int, int]]) -> Iterable[int]:
    return (index for first, last, _ in ready for index in range(first, last + 1))


def _audit_task(state: State, ledger: Ledger, group: Group, index: int, task: LedgerTask) -> None:
    row, where = group.base + index, f"task {group.job.id}/{index}"
    found = (int(state.table.state[row]), int(state.table.attempt[row]))
    require(found == (task.state, task.attempt), f"{where} is {found}, the ledger has {task}")
    if task.state in LIVE:
        node = int(state.table.node[row])
        require(node == task.node, f"{where} is on node {node}, the ledger has {task.node}")
        is_down = ledger.nodes[node].state is NodeState.DOWN
        require(not is_down, f"{where} is {task.state.word} on a node that is down")


def _audit_reservations(state: State, ledger: Ledger) -> None:
    """Lanes hold what the table has, and what all lanes need fits on their node."""
    view = state.nodes.view
    outstanding = _outstanding(state)
    reserved = np.zeros_like(view.reserved)
    for record in state.classes.values():
        for node, lanes in record.lanes.items():
            where, found = f"class {record.id} on node {node}", outstanding.pop((record.id, node), 0)
            require(lanes.outstanding == found, f"{where}: {lanes.outstanding} outstanding, really {found}")
            committed = ledger.nodes[node].widths.get(record.id)
            require(0 < lanes.width == committed, f"{where} is {lanes.width} wide, committed is {committed}")
            for resource, amount in record.task_class.needs.items():
                reserved[node, view.resources.index(resource)] += amount * lanes.width
    require(not outstanding, f"tasks are live without lanes (class, node): {dict(outstanding)}")
    require(bool((reserved == view.reserved).all()), "the reserved resources are not what the lanes need")
    over = np.argwhere(reserved > view.capacity)
    require(over.size == 0, f"more is reserved than nodes have (node, resource): {over.tolist()}")


def _outstanding(state: State) -> Counter[tuple[int, int]]:
    """Live tasks by class and node, counted row by row."""
    table = state.table
    live = np.isin(table.state[: table.used], [int(each) for each in LIVE])
    outstanding: Counter[tuple[int, int]] = Counter()
    for row in np.flatnonzero(live).tolist():
        group = state.groups[table.group[row]]
        assert group is not None
        outstanding[group.task_class.id, int(table.node[row])] += 1
    return outstanding
