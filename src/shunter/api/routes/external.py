"""Handlers and routes of /external: the External-Scheduler-Interface. Part of the table in `api.routes.table`. The
external listener serves only these.

A trailing `/` in these paths is ignored, because clients of the reference implementation send one."""

from __future__ import annotations

from typing import Annotated, Any

import msgspec

from shunter.api.http import parameters as p
from shunter.api.http.exchange import SESSION_HEADER, Exchange, any_json
from shunter.api.http.references import parse_name
from shunter.api.http.routing import AnsweredBy, RequestBody, ResponseSpec, Route
from shunter.api.routes.apply import PAST_QUERY, list_past
from shunter.api.routes.jobs import DOCUMENT_SIZE_MAX
from shunter.api.routes.metrics import METRICS_RESPONSES, RUN, STEP
from shunter.model.errors import NotFound
from shunter.model.objects.batch_jobs import BatchJob
from shunter.model.objects.object_meta import ObjectName
from shunter.model.objects.objects import BATCH_JOB, SCHEDULING, TESTBED, Object
from shunter.model.objects.schedulings import Scheduling
from shunter.model.objects.testbeds import Testbed
from shunter.model.rest.external_fields import read_job, read_scheduling
from shunter.model.rest.external_views import (
    ExternalBatchJob,
    ExternalScheduling,
    ExternalTestbed,
    SchedulerSessionView,
    external_batch_job,
    external_scheduling,
    external_testbed,
)
from shunter.model.rest.metric_views import MetricsView
from shunter.model.rest.object_views import PastPage
from shunter.model.schema.fields import text
from shunter.model.schema.name_fields import NAME
from shunter.ports.gateway import CallerGateway
from shunter.ports.objects import ObjectQuery

BASE = "/external"


# ---- testbeds ----


async def list_testbeds(gateway: CallerGateway, exchange: Exchange) -> list[ExternalTestbed]:
    return [
        external_testbed(each) for each in await _list_objects(gateway, exchange, TESTBED) if isinstance(each, Testbed)
    ]


async def get_testbed(gateway: CallerGateway, exchange: Exchange) -> ExternalTestbed:
    found = await _get_object(gateway, exchange, TESTBED)
    assert isinstance(found, Testbed)
    return external_testbed(found)


# ---- jobs ----


async def list_jobs(gateway: CallerGateway, exchange: Exchange) -> dict[str, ExternalBatchJob]:
    jobs = await _list_objects(gateway, exchange, BATCH_JOB)
    return {each.meta.name: external_batch_job(each) for each in jobs if isinstance(each, BatchJob)}


async def get_job(gateway: CallerGateway, exchange: Exchange) -> ExternalBatchJob:
    return external_batch_job(await _job(gateway, _object_name(exchange)))


async def get_job_metrics(gateway: CallerGateway, exchange: Exchange) -> MetricsView:
    """The same as for its manifest, under /api."""
    name, params = _object_name(exchange), exchange.query
    return await gateway.metrics.batch_job_metrics(name, params["run"], params["step"])


async def write_job(gateway: CallerGateway, exchange: Exchange) -> ExternalBatchJob:
    """The name is in the path or in the body. Each key is written on its own, so that schedulers with different keys do
    not overwrite each other."""
    in_path = _object_name(exchange).name if "object" in exchange.path_params else None
    body = await exchange.read_json(any_json, DOCUMENT_SIZE_MAX)
    job_name, external = read_job(body, in_path)
    name = ObjectName(exchange.query["namespace"], job_name)
    if external is None:
        return external_batch_job(await _job(gateway, name))
    return external_batch_job(await gateway.objects.write_external(name, external))


async def _job(gateway: CallerGateway, name: ObjectName) -> BatchJob:
    found = await gateway.objects.object(BATCH_JOB, name)
    assert isinstance(found, BatchJob)
    return found


# ---- schedulings ----


async def list_schedulings(gateway: CallerGateway, exchange: Exchange) -> list[ExternalScheduling]:
    found = await _list_objects(gateway, exchange, SCHEDULING)
    return [external_scheduling(each) for each in found if isinstance(each, Scheduling)]


