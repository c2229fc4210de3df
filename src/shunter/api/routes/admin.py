"""Handlers and routes of templates, queues and dead letters, and to hold, release and retry jobs. Part of the table in
`api.routes.table`."""

from __future__ import annotations

from typing import Annotated, Any

import msgspec

from shunter.api.http import parameters as p
from shunter.api.http.exchange import Exchange, any_json
from shunter.api.http.references import parse_name
from shunter.api.http.routing import BASE, RequestBody, ResponseSpec, Route
from shunter.api.routes.jobs import IDEMPOTENCY_KEY, IN_JOB, idempotency_key, job_of
from shunter.model.rest.admin_fields import DEAD_LETTER_SELECTOR, QUEUE_PATCH
from shunter.model.rest.admin_views import DeadPage, Purged, QueuePage, QueueView, Replayed, TemplatePage, TemplateView
from shunter.model.rest.job_views import JobView
from shunter.model.schema.fields import Section
from shunter.model.schema.name_fields import NAME
from shunter.model.schema.problems import Problems
from shunter.ports.admin import DeadLetterSelector, DispatchRequest, QueueChange
from shunter.ports.gateway import CallerGateway

DISPATCH_SIZE_MAX = 2 * 2**20  # a payload of a mebibyte in base64, and parameters
BASE64 = "^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$"


class TemplatePatch(msgspec.Struct, forbid_unknown_fields=True):
    paused: bool


class DispatchBody(msgspec.Struct, forbid_unknown_fields=True):
    """A payload is base64 in JSON."""

    parameters: dict[str, str] = {}
    payload: Annotated[bytes, msgspec.Meta(extra_json_schema={"pattern": BASE64})] | None = None


_template_decoder = msgspec.json.Decoder(TemplatePatch)
_dispatch_decoder = msgspec.json.Decoder(DispatchBody)


# ---- jobs ----


async def hold_job(gateway: CallerGateway, exchange: Exchange) -> JobView:
    return await gateway.jobs.hold(job_of(exchange), True)


async def release_job(gateway: CallerGateway, exchange: Exchange) -> JobView:
    return await gateway.jobs.hold(job_of(exchange), False)


async def retry_job(gateway: CallerGateway, exchange: Exchange) -> JobView:
    job, key = job_of(exchange), idempotency_key(exchange)
    return await gateway.jobs.retry(job, exchange.query["failed"], key)


# ---- templates ----


async def list_templates(gateway: CallerGateway, exchange: Exchange) -> TemplatePage:
    params = exchange.query
    return await gateway.templates.page(params["namespace"], params["limit"], params["after"])


async def get_template(gateway: CallerGateway, exchange: Exchange) -> TemplateView:
    return await gateway.templates.get(exchange.query["namespace"], exchange.path_params["template"])


async def patch_template(gateway: CallerGateway, exchange: Exchange) -> TemplateView:
    patch = await exchange.read_json(_template_decoder)
    name = exchange.query["namespace"], exchange.path_params["template"]
    return await gateway.templates.pause(*name, patch.paused)


async def delete_template(gateway: CallerGateway, exchange: Exchange) -> None:
    await gateway.templates.delete(exchange.query["namespace"], exchange.path_params["template"])


async def run_template(gateway: CallerGateway, exchange: Exchange) -> JobView:
    key = idempotency_key(exchange)
    body = await exchange.read_json(_dispatch_decoder, DISPATCH_SIZE_MAX)
    name = exchange.query["namespace"], exchange.path_params["template"]
    request = DispatchRequest(*name, body.parameters, body.payload, key)
    return await gateway.templates.dispatch(request)


# ---- queues ----


async def list_queues(gateway: CallerGateway, _exchange: Exchange) -> QueuePage:
    return await gateway.queues.page()


async def get_queue(gateway: CallerGateway, exchange: Exchange) -> QueueView:
    return await gateway.queues.get(_queue(exchange))


async def patch_queue(gateway: CallerGateway, exchange: Exchange) -> QueueView:
    name = _queue(exchange)
    change = QueueChange(**await _read(exchange, QUEUE_PATCH))
    return await gateway.queues.patch(name, change)


async def delete_queue(gateway: CallerGateway, exchange: Exchange) -> None:
    await gateway.queues.delete(_queue(exchange))


async def purge_queue(gateway: CallerGateway, exchange: Exchange) -> Purged:
    return Purged(await gateway.queues.purge(_queue(exchange)))


def _queue(exchange: Exchange) -> str:
    return parse_name(exchange.path_params["queue"], "path.queue")


# ---- dead letters ----


async def list_dead(gateway: CallerGateway, exchange: Exchange) -> DeadPage:
    params = exchange.query
    scope = params["namespace"], params["job"]
    return await gateway.dead_letters.page(*scope, params["limit"], params["after"])


async def replay_dead(gateway: CallerGateway, exchange: Exchange) -> Replayed:
    return await gateway.dead_letters.replay(await _selector(exchange))


async def purge_dead(gateway: CallerGateway, exchange: Exchange) -> Purged:
    return Purged(await gateway.dead_letters.purge(await _selector(exchange)))


