"""Handlers and routes of jobs and tasks. Each handler turns a request into one call of the gateway. Part of the table
in `api.routes.table`."""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator, Iterable
from dataclasses import replace
from typing import Any

import msgspec

from shunter.api.http import parameters as p
from shunter.api.http.exchange import Exchange, any_json, encode
from shunter.api.http.references import parse_job_reference, parse_task_reference
from shunter.api.http.routing import BASE, AnsweredBy, RequestBody, ResponseSpec, Route
from shunter.api.http.streams import OCTETS, log_header, stream_lines, stream_log
from shunter.model.errors import Invalid, Problem
from shunter.model.job.spec import BATCH, LONG_RUNNING, PER_NODE
from shunter.model.lifecycles import JobState, TaskState
from shunter.model.rest.job_views import (
    AttemptPage,
    FollowLine,
    JobPage,
    JobView,
    SubmittedJob,
    SubmittedJobs,
    TaskPage,
    TaskView,
)
from shunter.model.rest.plan_views import WhyView
from shunter.model.schema.fields import text
from shunter.model.schema.name_fields import NAME
from shunter.model.schema.problems import format_value
from shunter.model.signals import SIGNALS, signal_number
from shunter.ports.gateway import CallerGateway
from shunter.ports.jobs import JOB_ORDERS, NEWEST, JobQuery, LogChunk, LogQuery, StreamService, TaskQuery
from shunter.ports.principals import JobReference, TaskReference

DOCUMENT_SIZE_MAX = 4 * 2**20  # of an object
BULK_SIZE_MAX = 32 * 2**20
BULK_ITEMS_MAX = 20_000
KEY_PATTERN = r"^[!-~]{1,128}$"
LOG_CHUNK_SIZE_MAX = 256 * 2**10
TASK_PAGE_MAX = 10_000
OFFSET_MAX = 2**53
ATTEMPT_MAX = 2**31
TASK_SET_NUMBER_MAX = 2**31
JSON_TYPES = ("", "application/json")
YAML_TYPES = ("application/yaml", "application/x-yaml", "text/yaml")


class BulkSubmit(msgspec.Struct, forbid_unknown_fields=True):
    items: list[Any]


_bulk_decoder = msgspec.json.Decoder(BulkSubmit)
_key_matches = re.compile(KEY_PATTERN).fullmatch


async def submit_job(gateway: CallerGateway, exchange: Exchange) -> None:
    """With `follow`, the answer streams the job to its end; its first line goes out when the job is committed."""
    key = idempotency_key(exchange)
    document = await read_manifest(exchange)
    jobs = gateway.jobs
    [submitted] = await jobs.submit([document], namespace=exchange.query["namespace"], key=key)
    job = JobReference(submitted.namespace, submitted.name, submitted.run, submitted.id)
    status = 201 if submitted.created else 200
    if exchange.query["follow"] is None:
        view = await jobs.get(job)
        await exchange.respond(status, encode(view), headers=[(b"location", _location(submitted))])
    else:
        lines = await gateway.streams.follow_job(job, exchange.query["follow"])
        await stream_lines(exchange, status, lines)


async def submit_jobs(gateway: CallerGateway, exchange: Exchange) -> SubmittedJobs:
    key = idempotency_key(exchange)
    documents = (await exchange.read_json(_bulk_decoder, BULK_SIZE_MAX)).items
    if not 1 <= len(documents) <= BULK_ITEMS_MAX:
        fault = f"must have 1 to {BULK_ITEMS_MAX:,} items"
        raise Invalid([Problem("body.items", fault, format_value(documents), "submit in several requests")])
    namespace = exchange.query["namespace"]
    return SubmittedJobs(await gateway.jobs.submit(documents, namespace=namespace, key=key))


async def list_jobs(gateway: CallerGateway, exchange: Exchange) -> JobPage:
    params = exchange.query
    query = JobQuery(
        params["namespace"], params["state"], params["label"], params["limit"], params["after"], params["q"] or "",
        params["queue"], params["user"], params["type"], params["since"], params["sort"],
    )  # fmt: skip
    page = await gateway.jobs.page(query)
    _drop_tag_of_services(exchange, page.items)
    return page


async def get_job(gateway: CallerGateway, exchange: Exchange) -> JobView:
    view = await gateway.jobs.get(job_of(exchange))
    _drop_tag_of_services(exchange, [view])
    return view


async def stop_job(gateway: CallerGateway, exchange: Exchange) -> None:
    params = exchange.query
    await gateway.jobs.stop(job_of(exchange), None, params["now"], signal_number(params["signal"]))


