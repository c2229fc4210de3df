"""The methods of `shunter.v1.Jobs`. Each turns its request into one call of the gateway, and checks fields as REST
checks its parameters. Added to the manager's gRPC server by `app.listeners`."""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator, Iterable
from contextlib import aclosing
from typing import Any

import grpc
import grpc.aio

from shunter.api.grpc.calls import Call, Calls, Method
from shunter.api.grpc.messages import job_message, log_message, news_message, task_message
from shunter.api.http import parameters as p
from shunter.api.http.large_yaml import YAML_SIZE_MAX, YamlParser
from shunter.api.http.references import parse_event_position, parse_job_reference
from shunter.api.routes import jobs as rest
from shunter.api.routes.logs import GREP_SIZE_MAX, GROUPS, INDEXES, STREAMS, TAIL_MAX
from shunter.model.errors import Invalid, Problem
from shunter.model.job.arrays import INDEX_MAX
from shunter.model.rest.job_views import JobView
from shunter.model.rest.log_views import JobLogLine
from shunter.model.schema.fields import text
from shunter.model.schema.problems import Problems, format_value
from shunter.model.signals import SIGNALS, signal_number
from shunter.ports.jobs import JobLogQuery, JobNews, JobQuery, TaskQuery
from shunter.ports.principals import JobReference, TaskReference
from shunter.proto.v1 import jobs_pb2 as pb

SERVICE = "shunter.v1.Jobs"
MANIFEST_BYTES_MAX = YAML_SIZE_MAX  # the most that clients of gRPC take and send if nobody says otherwise
REQUEST_BYTES_MAX = 64 * 2**10  # of all other messages
TASKS_MAX = 1000
REPEATED_MAX = p.REPEATED_MAX

_key_matches = re.compile(rest.KEY_PATTERN).fullmatch
_TASK_AFTER = p.AFTER_TASK
_TAIL = p.int_parameter("tail", "", 0, TAIL_MAX)
_GREP = p.field_parameter("grep", "", text(size_max=GREP_SIZE_MAX))
_STREAM = p.enum_parameter("streams", "", STREAMS)
_SIGNAL = p.enum_parameter("signal", "", list(SIGNALS))
_LABEL = p.label_parameter()
_FILTERS = {parameter.name: parameter for parameter in rest.JOB_FILTERS}


def add_jobs_service(server: grpc.aio.Server, calls: Calls, yaml: YamlParser) -> None:
    service = JobsService(yaml)
    size = REQUEST_BYTES_MAX
    methods = {
        "Submit": Method("submitJob", pb.SubmitRequest, MANIFEST_BYTES_MAX + size, answer=service.submit),
        "Get": Method("getJob", pb.GetRequest, size, answer=service.get),
        "List": Method("listJobs", pb.ListRequest, size, answer=service.list),
        "Watch": Method("followJob", pb.WatchJobRequest, size, stream=service.watch),
        "Logs": Method("readJobLogs", pb.LogsRequest, size, stream=service.logs),
        "Cancel": Method("stopJob", pb.CancelRequest, size, answer=service.cancel),
    }
    handlers = {name: calls.handler(name, method) for name, method in methods.items()}
    server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(SERVICE, handlers),))


