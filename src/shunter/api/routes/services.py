"""Handlers for jobs that last: updates, counts, restarts, moves."""

from __future__ import annotations

import msgspec

from shunter.api.http.exchange import Exchange, decode_json
from shunter.api.http.references import parse_job_reference, parse_task_reference
from shunter.api.http.routing import Context
from shunter.api.routes.cluster import SMALL_SIZE_MAX
from shunter.api.routes.jobs import read_manifest
from shunter.model.rest.views import JobView
from shunter.ports.callers import JobReference, TaskReference


class Scale(msgspec.Struct, forbid_unknown_fields=True):
    """New counts by the name of the group; "" is the only one."""

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


async def update_job(context: Context, exchange: Exchange) -> JobView:
    document, params = await read_manifest(exchange), exchange.query
    return await context.gateway.services.update(
        exchange.caller, _job(exchange), document, namespace=params["namespace"], node=params["node"]
    )


async def scale_job(context: Context, exchange: Exchange) -> JobView:
    scale = await exchange.read_json(_scale_decoder, SMALL_SIZE_MAX)
    return await context.gateway.services.scale(exchange.caller, _job(exchange), scale.counts)


async def roll_back_job(context: Context, exchange: Exchange) -> JobView:
    return await context.gateway.services.roll_back(exchange.caller, _job(exchange))


async def restart_job(context: Context, exchange: Exchange) -> JobView:
    body = await exchange.read_body(SMALL_SIZE_MAX)
    restart = decode_json(body, _restart_decoder) if body else Restart()
    task = None if restart.index is None else TaskReference(restart.index, restart.group)
    return await context.gateway.services.restart(exchange.caller, _job(exchange), task)


async def move_task(context: Context, exchange: Exchange) -> JobView:
    task = parse_task_reference(exchange.path_params["index"], exchange.query["group"])
    move = await exchange.read_json(_move_decoder, SMALL_SIZE_MAX)
    return await context.gateway.services.move(exchange.caller, _job(exchange), task, move.node)


def _job(exchange: Exchange) -> JobReference:
    return parse_job_reference(exchange.path_params["job"], exchange.query["namespace"])
