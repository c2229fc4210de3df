"""Handlers for the upkeep of nodes: drains, cordons, quarantine."""

from __future__ import annotations

from typing import Any

import msgspec

from shunter.api.http.exchange import Exchange, decode_json
from shunter.api.http.routing import Context
from shunter.api.routes.cluster import SMALL_SIZE_MAX
from shunter.model.errors import Invalid, Problem
from shunter.model.job.placement_fields import TIMEOUT_MAX_S
from shunter.model.rest.views import NodeView
from shunter.model.schema.fields import Section, duration
from shunter.model.schema.problems import Problems

REASON_SIZE_MAX = 1024


DRAIN = Section(
    "past the deadline, batch tasks are stopped and queued again; without one, they are waited for",
    {"deadline": duration(TIMEOUT_MAX_S)},
)


class Cordon(msgspec.Struct, forbid_unknown_fields=True):
    reason: str = ""


_document_decoder: msgspec.json.Decoder[Any] = msgspec.json.Decoder()
_cordon_decoder = msgspec.json.Decoder(Cordon)


async def drain_node(context: Context, exchange: Exchange) -> NodeView:
    body = await exchange.read_body(SMALL_SIZE_MAX)
    problems = Problems()
    drain = DRAIN.read(decode_json(body, _document_decoder) if body else {}, "", problems)
    problems.raise_any()
    return await context.gateway.node_admin.drain(
        exchange.caller, exchange.path_params["name"], drain["deadline"] or None
    )


async def undrain_node(context: Context, exchange: Exchange) -> NodeView:
    return await context.gateway.node_admin.undrain(exchange.caller, exchange.path_params["name"])


async def cordon_node(context: Context, exchange: Exchange) -> NodeView:
    body = await exchange.read_body(SMALL_SIZE_MAX)
    cordon = decode_json(body, _cordon_decoder) if body else Cordon()
    if len(cordon.reason) > REASON_SIZE_MAX:
        raise Invalid([Problem("body.reason", f"must be at most {REASON_SIZE_MAX:,} characters")])
    return await context.gateway.node_admin.cordon(exchange.caller, exchange.path_params["name"], cordon.reason)


async def uncordon_node(context: Context, exchange: Exchange) -> NodeView:
    return await context.gateway.node_admin.uncordon(exchange.caller, exchange.path_params["name"])


async def release_node(context: Context, exchange: Exchange) -> NodeView:
    return await context.gateway.node_admin.release(exchange.caller, exchange.path_params["name"])