class JobsService:
    def __init__(self, yaml: YamlParser) -> None:
        self._yaml = yaml

    async def submit(self, call: Call, request: pb.SubmitRequest) -> pb.SubmitAnswer:
        key = request.idempotency_key or None
        if key is not None and not _key_matches(key):
            fault = "must be 1 to 128 printable ASCII characters without spaces"
            raise Invalid([Problem("idempotency_key", fault, format_value(key))])
        namespace = _namespace(call, request.namespace)
        documents = await self._yaml.parse(request.manifest.encode())
        if len(documents) > 1:
            raise Invalid([Problem("manifest", "has several documents", len(documents), "submit one at a time")])
        position = str(call.version)
        [submitted] = await call.gateway.jobs.submit(documents, namespace=namespace, key=key)
        view = await call.gateway.jobs.get(JobReference(submitted.namespace, id=submitted.id))
        return pb.SubmitAnswer(
            job=job_message(view), created=submitted.created, updated=submitted.updated, position=position
        )

    async def get(self, call: Call, request: pb.GetRequest) -> pb.GetAnswer:
        reference = _job(call, request)
        view = await call.gateway.jobs.get(reference)
        if not request.tasks_max:
            return pb.GetAnswer(job=job_message(view))
        problems = Problems()
        _check_number(request.tasks_max, "tasks_max", 1, TASKS_MAX, problems)
        after = _TASK_AFTER.read(request.tasks_after, "tasks_after", problems) if request.tasks_after else None
        problems.raise_any()
        tasks = call.permit("listTasks").tasks
        page = await tasks.page(_run(view), TaskQuery(limit=request.tasks_max, after=after))
        messages = map(task_message, page.items)
        return pb.GetAnswer(job=job_message(view), tasks=messages, next_task=page.next or "")

    async def list(self, call: Call, request: pb.ListRequest) -> pb.ListAnswer:
        problems = Problems()
        namespace = None if request.namespace == "*" else _namespace(call, request.namespace)
        states = _read_each(rest.JOB_STATE, request.states, "states", problems)
        _check_number(request.limit, "limit", 0, p.PAGE_MAX, problems)
        pairs = [f"{key}={value}" for key, value in request.labels.items()]
        labels = _read_each(_LABEL, pairs, "labels", problems)
        after = p.AFTER_JOB.read(request.after, "after", problems) if request.after else None
        words = {
            name: _FILTERS[name].read(value, field, problems) if value else None
            for name, field, value in (
                ("q", "text", request.text),
                ("queue", "queue", request.queue),
                ("user", "user", request.user),
                ("type", "type", request.type),
            )
        }
        problems.raise_any()
        query = JobQuery(
            namespace, states, labels, request.limit or p.LIMIT.default, after,
            words["q"] or "", words["queue"], words["user"], words["type"],
        )  # fmt: skip
        page = await call.gateway.jobs.page(query)
        return pb.ListAnswer(jobs=map(job_message, page.items), next=page.next or "", total=page.total)

    async def watch(self, call: Call, request: pb.WatchJobRequest) -> AsyncGenerator[pb.JobChange, None]:
        after = parse_event_position(request.after, "after") if request.after else None
        return _news(await call.gateway.streams.watch_job(_job(call, request), after))

    async def logs(self, call: Call, request: pb.LogsRequest) -> AsyncGenerator[pb.LogLine, None]:
        problems = Problems()
        tail = _TAIL.read(str(request.tail), "tail", problems) if request.HasField("tail") else None
        grep = _GREP.read(request.grep, "grep", problems) if request.grep else None
        groups = _read_each(GROUPS, request.groups, "groups", problems)
        indexes = INDEXES.read(request.indexes, "indexes", problems) if request.indexes else ()
        states = _read_each(rest.TASK_STATE, request.states, "states", problems)
        named = _read_each(_STREAM, request.streams, "streams", problems)
        problems.raise_any()
        streams = tuple(stream for stream in STREAMS if not named or stream in named)
        query = JobLogQuery(request.follow, tail, grep, None, groups, indexes, states, streams)
        lines = await call.gateway.streams.job_logs(_job(call, request), query)
        return _log_lines(lines)

    async def cancel(self, call: Call, request: pb.CancelRequest) -> pb.CancelAnswer:
        gateway, task = call.gateway, _task(request)
        problems = Problems()
        signal = signal_number(_SIGNAL.read(request.signal, "signal", problems) if request.signal else None)
        problems.raise_any()
        view = await gateway.jobs.get(_job(call, request))
        jobs = gateway.jobs if task is None else call.permit("stopTask").jobs
        await jobs.stop(_run(view) if view.run else _job(call, request), task, request.now, signal)
        return pb.CancelAnswer(job=job_message(await gateway.jobs.get(_run(view))))


async def _news(source: AsyncGenerator[JobNews, None]) -> AsyncGenerator[pb.JobChange, None]:
    async with aclosing(source):
        async for news in source:
            yield news_message(news)


async def _log_lines(source: AsyncGenerator[JobLogLine, None]) -> AsyncGenerator[pb.LogLine, None]:
    async with aclosing(source):
        async for line in source:
            yield log_message(line)


def _namespace(call: Call, named: str) -> str:
    problems = Problems()
    namespace = call.namespace(named)
    p.NAMESPACE.read(namespace, "namespace", problems)
    problems.raise_any()
    return namespace


def _job(call: Call, request: Any) -> JobReference:
    """The job that a request names."""
    return parse_job_reference(request.job, _namespace(call, request.namespace), "job")


def _run(view: JobView) -> JobReference:
    return JobReference(view.namespace, id=view.id)


def _task(request: pb.CancelRequest) -> TaskReference | None:
    problems = Problems()
    if not request.HasField("task"):
        return None
    _check_number(request.task, "task", 0, INDEX_MAX, problems)
    group = rest.GROUP.read(request.group, "group", problems) if request.group else None
    problems.raise_any()
    return TaskReference(request.task, group)


def _read_each(parameter: p.Parameter, values: Iterable[str], field: str, problems: Problems) -> tuple[Any, ...]:
    values = tuple(values)
    if len(values) > REPEATED_MAX:
        problems.add(field, f"must have at most {REPEATED_MAX} items")
        return ()
    return tuple(parameter.read(value, f"{field}[{number}]", problems) for number, value in enumerate(values))


def _check_number(value: int, field: str, minimum: int, maximum: int, problems: Problems) -> None:
    if not minimum <= value <= maximum:
        problems.add(field, f"must be {minimum:,} to {maximum:,}", value=value)
