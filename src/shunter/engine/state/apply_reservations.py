"""Applies changes of reservations to the state: a class gets lanes on a node, or gives them up. Called by
`engine.state.state`, live and in recovery."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from shunter.engine import changes as c
from shunter.engine.state import task_classes
from shunter.engine.state.records import Lanes

if TYPE_CHECKING:
    from shunter.engine.state.state import State


def lanes_set(state: State, change: c.LanesSet) -> None:
    record = state.classes[change.class_id]
    lanes = record.lanes.get(change.node)
    if lanes is None:
        lanes = Lanes(record, change.node)
        record.lanes[change.node] = lanes
        state.nodes.records[change.node].lanes[change.class_id] = lanes
    added = change.width - lanes.width
    lanes.width = change.width
    record.width += added
    record.touch()
    state.nodes.reserve(change.node, record.amounts, added)
    record.user_usage.add(record.amounts, added)
    state.queue_lanes[record.key.queue] += added
    if record.tenant:
        state.add_placed(record.tenant, record.quota_needs, added)
    for resource, need in record.licences:
        state.licences_used[resource] += need * added
    if not change.width:
        del record.lanes[change.node]
        del state.nodes.records[change.node].lanes[change.class_id]
        task_classes.drop_class_if_unused(state, record)
    if record.key.rules is not None and record.key.rules.exclusive:
        _update_owner(state, change.node)


def _update_owner(state: State, node: int) -> None:
    """A node belongs to the job that has exclusive lanes there."""
    rules = (lanes.task_class.key.rules for lanes in state.nodes.records[node].lanes.values())
    owner = next((rule.job for rule in rules if rule is not None and rule.exclusive), 0)
    state.nodes.set_owner(node, owner)


APPLIERS: dict[type, Callable[[Any, Any], None]] = {
    c.LanesSet: lanes_set,
}
