"""What a view works out on demand as a message of `shunter.v1`, and back. All but how jobs are called (`called`): that
is for policies in the manager, and nobody outside can ask for it."""

from __future__ import annotations

from typing import Any

from shunter.model.protocol.scheduler_messages import Answers, RunningRows
from shunter.proto.v1 import external_scheduler_pb2 as pb
from shunter.wire.task_classes import class_message, read_class

_RUNNING_FIELDS = ("class_id", "node", "count", "priority", "started_ms", "end_ms", "is_stopping")


def answers_message(answers: Answers) -> pb.Answers:
    message = pb.Answers(
        classes=[class_message(row) for row in answers.classes],
        running=None if answers.running is None else _running_message(answers.running),
        lowest_priority=answers.lowest_priority,
        tally={class_id: pb.Counts(by_row=counts) for class_id, counts in answers.tally.items()},
        leaving={class_id: pb.Counts(by_row=counts) for class_id, counts in answers.leaving.items()},
        presence={match: pb.Counts(by_row=counts) for match, counts in answers.presence.items()},
        matches={match: pb.Holds(by_class=holds) for match, holds in answers.matches.items()},
        longest_s={class_id: pb.Seconds(by_count=seconds) for class_id, seconds in answers.longest_s.items()},
    )
    if answers.repels is not None:
        message.repels.SetInParent()
        message.repels.nobody.extend(class_id for class_id, counts in answers.repels.items() if counts is None)
        for class_id, counts in answers.repels.items():
            if counts is not None:
                message.repels.by_class[class_id].by_row.update(counts)
                message.repels.by_class[class_id].SetInParent()
    return message


def read_answers(message: pb.Answers) -> Answers:
    repels: dict[int, dict[int, int] | None] | None = None
    if message.HasField("repels"):
        repels = {class_id: dict(counts.by_row) for class_id, counts in message.repels.by_class.items()}
        repels |= dict.fromkeys(message.repels.nobody)
    return Answers(
        classes=[read_class(each) for each in message.classes],
        running=_read_running(message.running) if message.HasField("running") else None,
        lowest_priority=message.lowest_priority if message.HasField("lowest_priority") else None,
        tally={class_id: dict(counts.by_row) for class_id, counts in message.tally.items()},
        leaving={class_id: dict(counts.by_row) for class_id, counts in message.leaving.items()},
        presence={match: dict(counts.by_row) for match, counts in message.presence.items()},
        matches={match: dict(holds.by_class) for match, holds in message.matches.items()},
        repels=repels,
        longest_s={class_id: dict(seconds.by_count) for class_id, seconds in message.longest_s.items()},
    )


def _running_message(rows: RunningRows) -> pb.Running:
    columns = (rows.class_ids, rows.node, rows.count, rows.priority, rows.started_ms, rows.end_ms, rows.is_stopping)
    values: list[tuple[Any, ...]] = list(zip(*columns, strict=True))
    return pb.Running(items=[pb.RunningTasks(**dict(zip(_RUNNING_FIELDS, each, strict=True))) for each in values])


def _read_running(message: pb.Running) -> RunningRows:
    return RunningRows(*([getattr(each, name) for each in message.items] for name in _RUNNING_FIELDS))
