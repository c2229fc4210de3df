"""Handlers for the cluster as a whole: nodes, events, health, and this API's own description."""

from __future__ import annotations

from typing import Any

import msgspec

from shunter.api.http.exchange import JSON, Exchange, decode_json
from shunter.api.http.references import parse_event_position
from shunter.api.http.routing import Context
from shunter.api.http.streams import EVENT_STREAM, stream_events
from shunter.model.rest import cluster_fields
from shunter.model.rest.views import ClusterInfo, EventPage, NodePage, NodeStatsView, NodeView
from shunter.ports.gateway import EventPosition, EventQuery

SMALL_SIZE_MAX = 64 * 2**10


class Status(msgspec.Struct):
    status: str


class Down(msgspec.Struct, forbid_unknown_fields=True):
    leave_running: bool = False


class NodePatch(msgspec.Struct, forbid_unknown_fields=True):
    """Labels and attributes to set; null takes one away."""

    labels: dict[str, str | None] = {}
    attributes: dict[str, str | None] = {}


_down_decoder = msgspec.json.Decoder(Down)
_document_decoder: msgspec.json.Decoder[Any] = msgspec.json.Decoder()
_patch_decoder = msgspec.json.Decoder(NodePatch)


async def get_health(_context: Context, _exchange: Exchange) -> Status:
    return Status("ok")


async def get_openapi(context: Context, exchange: Exchange) -> None:
    await exchange.respond(200, context.openapi(), JSON)


async def get_cluster(context: Context, exchange: Exchange) -> ClusterInfo:
    return await context.gateway.cluster(exchange.caller)


async def patch_cluster(context: Context, exchange: Exchange) -> ClusterInfo:
    patch = cluster_fields.read_patch(await exchange.read_json(_document_decoder, SMALL_SIZE_MAX))
    return await context.gateway.update_cluster(exchange.caller, patch)


async def stop_cluster(context: Context, exchange: Exchange) -> Status:
    body = await exchange.read_body(SMALL_SIZE_MAX)
    down = decode_json(body, _down_decoder) if body else Down()
    await context.gateway.down(exchange.caller, down.leave_running)
    return Status("stopping")


async def list_nodes(context: Context, exchange: Exchange) -> NodePage:
    return await context.gateway.nodes(exchange.caller, exchange.query["limit"], exchange.query["after"])


async def get_node(context: Context, exchange: Exchange) -> NodeView:
    return await context.gateway.node(exchange.caller, exchange.path_params["name"])


async def patch_node(context: Context, exchange: Exchange) -> NodeView:
    patch = await exchange.read_json(_patch_decoder, SMALL_SIZE_MAX)
    caller, name = exchange.caller, exchange.path_params["name"]
    if patch.attributes:
        await context.gateway.node_admin.set_attributes(caller, name, patch.attributes)
    if patch.labels:
        await context.gateway.label_node(caller, name, patch.labels)
    return await context.gateway.node(caller, name)


async def get_node_stats(context: Context, exchange: Exchange) -> NodeStatsView:
    return await context.gateway.node_stats(exchange.caller, exchange.path_params["name"])


async def list_events(context: Context, exchange: Exchange) -> EventPage | None:
    """A page, or the stream of all that follows. A browser that reconnects sends its place in Last-Event-ID."""
    params = exchange.query
    query = EventQuery(params["namespace"], params["job"], params["limit"], _after(exchange))
    if params["follow"] or EVENT_STREAM.decode() in (exchange.header(b"accept") or ""):
        await stream_events(exchange, await context.gateway.subscribe(exchange.caller, query), context.heartbeat_s)
        return None
    return await context.gateway.events(exchange.caller, query)


def _after(exchange: Exchange) -> EventPosition | None:
    last = exchange.header(b"last-event-id")
    if last is not None:
        return parse_event_position(last, "header.last-event-id")
    after: EventPosition | None = exchange.query["after"]
    return after
