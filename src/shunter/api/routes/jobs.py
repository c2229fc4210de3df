"""Handlers for jobs and tasks: each turns a request into one call of the gateway."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncGenerator
from dataclasses import replace
from typing import Any

import msgspec

from shunter.api.http.exchange import Exchange, decode_json, encode
from shunter.api.http.references import parse_job_reference, parse_task_reference
from shunter.api.http.routing import Context
from shunter.api.http.streams import OCTETS, log_header, stream_lines, stream_log
from shunter.model.errors import Invalid, Problem
from shunter.model.files.yaml_reader import parse_documents
from shunter.model.rest.views import (
    AttemptPage,
    JobPage,
    JobView,
    SubmittedJob,
    SubmittedJobs,
    TaskPage,
    TaskView,
    WhyView,
)
from shunter.model.schema.problems import format_value
from shunter.model.signals import signal_number
from shunter.ports.gateway import JobQuery, JobReference, LogChunk, LogQuery, TaskQuery, TaskReference

DOCUMENT_SIZE_MAX = 4 * 2**20  # of an object, and in YAML, of which a mebibyte takes a second
BULK_SIZE_MAX = 32 * 2**20
BULK_ITEMS_MAX = 20_000
KEY_PATTERN = r"^[!-~]{1,128}$"
LOG_PIECE_SIZE_MAX = 256 * 2**10
JSON_TYPES = ("", "application/json")
YAML_TYPES = ("application/yaml", "application/x-yaml", "text/yaml")


class BulkSubmit(msgspec.Struct, forbid_unknown_fields=True):
    items: list[Any]


_document_decoder: msgspec.json.Decoder[Any] = msgspec.json.Decoder()
_bulk_decoder = msgspec.json.Decoder(BulkSubmit)
_key_matches = re.compile(KEY_PATTERN).fullmatch


async def submit_job(context: Context, exchange: Exchange) -> None:
    """With `follow`, the job's whole life is this one answer: its first line goes out when the job is committed."""
    key = idempotency_key(exchange)
    document = await read_manifest(exchange)
    submitted = (
        await context.gateway.submit(exchange.caller, [document], namespace=exchange.query["namespace"], key=key)
    )[0]
    job = JobReference(submitted.namespace, submitted.name, submitted.run, submitted.id)
    status = 201 if submitted.created else 200
    if exchange.query["follow"] is None:
        view = await context.gateway.job(exchange.caller, job)
        await exchange.respond(status, encode(view), headers=[(b"location", _location(submitted))])
    else:
        lines = await context.gateway.follow(exchange.caller, job, exchange.query["follow"])
        await stream_lines(exchange, status, lines)


async def submit_jobs(context: Context, exchange: Exchange) -> SubmittedJobs:
    key = idempotency_key(exchange)
    documents = (await exchange.read_json(_bulk_decoder, BULK_SIZE_MAX)).items
    if not 1 <= len(documents) <= BULK_ITEMS_MAX:
        fault = f"must have 1 to {BULK_ITEMS_MAX:,} items"
        raise Invalid([Problem("body.items", fault, format_value(documents), "submit in several requests")])
    namespace = exchange.query["namespace"]
    return SubmittedJobs(await context.gateway.submit(exchange.caller, documents, namespace=namespace, key=key))


async def list_jobs(context: Context, exchange: Exchange) -> JobPage:
    params = exchange.query
    query = JobQuery(params["namespace"], params["state"], params["label"], params["limit"], params["after"])
    return await context.gateway.jobs(exchange.caller, query)


async def get_job(context: Context, exchange: Exchange) -> JobView:
    return await context.gateway.job(exchange.caller, job_of(exchange))


async def stop_job(context: Context, exchange: Exchange) -> None:
    params = exchange.query
    await context.gateway.stop(exchange.caller, job_of(exchange), None, params["now"], signal_number(params["signal"]))


async def list_runs(context: Context, exchange: Exchange) -> JobPage:
    params = exchange.query
    return await context.gateway.runs(exchange.caller, job_of(exchange), params["limit"], params["after"])


async def explain_job(context: Context, exchange: Exchange) -> WhyView:
    return await context.gateway.why(exchange.caller, job_of(exchange))


async def explain_task(context: Context, exchange: Exchange) -> WhyView:
    return await context.gateway.why(exchange.caller, job_of(exchange), _task(exchange))


