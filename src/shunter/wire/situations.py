"""Converts situations and decisions to messages of `shunter.v1`, and back. Used at both ends of the connection.

`model.protocol.scheduler_messages` has nodes as columns; a message has one entry per node, with its changed fields.
Everything else has the same shape, and `wire.struct_codec` converts it by name."""

from __future__ import annotations

import functools
from collections.abc import Iterable
from typing import Any

from shunter.model.protocol.scheduler_messages import (
    CapacityRows,
    DecisionAnswer,
    DecisionRow,
    NodeRows,
    Situation,
    UsageRow,
    ViewDelta,
)
from shunter.proto.v1 import external_scheduler_pb2 as pb
from shunter.wire.struct_codec import StructCodec, from_message, to_message
from shunter.wire.view_answers import answers_message, read_answers

# The fields of a delta that the message has under another name or in another form.
_CONVERTED_BY_HAND = frozenset({"is_whole", "count", "resources", "names", "nodes", "capacity", "usage", "answers"})


def situation_message(situation: Situation, lease: pb.Lease | None = None) -> pb.Situation:
    delta = situation.delta
    return pb.Situation(
        now=situation.now,
        budget=situation.budget,
        lease=lease,
        active=None if situation.active is None else decision_message(situation.active),
        whole=delta.is_whole,
        rows=delta.count,
        resources=delta.resources,
        nodes=_node_messages(delta),
        usage=[_usage_message(row) for row in delta.usage],
        answers=None if delta.answers is None else answers_message(delta.answers),
        **_delta_codec().encode(delta),
    )


def read_situation(message: pb.Situation) -> Situation:
    delta = ViewDelta(
        is_whole=message.whole,
        count=message.rows,
        resources=list(message.resources) or None,
        names=_present_values(message.nodes, "name"),
        nodes=_read_nodes(message.nodes),
        capacity=_read_capacity(message.nodes),
        usage=[_read_usage(each) for each in message.usage],
        answers=read_answers(message.answers) if message.HasField("answers") else None,
        **_delta_codec().decode(message),
    )
    active = read_decision(message.active) if message.HasField("active") else None
    return Situation(message.now, message.budget, delta, active)


@functools.cache
def _delta_codec() -> StructCodec:
    return StructCodec(ViewDelta, pb.Situation.DESCRIPTOR, _CONVERTED_BY_HAND)


def decision_message(row: DecisionRow, token: str = "") -> pb.Decision:
    message = to_message(row, pb.Decision)
    message.token = token
    return message


def read_decision(message: pb.Decision) -> DecisionRow:
    return from_message(DecisionRow, message)


def answer_message(answer: DecisionAnswer) -> pb.DecisionAnswer:
    return to_message(answer, pb.DecisionAnswer)


def read_answer(message: pb.DecisionAnswer) -> DecisionAnswer:
    return from_message(DecisionAnswer, message)


def _usage_message(row: UsageRow) -> pb.Usage:
    return pb.Usage(namespace=row.namespace, user=row.user, amounts=row.amounts, gone=row.amounts is None)


def _read_usage(message: pb.Usage) -> UsageRow:
    return UsageRow(message.namespace, message.user, None if message.gone else list(message.amounts))


# ---- nodes ----


def _node_messages(delta: ViewDelta) -> list[pb.Node]:
    """In the order in which they changed; those of which only the tasks were counted come last."""
    changes, found = delta.nodes, dict[int, dict[str, Any]]()
    if changes is not None:
        for index, row in enumerate(changes.rows):
            reserved = {resource: amounts[index] for resource, amounts in changes.reserved.items()}
            found[row] = {"row": row, "tasks": changes.tasks[index], "reserved": reserved}
        for row, tasks in changes.uncounted.items():
            found[row] = {"row": row, "tasks": tasks, "only_counted": True}
        for name in ("busy", "eligible", "owner", "kind", "because"):
            for row, value in getattr(changes, name).items():
                found.setdefault(row, {"row": row, "only_counted": True})[name] = value
    for row, name in delta.names.items():
        found.setdefault(row, {"row": row, "only_counted": True})["name"] = name
    if delta.capacity is not None:
        for index, row in enumerate(delta.capacity.rows):
            amounts = {resource: column[index] for resource, column in delta.capacity.amounts.items()}
            found.setdefault(row, {"row": row, "only_counted": True})["capacity"] = amounts
    return [pb.Node(**fields) for fields in found.values()]


def _read_nodes(nodes: Iterable[pb.Node]) -> NodeRows | None:
    nodes = list(nodes)
    if not nodes:
        return None
    changed = [node for node in nodes if not node.only_counted]
    resources = dict.fromkeys(resource for node in changed for resource in node.reserved)
    return NodeRows(
        rows=[node.row for node in changed],
        tasks=[node.tasks for node in changed],
        reserved={resource: [node.reserved[resource] for node in changed] for resource in resources},
        uncounted={node.row: node.tasks for node in nodes if node.only_counted and node.HasField("tasks")},
        busy=_present_values(nodes, "busy"),
        eligible=_present_values(nodes, "eligible"),
        owner=_present_values(nodes, "owner"),
        kind=_present_values(nodes, "kind"),
        because=_present_values(nodes, "because"),
    )


def _present_values(nodes: Iterable[pb.Node], name: str) -> dict[int, Any]:
    return {node.row: getattr(node, name) for node in nodes if node.HasField(name)}


def _read_capacity(nodes: Iterable[pb.Node]) -> CapacityRows | None:
    changes = [node for node in nodes if node.capacity]
    if not changes:
        return None
    resources = dict.fromkeys(resource for node in changes for resource in node.capacity)
    return CapacityRows(
        [node.row for node in changes],
        {resource: [node.capacity[resource] for node in changes] for resource in resources},
    )
