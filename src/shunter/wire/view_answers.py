"""Converts `Answers` to a message of `shunter.v1`, and back.

Names of jobs (`called`) are not sent: only policies in the manager can ask for them."""

from __future__ import annotations

import functools

from shunter.model.protocol.scheduler_messages import Answers, RunningRows
from shunter.proto.v1 import external_scheduler_pb2 as pb
from shunter.wire.struct_codec import StructCodec

_RUNNING_FIELDS = ("class_id", "node", "count", "priority", "started_ms", "end_ms", "is_stopping")


def answers_message(answers: Answers) -> pb.Answers:
    message = pb.Answers(**_codec().encode(answers))
    if answers.running is not None:
        message.running.CopyFrom(_running_message(answers.running))
    if answers.repels is not None:
        message.repels.CopyFrom(_repels_message(answers.repels))
    return message


def read_answers(message: pb.Answers) -> Answers:
    return Answers(
        running=_read_running(message.running) if message.HasField("running") else None,
        repels=_read_repels(message.repels) if message.HasField("repels") else None,
        **_codec().decode(message),
    )


@functools.cache
def _codec() -> StructCodec:
    return StructCodec(Answers, pb.Answers.DESCRIPTOR, without=frozenset({"running", "repels", "called"}))


def _running_message(rows: RunningRows) -> pb.Running:
    columns = (rows.class_ids, rows.node, rows.count, rows.priority, rows.started_ms, rows.end_ms, rows.is_stopping)
    tasks = zip(*columns, strict=True)
    return pb.Running(items=[pb.RunningTasks(**dict(zip(_RUNNING_FIELDS, each, strict=True))) for each in tasks])


def _read_running(message: pb.Running) -> RunningRows:
    return RunningRows(*([getattr(each, name) for each in message.items] for name in _RUNNING_FIELDS))


def _repels_message(repels: dict[int, dict[int, int] | None]) -> pb.Repels:
    return pb.Repels(
        by_class={class_id: pb.Counts(by_row=counts) for class_id, counts in repels.items() if counts is not None},
        nobody=[class_id for class_id, counts in repels.items() if counts is None],
    )


def _read_repels(message: pb.Repels) -> dict[int, dict[int, int] | None]:
    counts = {class_id: dict(counts.by_row) for class_id, counts in message.by_class.items()}
    return {**counts, **dict.fromkeys(message.nobody)}