async def list_runs(gateway: CallerGateway, exchange: Exchange) -> JobPage:
    params = exchange.query
    page = await gateway.jobs.runs(job_of(exchange), params["limit"], params["after"])
    _drop_tag_of_services(exchange, page.items)
    return page


async def explain_job(gateway: CallerGateway, exchange: Exchange) -> WhyView:
    return await gateway.explain.why(job_of(exchange))


async def explain_task(gateway: CallerGateway, exchange: Exchange) -> WhyView:
    return await gateway.explain.why(job_of(exchange), _task(exchange))


async def follow_job(gateway: CallerGateway, exchange: Exchange) -> None:
    lines = await gateway.streams.follow_job(job_of(exchange), exchange.query["mode"])
    await stream_lines(exchange, 200, lines)


async def list_tasks(gateway: CallerGateway, exchange: Exchange) -> TaskPage:
    params = exchange.query
    query = TaskQuery(params["state"], params["limit"], params["after"], params["all"])
    return await gateway.tasks.page(job_of(exchange), query)


async def get_task(gateway: CallerGateway, exchange: Exchange) -> TaskView:
    return await gateway.tasks.get(job_of(exchange), any_task_of(exchange))


async def stop_task(gateway: CallerGateway, exchange: Exchange) -> None:
    params = exchange.query
    signal = signal_number(params["signal"])
    await gateway.jobs.stop(job_of(exchange), _task(exchange), params["now"], signal)


async def list_attempts(gateway: CallerGateway, exchange: Exchange) -> AttemptPage:
    return await gateway.tasks.attempts(job_of(exchange), any_task_of(exchange))


async def read_log(gateway: CallerGateway, exchange: Exchange) -> None:
    """A log of one piece is answered whole, as most are small; a longer or a followed one is streamed."""
    params = exchange.query
    size_max = LOG_CHUNK_SIZE_MAX if params["limit"] is None else min(params["limit"], LOG_CHUNK_SIZE_MAX)
    query = LogQuery(params["stream"], params["offset"], size_max, params["attempt"])
    job, task = job_of(exchange), any_task_of(exchange)
    if params["follow"]:
        pieces = await gateway.streams.follow_log(job, task, query)
        await stream_log(exchange, pieces, params["limit"])
        return
    piece = await gateway.streams.read_log(job, task, query)
    if _is_last(piece, query) or len(piece.data) == params["limit"]:
        await exchange.respond(200, piece.data, OCTETS, [log_header(piece)])
    else:
        await stream_log(exchange, _log_so_far(gateway.streams, (job, task), query, piece), params["limit"])


async def _log_so_far(
    streams: StreamService, task: tuple[JobReference, TaskReference], query: LogQuery, piece: LogChunk
) -> AsyncGenerator[LogChunk, None]:
    """What a task has written so far: this first piece, and the others."""
    yield piece
    while not _is_last(piece, query):
        query = replace(query, offset=piece.next_offset)
        piece = await streams.read_log(*task, query)
        yield piece


def _is_last(piece: LogChunk, query: LogQuery) -> bool:
    """A short piece is the last one by now, unless a hole in the log cut it."""
    is_cut = piece.next_offset > query.offset + len(piece.data)
    return piece.eof or (len(piece.data) < query.size_max and not is_cut)


async def read_manifest(exchange: Exchange) -> object:
    """One document, from JSON or YAML."""
    documents = await read_manifests(exchange)
    if len(documents) > 1:
        raise Invalid([Problem("body", "has several documents", len(documents), "send them to /api/v1/bulk/jobs")])
    return documents[0]


async def read_manifests(exchange: Exchange) -> list[object]:
    """One document of JSON, or one or several of YAML."""
    if exchange.content_type in JSON_TYPES:
        return [await exchange.read_json(any_json, BULK_SIZE_MAX)]
    if exchange.content_type not in YAML_TYPES:
        fault = "must be application/json or application/yaml"
        raise Invalid([Problem("header.content-type", fault, format_value(exchange.content_type))])
    return await exchange.read_yaml(BULK_SIZE_MAX)


def idempotency_key(exchange: Exchange) -> str | None:
    key = exchange.header(b"idempotency-key")
    if key is not None and not _key_matches(key):
        fault = "must be 1 to 128 printable ASCII characters without spaces"
        raise Invalid([Problem("header.idempotency-key", fault, format_value(key))])
    return key


