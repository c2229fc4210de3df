"""Handlers and routes to apply manifests of any kind, and to read deleted Schedulings. Part of the table in
`api.routes.table`."""

from __future__ import annotations

import msgspec

from shunter.api.http import parameters as p
from shunter.api.http.exchange import Exchange
from shunter.api.http.routing import BASE, RequestBody, ResponseSpec, Route
from shunter.api.routes.jobs import KEY_PATTERN, idempotency_key
from shunter.api.routes.objects import MANIFEST_CONTENT_TYPES, read_documents, render_object
from shunter.model.errors import Invalid, Problem
from shunter.model.identity.roles import check_permission
from shunter.model.objects.objects import KINDS, kind_of
from shunter.model.rest.job_views import SubmittedJob
from shunter.model.rest.object_views import (
    AppliedPage,
    AppliedView,
    ObjectView,
    PastPage,
    PastSchedulingView,
    past_page,
    past_view,
)
from shunter.model.schema.fields import text
from shunter.model.schema.name_fields import NAME
from shunter.ports.gateway import CallerGateway
from shunter.ports.objects import Applied, PastQuery


async def apply_documents(gateway: CallerGateway, exchange: Exchange) -> AppliedPage:
    """All documents or none. Jobs are submitted, objects applied."""
    key = idempotency_key(exchange)
    documents = await read_documents(exchange)
    for document in documents:
        check_permission(gateway.caller.roles, _operation_for(document))
    namespace = exchange.query["namespace"]
    found = await gateway.jobs.apply_file(documents, namespace=namespace, key=key)
    return AppliedPage([_submitted(each) if isinstance(each, SubmittedJob) else _applied(each) for each in found])


def _operation_for(document: object) -> str:
    """Whoever may apply a document may also create or replace what it describes. What is no object is a Job."""
    kind = document.get("kind") if isinstance(document, dict) else None
    return f"replace{kind}" if kind in KINDS else "submitJob"


def _submitted(job: SubmittedJob) -> AppliedView:
    action = "created" if job.created else "configured" if job.updated else "unchanged"
    return AppliedView(kind="Job", namespace=job.namespace, name=job.name, action=action, job=job)


def _applied(applied: Applied) -> AppliedView:
    meta = applied.object.meta
    return AppliedView(
        kind=kind_of(applied.object),
        namespace=meta.namespace,
        name=meta.name,
        action=applied.action,
        object=msgspec.convert(render_object(applied.object), ObjectView),
    )


async def list_past(gateway: CallerGateway, exchange: Exchange) -> PastPage:
    params = exchange.query
    query = PastQuery(params["namespace"], params["name"], params["limit"], params["after"])
    return past_page(await gateway.objects.past_schedulings(query))


async def get_past(gateway: CallerGateway, exchange: Exchange) -> PastSchedulingView:
    uid = exchange.path_params["uid"]
    if not (uid.isascii() and uid.isdecimal() and len(uid) <= 18):
        raise Invalid([Problem("path.uid", "must be the uid of a Scheduling", uid[:80])])
    return past_view(await gateway.objects.past_scheduling(int(uid)))


IDEMPOTENCY_KEY = p.field_parameter(
    "Idempotency-Key",
    "for Jobs: a repeated key returns the result of the first request",
    text(KEY_PATTERN, size_max=128),
)

APPLY_ROUTES = (
    Route(
        "POST", f"{BASE}/apply", "applyDocuments", "Apply manifests of any kind, all or none", apply_documents,
        responses=(ResponseSpec(200, AppliedPage, description="all are committed"),),
        query=p.Query((p.NAMESPACE,)),
        headers=(IDEMPOTENCY_KEY,), body=RequestBody(component="Manifests", content_types=MANIFEST_CONTENT_TYPES),
        errors=(400, 409, 413),
    ),
)  # fmt: skip

PAST_QUERY = p.Query(
    (p.NAMESPACES, p.field_parameter("name", "only those with this name", NAME), p.LIMIT, p.AFTER_NUMBER)
)
PAST_ROUTES = (
    Route(
        "GET", f"{BASE}/schedulings/past", "listPastSchedulings", "List deleted Schedulings, newest first",
        list_past, responses=(ResponseSpec(200, PastPage),), errors=(400,), query=PAST_QUERY,
    ),
    Route(
        "GET", f"{BASE}/schedulings/past/{{uid}}", "getPastScheduling", "Get a deleted Scheduling",
        get_past, responses=(ResponseSpec(200, PastSchedulingView),), errors=(400, 404),
    ),
)  # fmt: skip