async def get_scheduling(gateway: CallerGateway, exchange: Exchange) -> ExternalScheduling:
    return _scheduling(await _get_object(gateway, exchange, SCHEDULING))


async def post_scheduling(gateway: CallerGateway, exchange: Exchange) -> ExternalScheduling:
    """Creates a Scheduling, or replaces the one of that name."""
    namespace = exchange.query["namespace"]
    document = read_scheduling(await exchange.read_json(any_json, DOCUMENT_SIZE_MAX), namespace)
    [applied] = await gateway.objects.apply([document], namespace=namespace)
    return _scheduling(applied.object)


async def delete_scheduling(gateway: CallerGateway, exchange: Exchange) -> ExternalScheduling | None:
    """Answers with the deleted Scheduling. If there is none: 404 or, as in the reference implementation, 304."""
    name = _object_name(exchange)
    try:
        return _scheduling(await gateway.objects.delete(SCHEDULING, name))
    except NotFound:
        if not exchange.context.absent_is_304:
            raise
        await exchange.respond(304)
        return None


def _scheduling(found: Object) -> ExternalScheduling:
    assert isinstance(found, Scheduling)
    return external_scheduling(found)


# ---- sessions ----


class SessionBody(msgspec.Struct, forbid_unknown_fields=True):
    name: Annotated[str, msgspec.Meta(extra_json_schema=NAME.schema)]
    mode: Annotated[str, msgspec.Meta(extra_json_schema={"enum": ["lead", "shadow"]})] = "lead"


_session_body = msgspec.json.Decoder(SessionBody)


async def open_session(gateway: CallerGateway, exchange: Exchange) -> SchedulerSessionView:
    body = await exchange.read_json(_session_body)
    return await gateway.schedulers.open_rest(body.name, body.mode)


async def renew_session(gateway: CallerGateway, exchange: Exchange) -> SchedulerSessionView:
    return await gateway.schedulers.renew_rest(exchange.path_params["scheduler"], _session_token(exchange))


async def close_session(gateway: CallerGateway, exchange: Exchange) -> None:
    await gateway.schedulers.close_rest(exchange.path_params["scheduler"], _session_token(exchange))


def _session_token(exchange: Exchange) -> str:
    return exchange.header(SESSION_HEADER) or ""


# ---- changes ----


async def get_sockjs_info(_gateway: CallerGateway, _exchange: Exchange) -> dict[str, Any]:
    from shunter.api.stomp.sockjs import info

    return info()


# ---- names ----


async def _list_objects(gateway: CallerGateway, exchange: Exchange, kind: str) -> tuple[Object, ...]:
    query = ObjectQuery(kind, exchange.query["namespace"])
    return (await gateway.objects.objects(query)).items


async def _get_object(gateway: CallerGateway, exchange: Exchange, kind: str) -> Object:
    return await gateway.objects.object(kind, _object_name(exchange))


def _object_name(exchange: Exchange) -> ObjectName:
    return ObjectName(exchange.query["namespace"], parse_name(exchange.path_params["object"], "path.object"))


# ---- routes ----

IN_NAMESPACE = p.Query((p.NAMESPACE,))
TIMESTAMP = p.Query((p.field_parameter("t", "any text; clients send the time", text(size_max=64)),))
JOB = RequestBody(component="ExternalJobBody")
SESSION = p.field_parameter(
    "Shunter-Scheduler",
    "the token of the session; any other request that has it renews the lease too",
    text(size_max=64),
)
JOB_WRITTEN = (ResponseSpec(200, ExternalBatchJob, description="it is committed"),)

