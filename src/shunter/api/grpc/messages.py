"""Writes views of the REST API as messages of `shunter.v1.Jobs`. Used by `api.grpc.jobs_service`."""

from __future__ import annotations

from shunter.model.rest.cluster_views import EventView
from shunter.model.rest.job_views import JobView, TaskView
from shunter.model.rest.log_views import JobLogLine, LogGap
from shunter.ports.jobs import JobNews
from shunter.proto.v1 import jobs_pb2 as pb

QUEUE_DEFAULT = "default"


def job_message(view: JobView) -> pb.Job:
    terms = view.terms
    return pb.Job(
        name=view.name, namespace=view.namespace, id=view.id, run=view.run, state=view.state, type=view.type,
        count=view.count, counts=view.counts, priority=view.priority, submitted_at=view.submitted_at,
        started_at=view.started_at or "", ended_at=view.ended_at or "", reason=view.reason or "", labels=view.labels,
        user=view.user, queue=QUEUE_DEFAULT if terms is None else terms.queue, held=terms is not None and terms.held,
        version=view.version, exit_code=view.exit_code,
    )  # fmt: skip


def task_message(view: TaskView) -> pb.Task:
    return pb.Task(
        name=view.name, index=view.index, group=view.group, state=view.state, attempt=view.attempt,
        node=view.node or "", exit_code=view.exit_code, started_at=view.started_at or "",
        ended_at=view.ended_at or "", reason=view.reason or "", restarts=view.restarts,
    )  # fmt: skip


def news_message(news: JobNews) -> pb.JobChange:
    if news.change is not None:
        return pb.JobChange(position=news.position, change=_change_message(news.change))
    if news.end is not None:
        return pb.JobChange(position=news.position, end=job_message(news.end))
    assert news.job is not None
    return pb.JobChange(position=news.position, job=job_message(news.job))


def _change_message(event: EventView) -> pb.Change:
    return pb.Change(
        type=event.type, at=event.at, state=event.state or "", group=event.group or "", tasks=event.tasks or "",
        node=event.node or "", attempt=event.attempt or 0, exit_code=event.exit_code, reason=event.reason or "",
    )  # fmt: skip


def log_message(line: JobLogLine) -> pb.LogLine:
    if line.log is not None:
        log = line.log
        output = pb.TaskOutput(
            task=log.task, group=log.group, index=log.index, attempt=log.attempt, stream=log.stream,
            offset=log.offset, next=log.next, data=log.data,
        )  # fmt: skip
        return pb.LogLine(output=output)
    assert line.end is not None
    end = line.end
    left_out, missing = map(_gap_message, end.left_out), map(_gap_message, end.missing)
    return pb.LogLine(end=pb.LogEnd(tasks=end.tasks, left_out=left_out, missing=missing))


def _gap_message(gap: LogGap) -> pb.LogGap:
    return pb.LogGap(reason=gap.reason, tasks=gap.tasks, names=gap.names)
