"""Handlers and routes of the flight recorder. Part of the table in `api.routes.table`."""

from __future__ import annotations

import msgspec

from shunter.api.http import parameters as p
from shunter.api.http.exchange import Exchange
from shunter.api.http.routing import AnsweredBy, RequestBody, ResponseSpec, Route
from shunter.api.http.streams import OCTETS, stream_bytes
from shunter.model.protocol.flight_records import FlightPage
from shunter.model.rest.monitor.decision_views import DecisionDetail, DecisionPage, DecisionReplay, FlightTimeline
from shunter.model.schema.fields import text
from shunter.model.schema.problems import Problems
from shunter.ports.gateway import CallerGateway

FLIGHT = "/api/v1/flight"
DECISION = f"{FLIGHT}/decisions/{{decision}}"
TIMELINE_MAX = 5_000
_DECISION_ID = text(r"^[0-9]{1,18}\.[0-9]{1,18}$", size_max=37, rule="the id of a decision")
ALL = p.bool_parameter("all", "include decisions that changed nothing")


class ReplayChoice(msgspec.Struct, forbid_unknown_fields=True):
    policy: str


_choice_decoder = msgspec.json.Decoder(ReplayChoice)


async def list_segments(gateway: CallerGateway, _exchange: Exchange) -> FlightPage:
    return await gateway.flight.segments()


async def export_records(gateway: CallerGateway, exchange: Exchange) -> None:
    await stream_bytes(exchange, await gateway.flight.records())


async def get_timeline(gateway: CallerGateway, exchange: Exchange) -> FlightTimeline:
    return await gateway.monitor.flight_timeline(exchange.query["limit"], exchange.query["all"])


async def list_decisions(gateway: CallerGateway, exchange: Exchange) -> DecisionPage:
    params = exchange.query
    return await gateway.monitor.decisions(params["limit"], params["after"], params["all"])


async def get_decision(gateway: CallerGateway, exchange: Exchange) -> DecisionDetail:
    return await gateway.monitor.decision(_decision_of(exchange))


async def replay_decision(gateway: CallerGateway, exchange: Exchange) -> DecisionReplay:
    choice = await exchange.read_json(_choice_decoder)
    return await gateway.monitor.replay_decision(_decision_of(exchange), choice.policy)


def _decision_of(exchange: Exchange) -> str:
    id, problems = exchange.path_params["decision"], Problems()
    _DECISION_ID.read(id, "path.decision", problems)
    problems.raise_any()
    return id


FLIGHT_ROUTES = (
    Route(
        "GET", FLIGHT, "listFlight", "List the segments of the flight recorder", list_segments,
        answered_by=AnsweredBy.LEADER, responses=(ResponseSpec(200, FlightPage),),
    ),
    Route(
        "GET", f"{FLIGHT}/records", "exportFlight", "Download all recorded decisions, for `shunter replay`",
        export_records,
        answered_by=AnsweredBy.LEADER,
        responses=(ResponseSpec(200, None, OCTETS.decode(), "a recording"),), errors=(404,),
    ),
    Route(
        "GET", f"{FLIGHT}/timeline", "getFlightTimeline", "Get recorded decisions as columns over time", get_timeline,
        answered_by=AnsweredBy.LEADER, responses=(ResponseSpec(200, FlightTimeline),), errors=(400,),
        query=p.Query((p.int_parameter("limit", "maximum number of decisions", 1, TIMELINE_MAX, 1000), ALL)),
    ),
    Route(
        "GET", f"{FLIGHT}/decisions", "listDecisions", "List recorded decisions, newest first", list_decisions,
        answered_by=AnsweredBy.LEADER, responses=(ResponseSpec(200, DecisionPage),), errors=(400,),
        query=p.Query((
            p.LIMIT,
            p.field_parameter("after", "cursor: `next` of the previous page", _DECISION_ID),
            ALL,
        )),
    ),
    Route(
        "GET", DECISION, "getDecision", "Get a recorded decision, and what the policy saw", get_decision,
        answered_by=AnsweredBy.LEADER, responses=(ResponseSpec(200, DecisionDetail),), errors=(400, 404),
    ),
    Route(
        "POST", f"{DECISION}/replay", "replayDecision", "Let another policy decide on the same input", replay_decision,
        answered_by=AnsweredBy.LEADER, responses=(ResponseSpec(200, DecisionReplay),),
        body=RequestBody(ReplayChoice), errors=(400, 404, 413),
    ),
)  # fmt: skip