def _drop_tag_of_services(exchange: Exchange, views: Iterable[JobView]) -> None:
    """Whether a restarted task of a service is healthy again depends on the clock, so the state alone does not tell."""
    if any(view.update is not None for view in views):
        exchange.tag = None


def _location(job: SubmittedJob) -> bytes:
    return f"/api/v1/jobs/{job.name}@{job.run}?namespace={job.namespace}".encode()


def job_of(exchange: Exchange) -> JobReference:
    return parse_job_reference(exchange.path_params["job"], exchange.query["namespace"])


def _task(exchange: Exchange) -> TaskReference:
    return parse_task_reference(exchange.path_params["index"], exchange.query["group"])


def any_task_of(exchange: Exchange) -> TaskReference:
    """A current task, or one that was replaced."""
    return replace(_task(exchange), piece=exchange.query["piece"])


# ---- routes ----

TASK_LIMIT = p.int_parameter("limit", "maximum number of items", 1, TASK_PAGE_MAX, 1000)
JOB_STATE = p.enum_parameter(
    "state", "only items in this state", [state.wire_name for state in JobState], is_repeated=True
)
TASK_STATE = p.enum_parameter(
    "state", "only items in this state", [state.wire_name for state in TaskState], is_repeated=True
)
WITH_REPLACED = p.bool_parameter("all", "include replaced tasks of a service, before the others")
JOB_FILTERS = (
    p.field_parameter("q", "only jobs with this text in their name", text(size_max=253)),
    p.field_parameter("queue", "only jobs of this queue", NAME),
    p.field_parameter("user", "only jobs of this user", text(size_max=253)),
    p.enum_parameter("type", "only jobs of this type", sorted({BATCH, *LONG_RUNNING, *PER_NODE})),
    p.time_parameter("since", "only jobs that were submitted since then"),
    p.enum_parameter("sort", "the order; others than newest need unfinished states", JOB_ORDERS, NEWEST),
)
NOW = p.bool_parameter("now", "kill immediately, without a grace period")
SIGNAL = p.enum_parameter("signal", "signal to send instead of TERM", list(SIGNALS))
FOLLOW_MODES = ("end", "progress", "logs")
IDEMPOTENCY_KEY = p.field_parameter(
    "Idempotency-Key",
    "a repeated key returns the result of the first request",
    text(KEY_PATTERN, size_max=128),
)

IN_JOB = p.Query((p.NAMESPACE,))
GROUP = p.field_parameter("group", "group of the task, if the job has several", NAME)
TASK_SET_NUMBER = p.int_parameter(
    "piece", "for a replaced task of a service: the number after its ~", 0, TASK_SET_NUMBER_MAX
)
IN_TASK = p.Query((p.NAMESPACE, GROUP))
IN_ANY_TASK = p.Query((p.NAMESPACE, GROUP, TASK_SET_NUMBER))
JOB_BODY = RequestBody(component="Job", content_types=("application/json", "application/yaml"))
FOLLOW_DESCRIPTION = "lines: the job, then progress or log, then its end"

