"""Handlers and routes of the flight recorder. Part of the table in `api.routes.table`."""

from __future__ import annotations

from shunter.api.http.exchange import Exchange
from shunter.api.http.routing import AnsweredBy, ResponseSpec, Route
from shunter.api.http.streams import OCTETS, stream_bytes
from shunter.model.protocol.flight_records import FlightPage
from shunter.ports.gateway import CallerGateway

FLIGHT = "/api/v1/flight"


async def list_segments(gateway: CallerGateway, _exchange: Exchange) -> FlightPage:
    return await gateway.flight.segments()


async def export_records(gateway: CallerGateway, exchange: Exchange) -> None:
    await stream_bytes(exchange, await gateway.flight.records())


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
)  # fmt: skip
