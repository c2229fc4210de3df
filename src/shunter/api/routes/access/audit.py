"""Handlers and routes of the audit log. Part of the table in `api.routes.table`."""

from __future__ import annotations

import msgspec

from shunter.api.http import parameters as p
from shunter.api.http.exchange import Exchange
from shunter.api.http.routing import BASE, AnsweredBy, RequestBody, ResponseSpec, Route
from shunter.model.audit.views import AuditLines, AuditPage, RefusedReport
from shunter.model.schema.fields import text
from shunter.ports.gateway import CallerGateway
from shunter.ports.identity import AuditSearch

FILTER_SIZE_MAX = 300
NUMBER_MAX = 10**15
_refused = msgspec.json.Decoder(RefusedReport)


async def list_audit(gateway: CallerGateway, exchange: Exchange) -> AuditPage:
    query = exchange.query
    search = AuditSearch(query["limit"], query["after"], **{name: query[name] or "" for name in _FILTERS})
    return await gateway.audit.page(search)


async def export_audit(gateway: CallerGateway, exchange: Exchange) -> AuditLines:
    return await gateway.audit.lines(exchange.query["after"], exchange.query["limit"])


async def report_refused(gateway: CallerGateway, exchange: Exchange) -> None:
    report = await exchange.read_json(_refused)
    await gateway.audit.note_refused(report.refused[:REFUSED_MAX])


def _filter(name: str, description: str) -> p.Parameter:
    return p.field_parameter(name, description, text(size_max=FILTER_SIZE_MAX))


REFUSED_MAX = 200
_FILTERS = ("user", "tenant", "key", "operation", "source")
_AFTER = p.int_parameter("after", "only records after this number", 0, NUMBER_MAX, 0)
AUDIT_ROUTES = (
    Route(
        "GET", f"{BASE}/audit", "listAudit", "List the records of the audit log, the newest first", list_audit,
        responses=(ResponseSpec(200, AuditPage),), errors=(400,), answered_by=AnsweredBy.LEADER,
        query=p.Query((
            p.LIMIT, p.AFTER,
            _filter("user", "only what this user did"),
            _filter("tenant", "only what users and keys of this tenant did"),
            _filter("key", "only what was done with this API key, by its id"),
            _filter("operation", "only this operation, such as submitJob"),
            _filter("source", "only what came from this address"),
        )),
    ),
    Route(
        "GET", f"{BASE}/audit/lines", "exportAudit", "Get lines of the audit log in order, to check their hashes",
        export_audit, responses=(ResponseSpec(200, AuditLines),), errors=(400,), query=p.Query((p.LIMIT, _AFTER)),
        answered_by=AnsweredBy.LEADER,
    ),
    Route(
        "POST", f"{BASE}/audit/refused", "reportRefused", "For managers: record requests that this one refused",
        report_refused, responses=(ResponseSpec(204),), body=RequestBody(RefusedReport), errors=(400, 413),
        answered_by=AnsweredBy.LEADER,
    ),
)  # fmt: skip