JOB_ROUTES = (
    Route(
        "POST", f"{BASE}/jobs", "submitJob", "Submit a job, and optionally follow it", submit_job,
        responses=(
            ResponseSpec(201, JobView, description="the job is committed"),
            ResponseSpec(
                200, JobView, description="the same key, or an unfinished job with the same spec, already exists",
            ),
            ResponseSpec(201, FollowLine, "application/x-ndjson", description=FOLLOW_DESCRIPTION),
            ResponseSpec(200, FollowLine, "application/x-ndjson", description=FOLLOW_DESCRIPTION),
        ),
        query=p.Query((p.NAMESPACE, p.enum_parameter("follow", "follow the job as NDJSON", FOLLOW_MODES))),
        headers=(IDEMPOTENCY_KEY,), body=JOB_BODY, errors=(400, 409, 413),
    ),
    Route(
        "POST", f"{BASE}/bulk/jobs", "submitJobs", "Submit many jobs, all or none", submit_jobs,
        responses=(ResponseSpec(201, SubmittedJobs, description="all are committed"),),
        query=IN_JOB, headers=(IDEMPOTENCY_KEY,), body=RequestBody(component="BulkSubmit"), errors=(400, 409, 413),
    ),
    Route(
        "GET", f"{BASE}/jobs", "listJobs", "List or search jobs, newest first", list_jobs,
        is_tagged=True, responses=(ResponseSpec(200, JobPage),), errors=(400,),
        query=p.Query((p.NAMESPACES, JOB_STATE, p.label_parameter(), p.LIMIT, p.AFTER_JOB, *JOB_FILTERS)),
    ),
    Route(
        "GET", f"{BASE}/jobs/{{job}}", "getJob", "Get a job", get_job,
        is_tagged=True, responses=(ResponseSpec(200, JobView),), query=IN_JOB, errors=(400, 404),
    ),
    Route(
        "DELETE", f"{BASE}/jobs/{{job}}", "stopJob", "Stop a job; no effect on a finished job", stop_job,
        responses=(ResponseSpec(204),), query=p.Query((p.NAMESPACE, NOW, SIGNAL)), errors=(400, 404),
    ),
    Route(
        "GET", f"{BASE}/jobs/{{job}}/runs", "listRuns", "List all runs of a job name, newest first", list_runs,
        is_tagged=True, responses=(ResponseSpec(200, JobPage),), errors=(400, 404),
        query=p.Query((p.NAMESPACE, p.LIMIT, p.AFTER_NUMBER)),
    ),
    Route(
        "GET", f"{BASE}/jobs/{{job}}/why", "explainJob", "Explain the state of a job", explain_job,
        answered_by=AnsweredBy.LEADER, responses=(ResponseSpec(200, WhyView),), query=IN_JOB, errors=(400, 404),
    ),
    Route(
        "GET", f"{BASE}/jobs/{{job}}/tasks/{{index}}/why", "explainTask", "Explain the state of a task",
        explain_task,
        answered_by=AnsweredBy.LEADER, responses=(ResponseSpec(200, WhyView),), query=IN_TASK, errors=(400, 404),
    ),
)  # fmt: skip

# Apart from the others because plans stand between them in the OpenAPI document.
TASK_ROUTES = (
    Route(
        "GET", f"{BASE}/jobs/{{job}}/follow", "followJob", "Follow a job as NDJSON until it ends", follow_job,
        responses=(ResponseSpec(200, FollowLine, "application/x-ndjson", description=FOLLOW_DESCRIPTION),),
        errors=(400, 404),
        query=p.Query((p.NAMESPACE, p.enum_parameter("mode", "what to report besides the end", FOLLOW_MODES, "end"))),
    ),
    Route(
        "GET", f"{BASE}/jobs/{{job}}/tasks", "listTasks", "List the tasks of a job, by index", list_tasks,
        is_tagged=True, responses=(ResponseSpec(200, TaskPage),), errors=(400, 404),
        query=p.Query((p.NAMESPACE, TASK_STATE, TASK_LIMIT, p.AFTER_TASK, WITH_REPLACED)),
    ),
    Route(
        "GET", f"{BASE}/jobs/{{job}}/tasks/{{index}}", "getTask", "Get a task", get_task,
        is_tagged=True, responses=(ResponseSpec(200, TaskView),), query=IN_ANY_TASK, errors=(400, 404),
    ),
    Route(
        "DELETE", f"{BASE}/jobs/{{job}}/tasks/{{index}}", "stopTask", "Stop a task", stop_task,
        responses=(ResponseSpec(204),), query=p.Query((p.NAMESPACE, GROUP, NOW, SIGNAL)), errors=(400, 404),
    ),
    Route(
        "GET", f"{BASE}/jobs/{{job}}/tasks/{{index}}/attempts", "listAttempts", "List task attempts", list_attempts,
        is_tagged=True, responses=(ResponseSpec(200, AttemptPage),), query=IN_ANY_TASK, errors=(400, 404),
    ),
    Route(
        "GET", f"{BASE}/jobs/{{job}}/tasks/{{index}}/logs", "readLog", "Get output of a task, as raw bytes", read_log,
        answered_by=AnsweredBy.LEADER, responses=(
            ResponseSpec(
                200, None, "application/octet-stream", description="X-Log-Truncated tells whether it was cut",
            ),
        ),
        errors=(400, 404, 410),
        query=p.Query((
            p.NAMESPACE,
            GROUP,
            TASK_SET_NUMBER,
            p.enum_parameter("stream", "output stream", ("stdout", "stderr"), "stdout"),
            p.int_parameter("offset", "offset of the first byte", 0, OFFSET_MAX, 0),
            p.int_parameter("limit", "maximum number of bytes", 0, OFFSET_MAX),
            p.int_parameter("attempt", "attempt number; default: the latest", 1, ATTEMPT_MAX),
            p.bool_parameter("follow", "keep streaming until the task has ended"),
        )),
    ),
)  # fmt: skip
