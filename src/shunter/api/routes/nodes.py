"""Handlers and routes of nodes: labels, statistics, drain, cordon. Part of the table in `api.routes.table`."""

from __future__ import annotations

import msgspec

from shunter.api.http import parameters as p
from shunter.api.http.exchange import Exchange, any_json
from shunter.api.http.routing import BASE, AnsweredBy, RequestBody, ResponseSpec, Route
from shunter.model.errors import Invalid, Problem
from shunter.model.job.placement_fields import TIMEOUT_MAX_S
from shunter.model.rest.node_views import NodePage, NodeStatsView, NodeView
from shunter.model.schema.fields import Section, duration
from shunter.model.schema.problems import Problems
from shunter.ports.gateway import CallerGateway

NODE = f"{BASE}/nodes/{{name}}"
NODE_PAGE_MAX = 10_000
REASON_SIZE_MAX = 1024


DRAIN = Section(
    "after the deadline, batch tasks are stopped and queued again; default: wait for them",
    {"deadline": duration(TIMEOUT_MAX_S)},
)


class NodePatch(msgspec.Struct, forbid_unknown_fields=True):
    """Labels and attributes to set; null takes one away."""

    labels: dict[str, str | None] = {}
    attributes: dict[str, str | None] = {}


class Cordon(msgspec.Struct, forbid_unknown_fields=True):
    reason: str = ""


_patch_decoder = msgspec.json.Decoder(NodePatch)
_cordon_decoder = msgspec.json.Decoder(Cordon)


async def list_nodes(gateway: CallerGateway, exchange: Exchange) -> NodePage:
    return await gateway.nodes.page(exchange.query["limit"], exchange.query["after"])


async def get_node(gateway: CallerGateway, exchange: Exchange) -> NodeView:
    return await gateway.nodes.get(exchange.path_params["name"])


async def patch_node(gateway: CallerGateway, exchange: Exchange) -> NodeView:
    patch = await exchange.read_json(_patch_decoder)
    name = exchange.path_params["name"]
    if patch.attributes:
        await gateway.nodes.set_attributes(name, patch.attributes)
    if patch.labels:
        await gateway.nodes.set_labels(name, patch.labels)
    return await gateway.nodes.get(name)


async def get_node_stats(gateway: CallerGateway, exchange: Exchange) -> NodeStatsView:
    return await gateway.nodes.stats(exchange.path_params["name"])


async def drain_node(gateway: CallerGateway, exchange: Exchange) -> NodeView:
    problems = Problems()
    drain = DRAIN.read(await exchange.read_json(any_json, default={}), "", problems)
    problems.raise_any()
    return await gateway.nodes.drain(exchange.path_params["name"], drain["deadline"] or None)


async def undrain_node(gateway: CallerGateway, exchange: Exchange) -> NodeView:
    return await gateway.nodes.undrain(exchange.path_params["name"])


async def cordon_node(gateway: CallerGateway, exchange: Exchange) -> NodeView:
    cordon = await exchange.read_json(_cordon_decoder, default=Cordon())
    if len(cordon.reason) > REASON_SIZE_MAX:
        raise Invalid([Problem("body.reason", f"must be at most {REASON_SIZE_MAX:,} characters")])
    return await gateway.nodes.cordon(exchange.path_params["name"], cordon.reason)


async def uncordon_node(gateway: CallerGateway, exchange: Exchange) -> NodeView:
    return await gateway.nodes.uncordon(exchange.path_params["name"])


async def release_node(gateway: CallerGateway, exchange: Exchange) -> NodeView:
    return await gateway.nodes.release(exchange.path_params["name"])


async def forget_node(gateway: CallerGateway, exchange: Exchange) -> NodeView:
    return await gateway.nodes.forget(exchange.path_params["name"])


NODE_LIMIT = p.int_parameter("limit", "maximum number of items", 1, NODE_PAGE_MAX, NODE_PAGE_MAX)
NODE_RESPONSES = (ResponseSpec(200, NodeView),)

NODE_ROUTES = (
    Route(
        "GET", f"{BASE}/nodes", "listNodes", "List nodes, by name", list_nodes,
        answered_by=AnsweredBy.LEADER, responses=(ResponseSpec(200, NodePage),), errors=(400,),
        query=p.Query((NODE_LIMIT, p.AFTER)),
    ),
    Route(
        "GET", NODE, "getNode", "Get a node", get_node,
        answered_by=AnsweredBy.LEADER, responses=NODE_RESPONSES, errors=(404,),
    ),
    Route(
        "PATCH", NODE, "patchNode", "Change labels and attributes of a node", patch_node,
        responses=NODE_RESPONSES, body=RequestBody(component="NodePatch"), errors=(400, 404, 413),
    ),
    Route(
        "GET", f"{NODE}/stats", "getNodeStats", "Get current statistics of a node and its tasks", get_node_stats,
        answered_by=AnsweredBy.LEADER, responses=(ResponseSpec(200, NodeStatsView),), errors=(404,),
    ),
)  # fmt: skip

NODE_ADMIN_ROUTES = (
    Route(
        "POST", f"{NODE}/drain", "drainNode", "Drain a node", drain_node,
        responses=NODE_RESPONSES, body=RequestBody(component="Drain", required=False), errors=(400, 404, 413),
    ),
    Route(
        "DELETE", f"{NODE}/drain", "undrainNode", "Undrain a node: make it schedulable again", undrain_node,
        responses=NODE_RESPONSES, errors=(404, 409),
    ),
    Route(
        "POST", f"{NODE}/cordon", "cordonNode", "Cordon a node: stop new tasks from starting on it", cordon_node,
        responses=NODE_RESPONSES, body=RequestBody(Cordon, required=False), errors=(400, 404, 409, 413),
    ),
    Route(
        "DELETE", f"{NODE}/cordon", "uncordonNode", "Uncordon a node: make it schedulable again", uncordon_node,
        responses=NODE_RESPONSES, errors=(404, 409),
    ),
    Route(
        "DELETE", f"{NODE}/quarantine", "releaseNode", "Release a node from quarantine", release_node,
        responses=NODE_RESPONSES, errors=(404, 409),
    ),
    Route(
        "POST", f"{NODE}/forget", "forgetNode", "Declare that nothing runs on a down node any more", forget_node,
        responses=NODE_RESPONSES, errors=(404, 409),
    ),
)  # fmt: skip
