"""Handlers and routes of tenants. Part of the table in `api.routes.table`."""

from __future__ import annotations

from typing import Any

from shunter.api.http import parameters as p
from shunter.api.http.exchange import Exchange, any_json
from shunter.api.http.references import parse_name
from shunter.api.http.routing import BASE, RequestBody, ResponseSpec, Route
from shunter.model.rest.identity_fields import TENANT_CREATE, TENANT_PATCH
from shunter.model.rest.identity_views import TenantPage, TenantView
from shunter.model.schema.fields import Section
from shunter.model.schema.problems import Problems
from shunter.ports.gateway import CallerGateway
from shunter.ports.identity import TenantChange


async def list_tenants(gateway: CallerGateway, exchange: Exchange) -> TenantPage:
    return await gateway.tenants.page(exchange.query["limit"], exchange.query["after"])


async def get_tenant(gateway: CallerGateway, exchange: Exchange) -> TenantView:
    return await gateway.tenants.get(_name(exchange))


async def create_tenant(gateway: CallerGateway, exchange: Exchange) -> TenantView:
    body = await _read(exchange, TENANT_CREATE)
    return await gateway.tenants.create(body["name"], _change(body))


async def patch_tenant(gateway: CallerGateway, exchange: Exchange) -> TenantView:
    return await gateway.tenants.update(_name(exchange), _change(await _read(exchange, TENANT_PATCH)))


async def delete_tenant(gateway: CallerGateway, exchange: Exchange) -> None:
    await gateway.tenants.delete(_name(exchange))


def _name(exchange: Exchange) -> str:
    return parse_name(exchange.path_params["tenant"], "path.tenant")


def _change(body: dict[str, Any]) -> TenantChange:
    return TenantChange(body["namespaces"], body["queues"], body["quotas"])


async def _read(exchange: Exchange, section: Section) -> dict[str, Any]:
    problems = Problems()
    found = section.read(await exchange.read_json(any_json, default={}), "body", problems)
    problems.raise_any()
    return found


ANSWER = (ResponseSpec(200, TenantView),)
TENANT_ROUTES = (
    Route(
        "GET", f"{BASE}/tenants", "listTenants", "List tenants", list_tenants,
        responses=(ResponseSpec(200, TenantPage),), query=p.Query((p.LIMIT, p.AFTER)), errors=(400,),
    ),
    Route(
        "POST", f"{BASE}/tenants", "createTenant", "Create a tenant, with a namespace and a queue of its own name",
        create_tenant, responses=(ResponseSpec(201, TenantView),), body=RequestBody(component="TenantCreate"),
        errors=(400, 409, 413),
    ),
    Route(
        "GET", f"{BASE}/tenants/{{tenant}}", "getTenant", "Get a tenant: what it owns, its quotas and their use",
        get_tenant, responses=ANSWER, errors=(400, 404),
    ),
    Route(
        "PATCH", f"{BASE}/tenants/{{tenant}}", "patchTenant", "Change what a tenant owns, or its quotas", patch_tenant,
        responses=ANSWER, body=RequestBody(component="TenantPatch"), errors=(400, 404, 409, 413),
    ),
    Route(
        "DELETE", f"{BASE}/tenants/{{tenant}}", "deleteTenant", "Delete a tenant that has nothing left", delete_tenant,
        responses=(ResponseSpec(204),), errors=(400, 404, 409),
    ),
)  # fmt: skip
