"""Classes of tasks as messages of `shunter.v1`, and back."""

from __future__ import annotations

from shunter.model.job.spec import Affinity, Spread
from shunter.model.protocol.scheduler_messages import ClassRow, RuleRow
from shunter.proto.v1 import external_scheduler_pb2 as pb


def class_message(row: ClassRow) -> pb.TaskClass:
    return pb.TaskClass(
        id=row.id,
        needs=row.needs,
        namespace=row.namespace,
        user=row.user,
        priority=row.priority,
        datacenters=row.datacenters,
        constraints=row.constraints,
        queue=row.queue,
        runtime=row.runtime,
        deadline_ms=row.deadline_ms,
        rules=None if row.rules is None else _rules_message(row.rules),
    )


def read_class(message: pb.TaskClass) -> ClassRow:
    return ClassRow(
        id=message.id,
        needs=dict(message.needs),
        namespace=message.namespace,
        user=message.user,
        priority=message.priority,
        datacenters=tuple(message.datacenters),
        constraints=tuple(message.constraints),
        queue=message.queue,
        runtime=message.runtime,
        deadline_ms=message.deadline_ms,
        rules=_read_rules(message.rules) if message.HasField("rules") else None,
    )


def _rules_message(rules: RuleRow) -> pb.Rules:
    return pb.Rules(
        job=rules.job,
        gang=rules.gang,
        exclusive=rules.exclusive,
        distinct=rules.distinct,
        spread=[pb.Spread(label=each.label, weight=each.weight) for each in rules.spread],
        affinity=[
            pb.Affinity(to=each.to, match=each.match, require=each.require, weight=each.weight, anti=each.anti)
            for each in rules.affinity
        ],
        group=rules.group,
    )


def _read_rules(message: pb.Rules) -> RuleRow:
    return RuleRow(
        message.job,
        message.gang,
        message.exclusive,
        message.distinct,
        tuple(Spread(each.label, each.weight) for each in message.spread),
        tuple(Affinity(each.to, each.match, each.require, each.weight, each.anti) for each in message.affinity),
        message.group,
    )
