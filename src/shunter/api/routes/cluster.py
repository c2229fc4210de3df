"""Handlers and routes of the cluster: settings, events, health, and the description of this API. Part of the table in
`api.routes.table`."""

from __future__ import annotations

import msgspec

from shunter.api.http import parameters as p
from shunter.api.http.exchange import JSON, Exchange, any_json
from shunter.api.http.references import parse_event_position
from shunter.api.http.routing import BASE, AnsweredBy, RequestBody, ResponseSpec, Route
from shunter.api.http.streams import EVENT_STREAM, stream_events
from shunter.model.errors import Invalid, Problem
from shunter.model.rest.admin_fields import read_cluster_patch
from shunter.model.rest.cluster_views import ClusterInfo, EventPage, StoppingView
from shunter.model.schema.fields import text
from shunter.model.schema.name_fields import NAME
from shunter.ports.admin import EventPosition, EventQuery
from shunter.ports.gateway import CallerGateway

NEWEST_FIRST = "newest"
EVENT_TYPE = p.field_parameter(
    "type", "only events of this type", text(r"^[a-z]+([.-][a-z]+)+$", size_max=63), is_repeated=True
)


class Status(msgspec.Struct):
    status: str


class Down(msgspec.Struct, forbid_unknown_fields=True):
    """Stops the manager and its own worker; with `cluster`, first all other workers and managers."""

    leave_running: bool = False
    cluster: bool = False


_down_decoder = msgspec.json.Decoder(Down)


async def get_health(gateway: CallerGateway, _exchange: Exchange) -> Status:
    """Raises Unavailable with the reason if nothing can be committed; reads may still work."""
    gateway.cluster.check_health()
    return Status("ok")


async def get_openapi(_gateway: CallerGateway, exchange: Exchange) -> None:
    await exchange.respond(200, exchange.context.openapi(), JSON)


async def get_cluster(gateway: CallerGateway, _exchange: Exchange) -> ClusterInfo:
    return await gateway.cluster.info()


async def patch_cluster(gateway: CallerGateway, exchange: Exchange) -> ClusterInfo:
    patch = read_cluster_patch(await exchange.read_json(any_json))
    return await gateway.cluster.update(patch)


async def stop_cluster(gateway: CallerGateway, exchange: Exchange) -> StoppingView:
    down = await exchange.read_json(_down_decoder, default=Down())
    return StoppingView("stopping", await gateway.cluster.stop(down.leave_running, down.cluster))


async def list_events(gateway: CallerGateway, exchange: Exchange) -> EventPage | None:
    """A page, or a stream of new events. A browser that reconnects sends its position in Last-Event-ID."""
    params = exchange.query
    is_newest_first = params["order"] == NEWEST_FIRST
    query = EventQuery(
        params["namespace"], params["job"], params["limit"], _after(exchange), params["type"], is_newest_first
    )
    is_followed = params["follow"] or EVENT_STREAM.decode() in (exchange.header(b"accept") or "")
    if is_followed and (is_newest_first or query.types):
        raise Invalid([Problem("query.follow", "follows all events in their order", fix="leave out order and type")])
    if is_followed:
        await stream_events(exchange, await gateway.events.subscribe(query), exchange.context.heartbeat_s)
        return None
    return await gateway.events.page(query)


def _after(exchange: Exchange) -> EventPosition | None:
    last = exchange.header(b"last-event-id")
    if last is not None:
        return parse_event_position(last, "header.last-event-id")
    after: EventPosition | None = exchange.query["after"]
    return after


CLUSTER_ROUTES = (
    Route(
        "GET", "/healthz", "getHealth", "Check whether the manager responds and can commit", get_health,
        answered_by=AnsweredBy.RECEIVER, responses=(ResponseSpec(200, Status),), public=True, errors=(503,),
    ),
    Route(
        "GET", f"{BASE}/openapi.json", "getOpenApi", "Get this OpenAPI document", get_openapi,
        answered_by=AnsweredBy.RECEIVER, responses=(ResponseSpec(200, dict),),
    ),
    Route(
        "GET", f"{BASE}/cluster", "getCluster", "Get an overview of the cluster", get_cluster,
        answered_by=AnsweredBy.LEADER, responses=(ResponseSpec(200, ClusterInfo),),
    ),
    Route(
        "PATCH", f"{BASE}/cluster", "patchCluster", "Change settings of the running cluster", patch_cluster,
        responses=(ResponseSpec(200, ClusterInfo),), body=RequestBody(component="ClusterPatch"),
        errors=(400, 409, 413),
    ),
    Route(
        "POST", f"{BASE}/cluster/down", "stopCluster", "Stop the manager, or the whole cluster", stop_cluster,
        answered_by=AnsweredBy.RECEIVER, responses=(ResponseSpec(202, StoppingView, description="it is stopping"),),
        body=RequestBody(Down, required=False), errors=(400, 413),
    ),
)  # fmt: skip

EVENT_ROUTES = (
    Route(
        "GET", f"{BASE}/events", "listEvents", "List events, or stream them", list_events,
        responses=(
            ResponseSpec(200, EventPage),
            ResponseSpec(
                200, None, "text/event-stream", description="id: VERSION-N, event: the type, data: an event as JSON",
            ),
        ),
        query=p.Query((
            p.namespace_parameter("*", all_allowed=True),
            p.field_parameter("job", "only events of the job with this name", NAME),
            p.event_parameter("after", "only events after this one: VERSION-N, or VERSION for a whole version"),
            p.LIMIT,
            EVENT_TYPE,
            p.enum_parameter("order", "the order of a page", ("oldest", NEWEST_FIRST), "oldest"),
            p.bool_parameter("follow", "stream server-sent events, from now on or after `after`"),
        )),
        headers=(p.event_parameter("Last-Event-ID", "same as `after`; browsers send it when they reconnect"),),
        errors=(400, 404),
    ),
)  # fmt: skip
