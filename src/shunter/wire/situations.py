"""Situations and decisions as messages of `shunter.v1`, and back. Used at both ends of the wire.

A message has a node with all that changed of it, where `model.protocol.scheduler_messages` has columns; the rest has
the same shape."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from shunter.model.objects.batch_jobs import BatchJob
from shunter.model.objects.object_meta import ObjectName
from shunter.model.objects.schedulings import Scheduling, SchedulingSpec
from shunter.model.objects.testbeds import Testbed
from shunter.model.protocol.scheduler_messages import (
    CapacityRows,
    DecisionAnswer,
    DecisionRow,
    ItemRefusal,
    KindRow,
    LicenceRow,
    NodeRows,
    PlacementRow,
    PreemptionRow,
    QueuedRow,
    QueueRow,
    SchedulingRow,
    Situation,
    UsageRow,
    ViewDelta,
)
from shunter.proto.v1 import external_scheduler_pb2 as pb
from shunter.wire.struct_codec import from_message, to_message
from shunter.wire.task_classes import class_message, read_class
from shunter.wire.view_answers import answers_message, read_answers

_OBJECTS = (("testbeds", Testbed), ("batch_jobs", BatchJob), ("schedulings", Scheduling))


def situation_message(situation: Situation, lease: pb.Lease | None = None) -> pb.Situation:
    delta = situation.delta
    message = pb.Situation(
        number=delta.number,
        version=delta.version,
        whole=delta.is_whole,
        now=situation.now,
        budget=situation.budget,
        lease=lease,
        active=None if situation.active is None else decision_message(situation.active),
        rows=delta.count,
        resources=delta.resources,
        kinds=[pb.NodeKind(datacenter=k.datacenter, labels=k.labels, attributes=k.attributes) for k in delta.kinds],
        nodes=_node_messages(delta),
        classes=[class_message(row) for row in delta.classes],
        gone=delta.gone,
        queued=[_queued_message(row) for row in delta.queued],
        usage=[
            pb.Usage(namespace=row.namespace, user=row.user, amounts=row.amounts, gone=row.amounts is None)
            for row in delta.usage
        ],
        preempt_gap=delta.preempt_gap,
        reserve_after_s=delta.reserve_after_s,
        hold_after_s=delta.hold_after_s,
        answers=None if delta.answers is None else answers_message(delta.answers),
    )
    if delta.queues is not None:
        message.queues.SetInParent()
        message.queues.items.extend(
            pb.QueueRule(
                name=row.name, is_paused=row.is_paused, is_strict=row.is_strict, running_max=row.running_max,
                running=row.running,
            )
            for row in delta.queues
        )  # fmt: skip
    if delta.licences is not None:
        message.licences.SetInParent()
        message.licences.items.extend(
            pb.Licence(name=row.name, total=row.total, used=row.used) for row in delta.licences
        )
    for name, _ in _OBJECTS:
        getattr(message, name).extend(to_message(each) for each in getattr(delta, name))
        getattr(message, f"{name}_gone").extend(to_message(each) for each in getattr(delta, f"{name}_gone"))
    return message


def read_situation(message: pb.Situation) -> Situation:
    objects: dict[str, Any] = {}
    for name, kind in _OBJECTS:
        objects[name] = [from_message(kind, each) for each in getattr(message, name)]
        objects[f"{name}_gone"] = [from_message(ObjectName, each) for each in getattr(message, f"{name}_gone")]
    delta = ViewDelta(
        number=message.number,
        version=message.version,
        is_whole=message.whole,
        count=message.rows,
        resources=list(message.resources) or None,
        names={node.row: node.name for node in message.nodes if node.HasField("name")},
        kinds=[KindRow(kind.datacenter, dict(kind.labels), dict(kind.attributes)) for kind in message.kinds],
        nodes=_read_nodes(message.nodes),
        capacity=_read_capacity(message.nodes),
        classes=[read_class(each) for each in message.classes],
        gone=list(message.gone),
        queued=[
            QueuedRow(each.class_id, each.count, each.since, each.since_ms, each.estimate_s, tuple(each.avoid))
            for each in message.queued
        ],
        usage=[
            UsageRow(each.namespace, each.user, None if each.gone else list(each.amounts)) for each in message.usage
        ],
        queues=[
            QueueRow(each.name, each.is_paused, each.is_strict, each.running_max, each.running)
            for each in message.queues.items
        ] if message.HasField("queues") else None,
        licences=[LicenceRow(each.name, each.total, each.used) for each in message.licences.items]
        if message.HasField("licences") else None,
        preempt_gap=message.preempt_gap if message.HasField("preempt_gap") else None,
        reserve_after_s=message.reserve_after_s if message.HasField("reserve_after_s") else None,
        hold_after_s=message.hold_after_s if message.HasField("hold_after_s") else None,
        answers=read_answers(message.answers) if message.HasField("answers") else None,
        **objects,
    )  # fmt: skip
    active = read_decision(message.active) if message.HasField("active") else None
    return Situation(message.now, message.budget, delta, active)


def decision_message(row: DecisionRow, token: str = "") -> pb.Decision:
    return pb.Decision(
        token=token,
        based_on=row.based_on,
        number=row.number,
        placements=[pb.Placement(class_id=p.class_id, nodes=p.nodes, counts=p.counts) for p in row.placements],
        preemptions=[
            pb.Preemption(victim=each.victim, node=each.node, count=each.count, winner=each.winner)
            for each in row.preemptions
        ],
        schedulings=[
            pb.SchedulingDraft(name=to_message(each.name), spec=to_message(each.spec)) for each in row.schedulings
        ],
        withdrawals=[to_message(each) for each in row.withdrawals],
        atomic=row.atomic,
        is_partial=row.is_partial,
        again_in_ms=row.again_in_ms,
        left=row.left,
        reasons=row.reasons,
    )


def read_decision(message: pb.Decision) -> DecisionRow:
    return DecisionRow(
        based_on=message.based_on,
        number=message.number,
        placements=[PlacementRow(p.class_id, list(p.nodes), list(p.counts)) for p in message.placements],
        preemptions=[PreemptionRow(p.victim, p.node, p.count, p.winner) for p in message.preemptions],
        schedulings=[
            SchedulingRow(from_message(ObjectName, each.name), from_message(SchedulingSpec, each.spec))
            for each in message.schedulings
        ],
        withdrawals=[from_message(ObjectName, each) for each in message.withdrawals],
        left=message.left,
        reasons=dict(message.reasons),
        is_partial=message.is_partial,
        atomic=message.atomic,
        again_in_ms=message.again_in_ms if message.HasField("again_in_ms") else None,
    )


def answer_message(answer: DecisionAnswer) -> pb.DecisionAnswer:
    refusals = [
        pb.ItemRefusal(item=each.item, reason=each.reason, node=each.node, count=each.count) for each in answer.refusals
    ]
    return pb.DecisionAnswer(version=answer.version, placed=answer.placed, refusals=refusals, agrees=answer.agrees)


def read_answer(message: pb.DecisionAnswer) -> DecisionAnswer:
    refusals = [ItemRefusal(each.item, each.reason, each.node, each.count) for each in message.refusals]
    agrees = message.agrees if message.HasField("agrees") else None
    return DecisionAnswer(message.version, message.placed, refusals, agrees)


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
        busy=_set_values(nodes, "busy"),
        eligible=_set_values(nodes, "eligible"),
        owner=_set_values(nodes, "owner"),
        kind=_set_values(nodes, "kind"),
        because=_set_values(nodes, "because"),
    )


def _set_values(nodes: list[pb.Node], name: str) -> dict[int, Any]:
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


def _queued_message(row: QueuedRow) -> pb.Queued:
    return pb.Queued(
        class_id=row.class_id, count=row.count, since=row.since, since_ms=row.since_ms, estimate_s=row.estimate_s,
        avoid=row.avoid,
    )  # fmt: skip
