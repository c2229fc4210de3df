"""Handlers and routes of long-running jobs: update, scale, roll back, restart, move. Part of the table in
`api.routes.table`."""

from __future__ import annotations

import msgspec

from shunter.api.http import parameters as p
from shunter.api.http.exchange import Exchange
from shunter.api.http.references import parse_task_reference
from shunter.api.http.routing import BASE, RequestBody, ResponseSpec, Route
from shunter.api.routes.jobs import GROUP, IN_JOB, JOB_BODY, job_of, read_manifest
from shunter.model.rest.job_views import JobView
from shunter.model.schema.fields import text
from shunter.model.schema.name_fields import NODE_NAME_SIZE_MAX
from shunter.ports.gateway import CallerGateway
from shunter.ports.principals import TaskReference

JOB = f"{BASE}/jobs/{{job}}"


class Scale(msgspec.Struct, forbid_unknown_fields=True):
    """New counts by group name; "" names the only group."""

    counts: dict[str, int]


class Restart(msgspec.Struct, forbid_unknown_fields=True):
    """All instances, or one."""

    index: int | None = None
    group: str | None = None


class Move(msgspec.Struct, forbid_unknown_fields=True):
    node: str


_scale_decoder = msgspec.json.Decoder(Scale)
_restart_decoder = msgspec.json.Decoder(Restart)
_move_decoder = msgspec.json.Decoder(Move)


async def update_job(gateway: CallerGateway, exchange: Exchange) -> JobView:
    document, params = await read_manifest(exchange), exchange.query
    return await gateway.services.update(job_of(exchange), document, namespace=params["namespace"], node=params["node"])


async def scale_job(gateway: CallerGateway, exchange: Exchange) -> JobView:
    scale = await exchange.read_json(_scale_decoder)
    return await gateway.services.scale(job_of(exchange), scale.counts)


async def roll_back_job(gateway: CallerGateway, exchange: Exchange) -> JobView:
    return await gateway.services.roll_back(job_of(exchange))


async def restart_job(gateway: CallerGateway, exchange: Exchange) -> JobView:
    restart = await exchange.read_json(_restart_decoder, default=Restart())
    task = None if restart.index is None else TaskReference(restart.index, restart.group)
    return await gateway.services.restart(job_of(exchange), task)


async def move_task(gateway: CallerGateway, exchange: Exchange) -> JobView:
    task = parse_task_reference(exchange.path_params["index"], exchange.query["group"])
    move = await exchange.read_json(_move_decoder)
    return await gateway.services.move(job_of(exchange), task, move.node)


ONLY_NODE = p.field_parameter("node", "replace only instances on this node", text(size_max=NODE_NAME_SIZE_MAX))
JOB_RESPONSES = (ResponseSpec(200, JobView, description="it is committed; the rollout follows"),)

SERVICE_ROUTES = (
    Route(
        "PUT", JOB, "updateJob", "Update the spec of a service or system job", update_job,
        responses=JOB_RESPONSES, query=p.Query((p.NAMESPACE, ONLY_NODE)), body=JOB_BODY,
        errors=(400, 404, 409, 413),
    ),
    Route(
        "POST", f"{JOB}/scale", "scaleJob", "Scale a service", scale_job,
        responses=JOB_RESPONSES, query=IN_JOB, body=RequestBody(Scale), errors=(400, 404, 409, 413),
    ),
    Route(
        "POST", f"{JOB}/rollback", "rollBackJob", "Roll back to an earlier stable version", roll_back_job,
        responses=JOB_RESPONSES, query=IN_JOB, errors=(400, 404, 409),
    ),
    Route(
        "POST", f"{JOB}/restart", "restartJob", "Restart instances", restart_job,
        responses=JOB_RESPONSES, query=IN_JOB, body=RequestBody(Restart, required=False),
        errors=(400, 404, 409, 413),
    ),
    Route(
        "POST", f"{JOB}/tasks/{{index}}/move", "moveTask", "Move a task to a node",
        move_task, responses=JOB_RESPONSES, query=p.Query((p.NAMESPACE, GROUP)), body=RequestBody(Move),
        errors=(400, 404, 409, 413),
    ),
)  # fmt: skip