async def _selector(exchange: Exchange) -> DeadLetterSelector:
    return DeadLetterSelector(exchange.query["namespace"], **await _read(exchange, DEAD_LETTER_SELECTOR))


async def _read(exchange: Exchange, section: Section) -> dict[str, Any]:
    problems = Problems()
    found = section.read(await exchange.read_json(any_json), "body", problems)
    problems.raise_any()
    return found


# ---- routes ----

ADMIN_ROUTES = (
    Route(
        "POST", f"{BASE}/jobs/{{job}}/hold", "holdJob", "Hold a job: stop its tasks from starting", hold_job,
        responses=(ResponseSpec(200, JobView),), query=IN_JOB, errors=(400, 404, 409),
    ),
    Route(
        "POST", f"{BASE}/jobs/{{job}}/release", "releaseJob", "Release a held job", release_job,
        responses=(ResponseSpec(200, JobView),), query=IN_JOB, errors=(400, 404, 409),
    ),
    Route(
        "POST", f"{BASE}/jobs/{{job}}/retry", "retryJob", "Run a finished job again, or only its failed tasks",
        retry_job, responses=(ResponseSpec(201, JobView, description="the new run"),), headers=(IDEMPOTENCY_KEY,),
        query=p.Query((p.NAMESPACE, p.bool_parameter("failed", "only the tasks that did not succeed"))),
        errors=(400, 404, 409),
    ),
    Route(
        "GET", f"{BASE}/templates", "listTemplates", "List templates: jobs with schedule or parameters", list_templates,
        is_tagged=True, responses=(ResponseSpec(200, TemplatePage),), errors=(400,),
        query=p.Query((p.NAMESPACES, p.LIMIT, p.AFTER)),
    ),
    Route(
        "GET", f"{BASE}/templates/{{template}}", "getTemplate", "Get a template", get_template,
        is_tagged=True, responses=(ResponseSpec(200, TemplateView),), query=IN_JOB, errors=(400, 404),
    ),
    Route(
        "PATCH", f"{BASE}/templates/{{template}}", "patchTemplate", "Pause or resume a schedule", patch_template,
        responses=(ResponseSpec(200, TemplateView),), query=IN_JOB, body=RequestBody(TemplatePatch),
        errors=(400, 404, 413),
    ),
    Route(
        "DELETE", f"{BASE}/templates/{{template}}", "deleteTemplate", "Delete a template; its runs continue",
        delete_template, responses=(ResponseSpec(204),), query=IN_JOB, errors=(400, 404),
    ),
    Route(
        "POST", f"{BASE}/templates/{{template}}/runs", "runTemplate", "Start a run of a template with parameters",
        run_template, responses=(ResponseSpec(201, JobView, description="the new run"),), query=IN_JOB,
        headers=(IDEMPOTENCY_KEY,), body=RequestBody(DispatchBody), errors=(400, 404, 413),
    ),
    Route(
        "GET", f"{BASE}/queues", "listQueues", "List queues", list_queues,
        responses=(ResponseSpec(200, QueuePage),),
    ),
    Route(
        "GET", f"{BASE}/queues/{{queue}}", "getQueue", "Get a queue", get_queue,
        responses=(ResponseSpec(200, QueueView),), errors=(400, 404),
    ),
    Route(
        "PATCH", f"{BASE}/queues/{{queue}}", "patchQueue", "Pause, resume or limit a queue", patch_queue,
        responses=(ResponseSpec(200, QueueView),), body=RequestBody(component="QueuePatch"), errors=(400, 409, 413),
    ),
    Route(
        "DELETE", f"{BASE}/queues/{{queue}}", "deleteQueue", "Delete the rules of a queue", delete_queue,
        responses=(ResponseSpec(204),), errors=(400, 404),
    ),
    Route(
        "POST", f"{BASE}/queues/{{queue}}/purge", "purgeQueue", "Cancel the queued tasks of a queue", purge_queue,
        responses=(ResponseSpec(200, Purged),), errors=(400,),
    ),
    Route(
        "GET", f"{BASE}/dead", "listDead", "List dead letters: tasks that failed after their last restart", list_dead,
        is_tagged=True, responses=(ResponseSpec(200, DeadPage),), errors=(400,),
        query=p.Query((p.NAMESPACES, p.field_parameter("job", "only of this job", NAME), p.LIMIT, p.AFTER_NUMBER)),
    ),
    Route(
        "POST", f"{BASE}/dead/replay", "replayDead", "Run the tasks of dead letters again", replay_dead,
        responses=(ResponseSpec(201, Replayed),), query=p.Query((p.NAMESPACES,)),
        body=RequestBody(component="DeadChoice"),
        errors=(400, 404, 409, 413),
    ),
    Route(
        "POST", f"{BASE}/dead/purge", "purgeDead", "Delete dead letters", purge_dead,
        responses=(ResponseSpec(200, Purged),), query=p.Query((p.NAMESPACES,)),
        body=RequestBody(component="DeadChoice"),
        errors=(400, 404, 413),
    ),
)  # fmt: skip
