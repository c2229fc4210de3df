"""Explains what a gang lacks to start as a whole. Called by `planning.explain.wait_reasons`, when a user asks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from shunter.planning.explain.start_estimate import Forecast
from shunter.planning.explain.suggest import without_licence_needs
from shunter.planning.filter.filters import Filter, format_amount_short
from shunter.planning.view import Nodes, TaskClass


def describe_gang(
    task_class: TaskClass, members: Mapping[TaskClass, int], nodes: Nodes, filters: Sequence[Filter]
) -> str:
    """How many tasks of the gang have room, and which resource is missing. Empty if that is not why it waits, or if no
    node could run even one task, which other reasons say."""
    total, count = sum(members.values()), members.get(task_class, 0)
    if total < 2:
        return ""
    forecast = Forecast(task_class, nodes, filters)
    if not forecast.room_ever(count):
        return ""
    head = f"the gang of {total:,} tasks starts as a whole"
    lack = _describe_lack(forecast, members)
    now, ever = forecast.room(count), forecast.room_ever(count)
    if now >= count and not lack:
        return ""
    if now < count:
        them = "them" if count == total else f"{count:,} of them"
        head += f", and nodes have room for {now:,} of {them} now"
        head += f" ({ever:,} if nothing else ran)" if ever < count else ""
    return f"{head}; {lack}" if lack else head


def _describe_lack(forecast: Forecast, members: Mapping[TaskClass, int]) -> str:
    """The first resource of which all nodes together have too little; empty if it is only spread badly."""
    needs: dict[str, int] = {}
    for task_class, count in members.items():
        for resource, need in without_licence_needs(task_class).needs.items():
            needs[resource] = needs.get(resource, 0) + need * count
    totals = {resource: forecast.totals(resource) for resource in needs}
    for resource, need in needs.items():
        free, capacity = totals[resource]
        if need > capacity:
            return f"{resource}: needs {_amount(resource, need)} together, nodes have {_amount(resource, capacity)}"
    for resource, need in needs.items():
        free, capacity = totals[resource]
        if need > free:
            has = f"{_amount(resource, free)} of {_amount(resource, capacity)} free"
            return f"{resource}: needs {_amount(resource, need)} together, {has}"
    return ""


def _amount(resource: str, amount: int) -> str:
    return format_amount_short(resource, amount)
