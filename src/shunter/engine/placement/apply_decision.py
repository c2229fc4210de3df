"""Applies the decision of a policy, item by item. Called by `engine.placement.place`.

An item that no longer fits is skipped, whichever policy decided it. A gang applies as a whole or not at all."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

import numpy as np

from shunter.engine import changes as c
from shunter.engine.placement.colocation import has_alternative_node
from shunter.engine.placement.gang_restart import evict_gang, gang_of, places_whole_gang
from shunter.engine.round import Round
from shunter.engine.state.records import ClassRecord, Job, TaskSet
from shunter.engine.state.registries.tenants import OTHER_JOB
from shunter.engine.state.state import State
from shunter.engine.state.tenant_quotas import lanes_left, quota_of
from shunter.model.lifecycles import TaskEvent, TaskState
from shunter.planning.view import Decision, IntArray, Placement, Preemption

_ASSIGNED, _RUNNING = int(TaskState.ASSIGNED), int(TaskState.RUNNING)


def apply_decision(round: Round, decision: Decision) -> None:
    for placements in _grouped_by_gang(round, decision.placements):
        for placement in placements:
            apply_placement(round, placement)
    if decision.preemptions:
        preempt(round, decision.preemptions)


def _grouped_by_gang(round: Round, placements: list[Placement]) -> Iterable[list[Placement]]:
    """Yield items one by one; but a gang as one item, and only if all its queued tasks are placed and fit."""
    gangs: dict[int, list[Placement]] = {}
    for placement in placements:
        record = round.state.classes.get(placement.class_id)
        gang = gang_of(record) if record is not None else 0
        if gang:
            gangs.setdefault(gang, []).append(placement)
        else:
            yield [placement]
    for members in gangs.values():
        if _gang_fits(round, members):
            yield members


def _gang_fits(round: Round, placements: list[Placement]) -> bool:
    state, nodes = round.state, round.state.nodes.view
    placed_counts = {placement.class_id: int(placement.counts.sum()) for placement in placements}
    if not places_whole_gang(state, state.classes[placements[0].class_id], placed_counts) or not _is_within_limits(
        round, placed_counts
    ):
        return False
    needs_by_node: dict[int, IntArray] = {}
    for placement in placements:
        record = state.classes[placement.class_id]
        if (_lanes_available(round, record, placement.nodes) < placement.counts).any():
            return False
        vector = record.vector
        for node, count in zip(placement.nodes.tolist(), placement.counts.tolist(), strict=True):
            total_needs = np.zeros(len(nodes.resources), np.int64)
            total_needs[: vector.size] = vector * count
            needs_by_node[node] = needs_by_node[node] + total_needs if node in needs_by_node else total_needs
    return all(
        (nodes.reserved[node] + total_needs <= nodes.capacity[node]).all()
        for node, total_needs in needs_by_node.items()
    )


def _is_within_limits(round: Round, placed_counts: dict[int, int]) -> bool:
    """Whether this many tasks of classes of one job may start at once, by their limits, their queue, licences and
    quotas."""
    state, licences = round.state, Counter[str]()
    if not _is_within_quotas(state, placed_counts):
        return False
    for class_id, count in placed_counts.items():
        record = state.classes[class_id]
        if lanes_max(round, record) < count:
            return False
        for resource, need in record.licences:
            licences[resource] += need * count
    queue = record.key.queue
    count_max = state.queues.get(queue).running_max
    if count_max and state.queue_lanes[queue] + sum(placed_counts.values()) > count_max:
        return False
    known = state.cluster.licences()
    return all(state.licences_used[name] + count <= known.get(name, 0) for name, count in licences.items())


def _is_within_quotas(state: State, placed_counts: dict[int, int]) -> bool:
    """All classes are of one job, and so of one tenant."""
    records = [(state.classes[class_id], count) for class_id, count in placed_counts.items()]
    quota = quota_of(state, records[0][0])
    if quota is None:
        return True
    needs = [sum(record.quota_needs[column] * count for record, count in records) for column in range(len(quota.used))]
    amounts = zip(quota.limits, quota.used, needs, strict=True)
    return all(not need or used + need <= limit for limit, used, need in amounts)


def preempt(round: Round, preemptions: list[Preemption]) -> None:
    """Tell the youngest tasks of each class on its node to stop; they are queued again. A gang stops as a whole. Tasks
    bound to one node are left alone, because they would return there before any other task."""
    state, live = round.state, _live_rows(round, preemptions)
    evicted_gangs: set[int] = set()
    for preemption in preemptions:
        record = state.classes.get(preemption.victim)
        rows = live.get((preemption.victim, preemption.node), [])
        if record is None or not rows or record.key.node:
            continue
        winner = state.classes.get(preemption.winner)
        winner_task_set = winner.first_ready() if winner is not None else None
        if not gang_of(record):
            ended = _preempt_youngest(round, record, preemption, np.array(rows), winner_task_set)
            live[preemption.victim, preemption.node] = [row for row in rows if row not in ended]
        elif gang_of(record) not in evicted_gangs:
            evicted_gangs.add(gang_of(record))
            assert record.key.rules is not None, "a class of a gang has rules"
            gang_job = state.jobs[record.key.rules.job]
            evict_gang(round, record, _preemption_reason(state, gang_job, winner_task_set))


def _preemption_reason(state: State, victim: Job, winner_task_set: TaskSet | None) -> str:
    """Users of the victim read it: it names no job of another tenant."""
    if winner_task_set is None:
        return "preempted"
    owner_of, winner = state.tenants.owner_of, winner_task_set.job
    return f"preempted by {winner.ref if owner_of(winner.namespace) == owner_of(victim.namespace) else OTHER_JOB}"


def _live_rows(round: Round, preemptions: list[Preemption]) -> dict[tuple[int, int], list[int]]:
    """By class and node, for the nodes with preemptions: tasks that were told to start there and not to stop."""
    state, table, used = round.state, round.state.table, round.state.table.used
    is_target = np.zeros(state.nodes.view.count, np.bool_)
    is_target[[preemption.node for preemption in preemptions]] = True
    states = table.state[:used]
    rows = np.flatnonzero(is_target[table.node[:used]] & ((states == _ASSIGNED) | (states == _RUNNING)))
    live: dict[tuple[int, int], list[int]] = {}
    for row, slot, node in zip(rows.tolist(), table.group[rows].tolist(), table.node[rows].tolist(), strict=True):
        task_set = state.task_sets[slot]
        assert task_set is not None, "its tasks are live"
        live.setdefault((task_set.task_class.id, node), []).append(row)
    return live


def _preempt_youngest(
    round: Round, record: ClassRecord, preemption: Preemption, rows: IntArray, winner_task_set: TaskSet | None
) -> set[int]:
    """Spare tasks that are not less important than the winner, although their class is: those of a service whose
    priority was raised. Tasks without a lane stop too, because otherwise they would take the lanes to be released."""
    state, table = round.state, round.state.table
    lanes = record.lanes.get(preemption.node)
    count = preemption.count + max(0, lanes.outstanding - lanes.width if lanes is not None else 0)
    priority = state.task_set_columns.priority[table.group[rows]]
    winner_priority = winner_task_set.task_class.key.priority if winner_task_set is not None else 0
    is_victim = (priority <= record.key.priority) | (priority < winner_priority)
    rows, priority = rows[is_victim], priority[is_victim]
    started = table.started_ms[rows]
    youngest = rows[np.lexsort((-started, started > 0, priority))][:count].tolist()
    for row in youngest:
        task_set = state.task_sets[table.group[row]]
        assert task_set is not None
        reason = _preemption_reason(state, task_set.job, winner_task_set)
        evict_task(round, task_set, row - task_set.base, reason)
    return set(youngest)


def evict_task(round: Round, task_set: TaskSet, index: int, reason: str) -> None:
    """Stop a live attempt so that its task is queued again."""
    node = int(round.state.table.node[task_set.base + index])
    round.transition(task_set, index, index, TaskEvent.PREEMPTED, reason)
    round.outbox.stop(task_set, index, index, node, task_set.spec.task.stop_grace_s)


def apply_placement(round: Round, placement: Placement) -> None:
    """Reserve and order as many of these tasks as fit on their nodes."""
    record = round.state.classes.get(placement.class_id)
    if record is None:
        return
    fitting = np.minimum(placement.counts, _lanes_available(round, record, placement.nodes))
    count_max = min(record.queued, lanes_max(round, record))
    for node, count in _avoided_nodes_first(record, placement.nodes.tolist(), fitting.tolist()):
        count = min(count, count_max)
        count_max -= count
        if count <= 0:
            continue
        lanes = record.lanes.get(node)
        round.record(c.LanesSet(record.id, node, count + (lanes.width if lanes else 0)))
        lanes = record.lanes[node]
        lanes.last_progress_ms, lanes.may_refill = round.now_ms, True
        assign_tasks(round, record, node, count)
        if lanes.outstanding < lanes.width:  # some of them must not go there
            round.record(c.LanesSet(record.id, node, lanes.outstanding))


def _avoided_nodes_first(record: ClassRecord, nodes: list[int], counts: list[int]) -> list[tuple[int, int]]:
    """For a gang, first the nodes that some of its tasks avoid: the other tasks go there."""
    placed = list(zip(nodes, counts, strict=True))
    if not gang_of(record):
        return placed
    avoided = {node for task_set in record.task_sets for node in (task_set.avoided_nodes or {}).values()}
    return sorted(placed, key=lambda each: each[0] not in avoided)


def lanes_max(round: Round, record: ClassRecord, for_task_set: TaskSet | None = None) -> int:
    """How many more lanes the class may have in the whole cluster, by its parallel_max, its queue, licences and the
    quotas of its tenant. For one task of a given task set, which need not be ready: one or none."""
    state, count_max = round.state, record.queued if for_task_set is None else 1
    if record.key.dedicated_to is not None and (task_set := for_task_set or record.first_ready()) is not None:
        count_max = min(count_max, task_set.spec.parallel_max - record.width)
    queue = state.queues.get(record.key.queue)
    if queue.is_paused or state.secrets.problem_of_class(record.key):
        return 0
    if queue.running_max:
        count_max = min(count_max, queue.running_max - state.queue_lanes[record.key.queue])
    for resource, need in record.licences:
        count_max = min(count_max, (state.cluster.licences().get(resource, 0) - state.licences_used[resource]) // need)
    return max(min(count_max, lanes_left(state, record)), 0)


def fits_on_node(round: Round, task_set: TaskSet, node: int) -> bool:
    """Whether one more task of the group, ready or not, may start on the node now."""
    record = task_set.task_class
    headroom = _lanes_that_fit(round, record, np.array([node], np.int64), 1)
    is_allowed = not task_set.job.is_held and lanes_max(round, record, task_set) > 0
    return bool(headroom[0] > 0) and is_allowed


def _lanes_available(round: Round, record: ClassRecord, rows: IntArray) -> IntArray:
    """How many more lanes of the class fit on each of these nodes, which are all different."""
    return _lanes_that_fit(round, record, rows, record.queued)


def _lanes_that_fit(round: Round, record: ClassRecord, rows: IntArray, count_max: int) -> IntArray:
    nodes = round.state.nodes.view
    rules = record.key.rules
    is_available = (nodes.owner[rows] == 0) | (nodes.owner[rows] == (rules.job if rules is not None else 0))
    if rules is not None and rules.exclusive:
        is_available &= (nodes.tasks[rows] == 0) | (nodes.owner[rows] == rules.job)
    headroom = np.where(nodes.eligible[rows] & is_available, count_max, 0)
    for column, need in record.amounts:
        headroom = np.minimum(headroom, (nodes.capacity[rows, column] - nodes.reserved[rows, column]) // need)
    return headroom


def assign_tasks(round: Round, record: ClassRecord, node: int, count: int) -> None:
    """Assign the next `count` ready tasks of a class to a node where it has lanes."""
    while count > 0 and (ready := _next_ready(round, record, node)) is not None:
        task_set, first, last, attempts = ready
        last = min(last, first + count - 1)
        count -= last - first + 1
        job = task_set.job
        round.record(
            c.TasksPlaced(job.id, task_set.number, first, last, attempts + 1, node, task_set.ref_of(first, last))
        )
        round.outbox.order(task_set, first, last, attempts + 1, node)


def _next_ready(round: Round, record: ClassRecord, node: int) -> tuple[TaskSet, int, int, int] | None:
    """The next range of ready tasks: from the oldest group, unless its tasks avoid this node. A gang is not split for
    that: a task that cannot swap nodes with another returns to the node it avoids."""
    task_set = record.first_ready()
    if task_set is None or not task_set.avoided_nodes:
        return None if task_set is None else (task_set, *task_set.ready[-1])
    is_avoided = has_alternative_node(round.state, record, node)
    for task_set in record.task_sets:
        avoided_nodes = task_set.avoided_nodes or {}
        for first, last, attempts in reversed(task_set.ready):
            for index in range(first, last + 1):
                if not is_avoided or avoided_nodes.get(index) != node:
                    return task_set, index, index, attempts
    task_set = record.first_ready() if gang_of(record) else None
    return None if task_set is None else (task_set, *task_set.ready[-1])