EXTERNAL_ROUTES = (
    Route(
        "GET", f"{BASE}/testbeds", "listExternalTestbeds", "List Testbeds and their slots", list_testbeds,
        responses=(ResponseSpec(200, list[ExternalTestbed]),), query=IN_NAMESPACE, errors=(400,),
    ),
    Route(
        "GET", f"{BASE}/testbeds/{{object}}", "getExternalTestbed", "Get a Testbed and its slots", get_testbed,
        responses=(ResponseSpec(200, ExternalTestbed),), query=IN_NAMESPACE, errors=(400, 404),
    ),
    Route(
        "GET", f"{BASE}/jobs", "listExternalJobs", "List BatchJobs by name", list_jobs,
        responses=(ResponseSpec(200, dict[str, ExternalBatchJob]),), query=IN_NAMESPACE, errors=(400,),
    ),
    Route(
        "PUT", f"{BASE}/jobs", "writeExternalJob", "Replace some keys of a BatchJob's externalScheduler",
        write_job, responses=JOB_WRITTEN, query=IN_NAMESPACE, body=JOB, errors=(400, 404, 409, 413),
    ),
    Route(
        "GET", f"{BASE}/jobs/{{object}}", "getExternalJob", "Get a BatchJob", get_job,
        responses=(ResponseSpec(200, ExternalBatchJob),), query=IN_NAMESPACE, errors=(400, 404),
    ),
    Route(
        "GET", f"{BASE}/jobs/{{object}}/metrics", "getExternalJobMetrics",
        "Get the metrics of a BatchJob run, by node and by slot", get_job_metrics,
        answered_by=AnsweredBy.LEADER, responses=METRICS_RESPONSES,
        query=p.Query((p.NAMESPACE, RUN, STEP)), errors=(400, 404),
    ),
    Route(
        "PUT", f"{BASE}/jobs/{{object}}", "writeExternalJobByName", "Replace some keys of its externalScheduler",
        write_job, responses=JOB_WRITTEN, query=IN_NAMESPACE, body=JOB, errors=(400, 404, 409, 413),
    ),
    Route(
        "GET", f"{BASE}/schedulings", "listExternalSchedulings", "Schedulings", list_schedulings,
        responses=(ResponseSpec(200, list[ExternalScheduling]),), query=IN_NAMESPACE, errors=(400,),
    ),
    Route(
        "POST", f"{BASE}/schedulings", "postExternalScheduling", "Create or replace a Scheduling",
        post_scheduling, responses=(ResponseSpec(200, ExternalScheduling, description="it is committed"),),
        query=IN_NAMESPACE, body=RequestBody(component="ExternalSchedulingBody"), errors=(400, 409, 413),
    ),
    Route(
        "GET", f"{BASE}/schedulings/{{object}}", "getExternalScheduling", "Get a Scheduling", get_scheduling,
        responses=(ResponseSpec(200, ExternalScheduling),), query=IN_NAMESPACE, errors=(400, 404),
    ),
    Route(
        "DELETE", f"{BASE}/schedulings/{{object}}", "deleteExternalScheduling",
        "Delete a Scheduling, stop its jobs and release its slots", delete_scheduling,
        responses=(ResponseSpec(200, ExternalScheduling, description="it as it was"),), query=IN_NAMESPACE, errors=(400,
        404, 409),
    ),
    Route(
        "GET", f"{BASE}/past-schedulings", "listExternalPastSchedulings", "List deleted Schedulings, newest first",
        list_past, responses=(ResponseSpec(200, PastPage),), query=PAST_QUERY, errors=(400,),
    ),
    Route(
        "POST", f"{BASE}/sessions", "openExternalSession", "Open a session of a scheduler, with a lease", open_session,
        responses=(ResponseSpec(201, SchedulerSessionView, description="send its token with each request"),),
        body=RequestBody(SessionBody), errors=(400, 413),
    ),
    Route(
        "PUT", f"{BASE}/sessions/{{scheduler}}", "renewExternalSession", "Renew the lease of a session", renew_session,
        responses=(ResponseSpec(200, SchedulerSessionView),), headers=(SESSION,), errors=(400, 404, 409),
    ),
    Route(
        "DELETE", f"{BASE}/sessions/{{scheduler}}", "closeExternalSession", "Close a session", close_session,
        responses=(ResponseSpec(204, description="the scheduler is gone"),), headers=(SESSION,), errors=(400, 404, 409),
    ),
    Route(
        "GET", "/scheduler/info", "getSockJsInfo", "Get the SockJS connection options, before the WebSocket",
        get_sockjs_info, responses=(ResponseSpec(200, dict),), query=TIMESTAMP, errors=(400,), public=True,
    ),
)  # fmt: skip