async def follow_job(context: Context, exchange: Exchange) -> None:
    lines = await context.gateway.follow(exchange.caller, job_of(exchange), exchange.query["mode"])
    await stream_lines(exchange, 200, lines)


async def list_tasks(context: Context, exchange: Exchange) -> TaskPage:
    params = exchange.query
    query = TaskQuery(params["state"], params["limit"], params["after"], params["all"])
    return await context.gateway.tasks(exchange.caller, job_of(exchange), query)


async def get_task(context: Context, exchange: Exchange) -> TaskView:
    return await context.gateway.task(exchange.caller, job_of(exchange), any_task_of(exchange))


async def stop_task(context: Context, exchange: Exchange) -> None:
    params = exchange.query
    signal = signal_number(params["signal"])
    await context.gateway.stop(exchange.caller, job_of(exchange), _task(exchange), params["now"], signal)


async def list_attempts(context: Context, exchange: Exchange) -> AttemptPage:
    return await context.gateway.attempts(exchange.caller, job_of(exchange), any_task_of(exchange))


async def read_log(context: Context, exchange: Exchange) -> None:
    """One piece is answered whole, as most logs are small; more of them, or a followed one, in chunks."""
    params = exchange.query
    size_max = LOG_PIECE_SIZE_MAX if params["limit"] is None else min(params["limit"], LOG_PIECE_SIZE_MAX)
    query = LogQuery(params["stream"], params["offset"], size_max, params["attempt"])
    job, task = job_of(exchange), any_task_of(exchange)
    if params["follow"]:
        pieces = await context.gateway.follow_log(exchange.caller, job, task, query)
        await stream_log(exchange, pieces, params["limit"])
        return
    piece = await context.gateway.read_log(exchange.caller, job, task, query)
    if _is_last(piece, query) or len(piece.data) == params["limit"]:
        await exchange.respond(200, piece.data, OCTETS, [log_header(piece)])
    else:
        await stream_log(exchange, _log_so_far(context, exchange, (job, task), query, piece), params["limit"])


async def _log_so_far(
    context: Context, exchange: Exchange, task: tuple[JobReference, TaskReference], query: LogQuery, piece: LogChunk
) -> AsyncGenerator[LogChunk, None]:
    """This first piece of what a task has written by now, and the others."""
    yield piece
    while not _is_last(piece, query):
        query = replace(query, offset=piece.next_offset)
        piece = await context.gateway.read_log(exchange.caller, *task, query)
        yield piece


def _is_last(piece: LogChunk, query: LogQuery) -> bool:
    """A short piece is the last one by now, unless a hole in the log cut it."""
    is_cut = piece.next_offset > query.offset + len(piece.data)
    return piece.eof or (len(piece.data) < query.size_max and not is_cut)


async def read_manifest(exchange: Exchange) -> object:
    """One document, from JSON or YAML."""
    content_type = (exchange.header(b"content-type") or "").partition(";")[0].strip().lower()
    if content_type in JSON_TYPES:
        return decode_json(await exchange.read_body(BULK_SIZE_MAX), _document_decoder)
    if content_type not in YAML_TYPES:
        fault = "must be application/json or application/yaml"
        raise Invalid([Problem("header.content-type", fault, format_value(content_type))])
    body = await exchange.read_body(DOCUMENT_SIZE_MAX)
    documents = await asyncio.to_thread(parse_documents, body)
    if len(documents) > 1:
        raise Invalid([Problem("body", "has several documents", len(documents), "send them to /api/v1/bulk/jobs")])
    return documents[0]


def idempotency_key(exchange: Exchange) -> str | None:
    key = exchange.header(b"idempotency-key")
    if key is not None and not _key_matches(key):
        fault = "must be 1 to 128 printable ASCII characters without spaces"
        raise Invalid([Problem("header.idempotency-key", fault, format_value(key))])
    return key


def _location(job: SubmittedJob) -> bytes:
    return f"/api/v1/jobs/{job.name}@{job.run}?namespace={job.namespace}".encode()


def job_of(exchange: Exchange) -> JobReference:
    return parse_job_reference(exchange.path_params["job"], exchange.query["namespace"])


def _task(exchange: Exchange) -> TaskReference:
    return parse_task_reference(exchange.path_params["index"], exchange.query["group"])


def any_task_of(exchange: Exchange) -> TaskReference:
    """One that there is now, or one that was replaced."""
    return replace(_task(exchange), piece=exchange.query["piece"])
