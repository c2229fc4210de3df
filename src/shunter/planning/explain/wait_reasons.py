"""Explains why tasks of a class wait: one reason per node, grouped. Called when a user asks, never while planning."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from operator import mul

import numpy as np

from shunter.model.identity.quotas import PLACED, placed_needs
from shunter.model.job.spec import LICENCE_PREFIX
from shunter.model.resources import format_amount
from shunter.planning.explain.gang_reasons import describe_gang
from shunter.planning.explain.suggest import without_licence_needs
from shunter.planning.filter.filters import FILTERS, Filter, Refusal, avoid_filter, format_amount_short
from shunter.planning.filter.node_ledger import NodeLedger
from shunter.planning.filter.rules import RuleSet, rules_filter
from shunter.planning.score.gangs import gang_of
from shunter.planning.view import ClusterView, IntArray, Nodes, TaskClass

EXAMPLES_MAX = 3
REASONS_MAX = 20
# filters by the job's request, regardless of the state of a node
REQUESTED_FILTERS = (
    "datacenter",
    "runtime",
    "constraints",
)


@dataclass(frozen=True, slots=True)
class Reason:
    """Why a number of nodes cannot take a task."""

    text: str
    nodes: int
    examples: tuple[str, ...]


def explain(
    task_class: TaskClass,
    nodes: Nodes,
    filters: Sequence[Filter] = FILTERS,
    view: ClusterView | None = None,
    only_node: int = 0,
) -> list[Reason]:
    """The first reason of every node, so that each node counts once. Reasons of nodes that match the tasks' request
    come before those of other nodes; within each, the most frequent comes first. With the whole `view`, reasons that do
    not depend on nodes come before everything else, and rules between tasks are included. For tasks that can run only
    on `only_node`, no other node is explained."""
    if nodes.count <= 1:
        return [Reason("the cluster has no nodes", 0, ())]
    ledger = NodeLedger()
    ledger.sync(nodes)
    limit_reasons = [] if view is None else [Reason(text, 0, ()) for text in limits_reached(task_class, view)]
    rows = np.array([only_node]) if only_node else np.arange(1, nodes.count)
    on_node = without_licence_needs(task_class)  # licences are not resources of nodes
    never_fits = None if only_node else _never_fits(on_node, ledger)
    if view is not None:
        gang = "" if never_fits else describe_gang(task_class, _gang_counts(task_class, view), nodes, filters)
        limit_reasons += [Reason(gang, 0, ())] if gang else []
        filters = (*filters, rules_filter(RuleSet(view, ledger)), avoid_filter(_avoided(task_class, view)))
    refusals = [(never_fits, rows)] if never_fits else _refusals(on_node, ledger, rows, filters)
    if len(refusals) > REASONS_MAX:
        rest = np.concatenate([rows for _, rows in refusals[REASONS_MAX - 1 :]])
        refusals[REASONS_MAX - 1 :] = [("other reasons", rest)]
    return limit_reasons + [
        Reason(text, len(rows), tuple(nodes.names[row] for row in rows[:EXAMPLES_MAX].tolist()))
        for text, rows in refusals
    ]


def limits_reached(task_class: TaskClass, view: ClusterView) -> Iterator[str]:
    """What keeps a class waiting regardless of room: its queue, licences of the whole cluster, and the quotas of its
    tenant."""
    queue, gang = view.queues.get(task_class.queue), _gang_counts(task_class, view)
    if queue is not None and queue.is_paused:
        yield f"queue {task_class.queue} is paused"
    elif queue is not None and queue.running_max and queue.running >= queue.running_max:
        yield f"queue {task_class.queue} has {queue.running} tasks on nodes and has reached its running_max"
    elif queue is not None and queue.running_max and queue.running + sum(gang.values()) > queue.running_max:
        yield (
            f"queue {task_class.queue} has {queue.running} tasks on nodes, and its running_max of {queue.running_max} "
            f"leaves no room for the {sum(gang.values())} tasks of the gang, which start together"
        )
    for name, need in task_class.needs.items():
        if name.startswith(LICENCE_PREFIX):
            total, used = view.licences.get(name, (0, 0))
            of_all = sum(each.needs.get(name, 0) * count for each, count in gang.items())
            if total - used < max(need, of_all):
                needed_by = f"the gang needs {of_all}" if of_all else f"needs {need}"
                yield f"{name}: {needed_by}, {max(total - used, 0)} of {total} are free"
    yield from _quotas_reached(task_class, view, gang)


def _quotas_reached(task_class: TaskClass, view: ClusterView, gang: Mapping[TaskClass, int]) -> Iterator[str]:
    quota = view.quotas.get(task_class.namespace)
    if quota is None:
        return
    needs = list(placed_needs(task_class.needs))
    if gang:
        columns = zip(*(placed_needs(each.needs) for each in gang), strict=True)
        needs = [sum(map(mul, column, gang.values())) for column in columns]
    who = "the gang needs" if gang else "the next task needs"
    for name, limit, used, need in zip(PLACED, quota.limits, quota.used, needs, strict=True):
        if need and used + need > limit:
            in_use, most, more = (format_amount(name, each) for each in (used, limit, need))
            if need > limit:
                yield f"{who} {more} {name} and can never start within the quota of {most} of tenant {quota.tenant}"
                continue
            yield f"tenant {quota.tenant} uses {in_use} of its quota of {most} {name}, and {who} {more}"


def _avoided(task_class: TaskClass, view: ClusterView) -> frozenset[int]:
    """The nodes that its tasks avoid; a gang uses them if it must."""
    if gang_of(task_class):
        return frozenset()
    return next((each.avoid for each in view.queued if each.task_class.id == task_class.id), frozenset())


def _gang_counts(task_class: TaskClass, view: ClusterView) -> dict[TaskClass, int]:
    """Tasks that start together with this class, by class, including its own; empty if it belongs to no gang."""
    gang = gang_of(task_class)
    return {each.task_class: each.count for each in view.queued if gang_of(each.task_class) == gang} if gang else {}


def _never_fits(task_class: TaskClass, ledger: NodeLedger) -> str | None:
    """The reason that makes all others irrelevant: no node is large enough, even if it were empty."""
    for resource, need in task_class.needs.items():
        largest = int(ledger.capacity(resource).max()) if resource in ledger.column else 0
        if largest == 0:
            return f"no node has {resource}"
        if largest < need:
            needs, has = format_amount_short(resource, need), format_amount_short(resource, largest)
            return f"{resource}: needs {needs}, the largest node has {has}"
    return None


def _refusals(task_class: TaskClass, ledger: NodeLedger, rows: IntArray, filters: Sequence[Filter]) -> list[Refusal]:
    unrequested, wanted = _refused(
        task_class, ledger, rows, [each for each in filters if each.name in REQUESTED_FILTERS]
    )
    refusals, left = _refused(
        task_class, ledger, wanted, [each for each in filters if each.name not in REQUESTED_FILTERS]
    )
    is_gang = gang_of(task_class) > 0
    turn = (
        "has room for only some tasks of the gang, which starts as a whole"
        if is_gang
        else "has room; the job is waiting for its turn"
    )
    return _merged([*refusals, (turn, left)]) + _merged(unrequested)


def _refused(
    task_class: TaskClass, ledger: NodeLedger, rows: IntArray, filters: Sequence[Filter]
) -> tuple[list[Refusal], IntArray]:
    """The reasons of the nodes that one of these filters refuses; and the other nodes."""
    found: list[Refusal] = []
    for each in filters:
        passing = each.accepts(task_class, ledger, rows)
        if passing is None:
            continue
        found.extend(each.reasons(task_class, ledger, rows[~passing]))
        rows = rows[passing]
    return found, rows


def _merged(refusals: list[Refusal]) -> list[Refusal]:
    """The most frequent first."""
    groups: dict[str, list[IntArray]] = {}
    for text, rows in refusals:
        if len(rows):
            groups.setdefault(text, []).append(rows)
    merged = [(text, np.sort(np.concatenate(parts))) for text, parts in groups.items()]
    return sorted(merged, key=lambda refusal: -len(refusal[1]))
