"""Handlers and routes of Testbeds, BatchJobs and Schedulings. Part of the table in `api.routes.table`.

Each kind has its own handlers and descriptions, because the kind is a part of the path. All kinds have the same paths,
those of Kubernetes, below /api/v1."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from dataclasses import dataclass
from typing import NoReturn

from shunter.api.http import parameters as p
from shunter.api.http.exchange import Exchange, any_json, encode
from shunter.api.http.references import parse_name
from shunter.api.http.routing import BASE, AnsweredBy, RequestBody, ResponseSpec, Route
from shunter.api.http.streams import stream_watch
from shunter.api.routes.jobs import BULK_SIZE_MAX, DOCUMENT_SIZE_MAX, JSON_TYPES, YAML_TYPES
from shunter.model.errors import Conflict, Invalid, NotFound, Problem
from shunter.model.job.job_fields import API_VERSION as NATIVE_API_VERSION
from shunter.model.objects.batch_jobs import BatchJob
from shunter.model.objects.documents import object_document
from shunter.model.objects.object_fields import (
    CLAIM_LABELS,
    READ_ONLY_METADATA,
    READ_ONLY_SPEC,
    RESOURCE_VERSION_DIGITS_MAX,
)
from shunter.model.objects.object_manifests import check_external
from shunter.model.objects.object_meta import Document, ObjectName
from shunter.model.objects.objects import API_VERSIONS, BATCH_JOB, PLURALS, TESTBED, Object, ObjectEvent
from shunter.model.rest.merge_patch import merge_patch
from shunter.model.rest.object_views import ObjectList, ObjectView, WatchLine
from shunter.model.rest.plan_views import WhyView
from shunter.model.schema.fields import text
from shunter.model.schema.name_fields import NAME
from shunter.model.schema.problems import Problems, format_value
from shunter.ports.gateway import CallerGateway
from shunter.ports.objects import ObjectQuery
from shunter.testbeds.conditions import conditions_of
from shunter.testbeds.unused_fields import unused_fields

GROUP_VERSION = f"{BASE}/apis/{{group}}/{{version}}"
IN_NAMESPACE = f"{GROUP_VERSION}/namespaces/{{namespace}}"
PATCH_TYPES = (*JSON_TYPES, "application/merge-patch+json")
PATCH_TRIES_MAX = 8  # the status may change between reading and writing
ANY_KIND = "Object"
ABSENT_VERSION = "0"  # the version of an object that does not exist


@dataclass(frozen=True, slots=True)
class ObjectHandlers:
    """The handlers of one kind. ANY_KIND has only lists, of all kinds."""

    kind: str

    async def list_or_watch(self, gateway: CallerGateway, exchange: Exchange) -> Document | None:
        params, version = exchange.query, api_version_of(exchange, self.kind)
        kind = None if self.kind == ANY_KIND else self.kind
        namespace = _namespace(exchange) if "namespace" in exchange.path_params else None
        query = ObjectQuery(kind, namespace, params["name"])
        if params["watch"]:
            after = None if params["resourceVersion"] is None else int(params["resourceVersion"])
            events = await gateway.objects.watch(query, after)
            await stream_watch(exchange, _lines(events, version), exchange.context.heartbeat_s)
            return None
        page = await gateway.objects.objects(query)
        return {
            "apiVersion": version,
            "kind": f"{self.kind}List",
            "metadata": {"resourceVersion": str(page.revision)},
            "items": [render_object(each, version) for each in page.items],
            "next": None,
            "total": len(page.items),
        }

    async def get(self, gateway: CallerGateway, exchange: Exchange) -> Document:
        version, name = api_version_of(exchange, self.kind), object_name_of(exchange)
        found = await gateway.objects.object(self.kind, name)
        return render_object(found, version)

    async def create(self, gateway: CallerGateway, exchange: Exchange) -> Document:
        version, namespace = api_version_of(exchange, self.kind), _namespace(exchange)
        document = await _read_document(exchange, JSON_TYPES)
        document = _with_path_identity(document, self.kind, namespace, None)
        document["metadata"].setdefault("resourceVersion", ABSENT_VERSION)
        [applied] = await gateway.objects.apply([document], namespace=namespace)
        return render_object(applied.object, version)

    async def replace(self, gateway: CallerGateway, exchange: Exchange) -> None:
        """Creates the object if it does not exist and the document names no version."""
        version, name = api_version_of(exchange, self.kind), object_name_of(exchange)
        document = _with_path_identity(await _read_document(exchange, JSON_TYPES), self.kind, name.namespace, name.name)
        [applied] = await gateway.objects.apply([document], namespace=name.namespace)
        status = 201 if applied.action == "created" else 200
        await exchange.respond(status, encode(render_object(applied.object, version)))

    async def patch(self, gateway: CallerGateway, exchange: Exchange) -> Document:
        """Read, patch and write again if the object has changed in between, unless the patch itself names a version."""
        version, name = api_version_of(exchange, self.kind), object_name_of(exchange)
        patch = await _read_document(exchange, PATCH_TYPES)
        objects, is_pinned = gateway.objects, "resourceVersion" in (patch.get("metadata") or {})
        for tries_left in reversed(range(PATCH_TRIES_MAX)):
            current = object_document(await objects.object(self.kind, name))
            patched = merge_patch(_user_fields(current), patch)
            document = _with_path_identity(patched, self.kind, name.namespace, name.name)
            try:
                [applied] = await objects.apply([document], namespace=name.namespace)
            except Conflict:
                if is_pinned or not tries_left:
                    raise
            else:
                return render_object(applied.object, version)
        raise AssertionError

    async def delete(self, gateway: CallerGateway, exchange: Exchange) -> Document:
        version, name = api_version_of(exchange, self.kind), object_name_of(exchange)
        revision = exchange.query["resourceVersion"]
        based_on = None if revision is None else int(revision)
        deleted = await gateway.objects.delete(self.kind, name, based_on)
        return render_object(deleted, version)

    async def explain(self, gateway: CallerGateway, exchange: Exchange) -> WhyView:
        api_version_of(exchange, self.kind)
        return await gateway.explain.why_object(self.kind, object_name_of(exchange))

    async def reset(self, gateway: CallerGateway, exchange: Exchange) -> Document:
        version, name = api_version_of(exchange, self.kind), object_name_of(exchange)
        return render_object(await gateway.objects.reset(name), version)

    async def write_external(self, gateway: CallerGateway, exchange: Exchange) -> Document:
        version, name = api_version_of(exchange, self.kind), object_name_of(exchange)
        data = check_external(await exchange.read_json(any_json, DOCUMENT_SIZE_MAX), "body")
        changed = await gateway.objects.write_external(name, data)
        return render_object(changed, version)


async def _lines(events: AsyncGenerator[ObjectEvent, None], api_version: str) -> AsyncGenerator[Document, None]:
    async for event in events:
        document = render_object(event.object, api_version)
        document["metadata"]["resourceVersion"] = str(event.revision)  # of deleted ones too: a watch can go on from it
        yield {"type": event.action, "object": document} | ({"more": True} if event.more else {})


def render_object(each: Object, api_version: str = API_VERSIONS[0]) -> Document:
    """An object as a document, with its conditions and unused fields."""
    unused = unused_fields(each) if isinstance(each, BatchJob) else ()
    return object_document(each, api_version=api_version, conditions=conditions_of(each), unused=unused)


# ---- paths and bodies ----


def api_version_of(exchange: Exchange, kind: str) -> str:
    version = f"{exchange.path_params['group']}/{exchange.path_params['version']}"
    known = (*API_VERSIONS, NATIVE_API_VERSION) if kind == TESTBED else API_VERSIONS
    if version not in known:
        raise NotFound(f"kind {kind} does not exist in {version[:100]}; use {', '.join(known)}")
    return version


def _namespace(exchange: Exchange) -> str:
    return parse_name(exchange.path_params["namespace"], "path.namespace")


def object_name_of(exchange: Exchange) -> ObjectName:
    return ObjectName(_namespace(exchange), parse_name(exchange.path_params["object"], "path.object"))


async def _read_document(exchange: Exchange, json_types: tuple[str, ...]) -> Document:
    """One mapping, from JSON or, where the types of JSON are those of a manifest, from YAML."""
    [document, *extra] = await read_documents(exchange, DOCUMENT_SIZE_MAX, json_types)
    if extra:
        _refuse("body", "has several documents", len(extra) + 1, "send them to /api/v1/apply")
    if not isinstance(document, dict):
        _refuse("body", "must be a mapping", document, None)
    return document


async def read_documents(
    exchange: Exchange, size_max: int = BULK_SIZE_MAX, json_types: tuple[str, ...] = JSON_TYPES
) -> list[object]:
    """All documents of a body. JSON has one, or several as `items`."""
    content_type = exchange.content_type
    if content_type not in (*json_types, *YAML_TYPES):
        known = ", ".join((*filter(None, json_types), YAML_TYPES[0]))
        _refuse("header.content-type", f"must be one of {known}", content_type, None)
    if content_type in YAML_TYPES:
        return await exchange.read_yaml(size_max)
    document = await exchange.read_json(any_json, size_max)
    if isinstance(document, dict) and isinstance(document.get("items"), list):
        if not document["items"]:
            _refuse("body.items", "is empty", document["items"], "send at least one manifest")
        return list(document["items"])
    return [document]


def _with_path_identity(document: Document, kind: str, namespace: str, name: str | None) -> Document:
    """The document with kind, namespace and name from the path. Raises Invalid if they differ in the document."""
    metadata = document.get("metadata", {})
    if not isinstance(metadata, dict):
        _refuse("metadata", "must be a mapping", metadata, None)
    problems = Problems()
    for path, actual, expected in (
        ("kind", document.get("kind", kind), kind),
        ("metadata.namespace", metadata.get("namespace") or namespace, namespace),
        ("metadata.name", metadata.get("name", name), name or metadata.get("name")),
    ):
        if actual != expected:
            problems.add(path, f"must be {expected}, as in the path", value=actual)
    problems.raise_any()
    merged_metadata = metadata | {"namespace": namespace} | ({} if name is None else {"name": name})
    return document | {"kind": kind, "metadata": merged_metadata}


def _user_fields(document: Document) -> Document:
    """The fields that users write, and the version that they are based on."""
    metadata = {key: value for key, value in document["metadata"].items() if key not in READ_ONLY_METADATA}
    if "labels" in metadata:
        metadata["labels"] = {key: value for key, value in metadata["labels"].items() if key not in CLAIM_LABELS}
    spec = {key: value for key, value in document["spec"].items() if key not in READ_ONLY_SPEC}
    return {key: value for key, value in document.items() if key != "status"} | {"metadata": metadata, "spec": spec}


def _refuse(field: str, message: str, value: object, fix: str | None) -> NoReturn:
    raise Invalid([Problem(field, message, format_value(value), fix)])


# ---- routes ----

MANIFEST_CONTENT_TYPES = ("application/json", "application/yaml")
PATCH_CONTENT_TYPES = ("application/merge-patch+json", "application/json")
_VERSION = text(
    rf"^[0-9]{{1,{RESOURCE_VERSION_DIGITS_MAX}}}$", size_max=RESOURCE_VERSION_DIGITS_MAX, rule="a resourceVersion"
)
LIST_OR_WATCH_QUERY = p.Query((
    p.bool_parameter("watch", "stream changes as NDJSON instead of a list"),
    p.field_parameter("name", "only objects with this name", NAME),
    p.field_parameter("resourceVersion", "for a watch: changes after this version; default: from now on", _VERSION),
))  # fmt: skip
PRECONDITION_QUERY = p.Query((p.field_parameter("resourceVersion", "only if this is the current version", _VERSION),))
LIST_OR_WATCH_RESPONSES = (
    ResponseSpec(200, ObjectList),
    ResponseSpec(
        200, WatchLine, "application/x-ndjson", description="one JSON object per line; empty lines are heartbeats"
    ),
)
OBJECT_RESPONSES = (ResponseSpec(200, ObjectView),)


def _routes_of(plural: str, kind: str) -> tuple[Route, ...]:
    """Reading and writing one kind of objects."""
    handlers, kind_plural = ObjectHandlers(kind), f"{kind}s"
    collection_path, object_path = f"{IN_NAMESPACE}/{plural}", f"{IN_NAMESPACE}/{plural}/{{object}}"
    manifest = RequestBody(component=kind, content_types=MANIFEST_CONTENT_TYPES)
    return (
        Route(
            "GET", f"{GROUP_VERSION}/{plural}", f"listAll{kind_plural}",
            f"List or watch {kind_plural} of all namespaces",
            handlers.list_or_watch, responses=LIST_OR_WATCH_RESPONSES, query=LIST_OR_WATCH_QUERY,
            is_tagged=True, errors=(400, 404, 410),
        ),
        Route(
            "GET", collection_path, f"list{kind_plural}", f"List or watch {kind_plural} of a namespace",
            handlers.list_or_watch, responses=LIST_OR_WATCH_RESPONSES, query=LIST_OR_WATCH_QUERY,
            is_tagged=True, errors=(400, 404, 410),
        ),
        Route(
            "POST", collection_path, f"create{kind}", f"Create a {kind}", handlers.create,
            responses=(ResponseSpec(201, ObjectView, description="it is committed"),), body=manifest,
            errors=(400, 404, 409, 413),
        ),
        Route(
            "GET", object_path, f"get{kind}", f"Get a {kind}", handlers.get, responses=OBJECT_RESPONSES,
            is_tagged=True, errors=(400, 404),
        ),
        Route(
            "PUT", object_path, f"replace{kind}", f"Create or replace a {kind}", handlers.replace,
            responses=(*OBJECT_RESPONSES, ResponseSpec(201, ObjectView, description="it was created")),
            body=manifest, errors=(400, 404, 409, 413),
        ),
        Route(
            "PATCH", object_path, f"patch{kind}", f"Change some fields of a {kind}", handlers.patch,
            responses=OBJECT_RESPONSES,
            body=RequestBody(component="MergePatch", content_types=PATCH_CONTENT_TYPES), errors=(400, 404, 409, 413),
        ),
        Route(
            "DELETE", object_path, f"delete{kind}", f"Delete a {kind}; its claims are released first",
            handlers.delete,
            responses=(ResponseSpec(200, ObjectView, description="the deleted object"),), query=PRECONDITION_QUERY,
            errors=(400, 404, 409),
        ),
        Route(
            "GET", f"{object_path}/why", f"explain{kind}", f"Explain the state of a {kind}", handlers.explain,
            answered_by=AnsweredBy.LEADER, responses=(ResponseSpec(200, WhyView),), errors=(400, 404),
        ),
    )  # fmt: skip


_ANY_HANDLERS, _BATCH_JOB_HANDLERS = ObjectHandlers(ANY_KIND), ObjectHandlers(BATCH_JOB)
_BATCH_JOB_PATH = f"{IN_NAMESPACE}/batchjobs/{{object}}"

OBJECT_ROUTES = (
    *(route for plural, kind in PLURALS.items() for route in _routes_of(plural, kind)),
    Route(
        "GET", f"{GROUP_VERSION}/objects", "listAllObjects", "List or watch objects of all kinds and namespaces",
        _ANY_HANDLERS.list_or_watch, responses=LIST_OR_WATCH_RESPONSES, query=LIST_OR_WATCH_QUERY,
        is_tagged=True, errors=(400, 404, 410),
    ),
    Route(
        "GET", f"{IN_NAMESPACE}/objects", "listObjects", "List or watch objects of all kinds in a namespace",
        _ANY_HANDLERS.list_or_watch, responses=LIST_OR_WATCH_RESPONSES, query=LIST_OR_WATCH_QUERY,
        is_tagged=True, errors=(400, 404, 410),
    ),
    Route(
        "POST", f"{_BATCH_JOB_PATH}/reset", "resetBatchJob", "Reset a failed BatchJob to Ready",
        _BATCH_JOB_HANDLERS.reset,
        responses=OBJECT_RESPONSES, errors=(400, 404, 409),
    ),
    Route(
        "PATCH", f"{_BATCH_JOB_PATH}/external", "writeExternal", "Replace some keys of externalScheduler",
        _BATCH_JOB_HANDLERS.write_external, responses=OBJECT_RESPONSES, body=RequestBody(component="External"),
        errors=(400, 404, 409, 413),
    ),
)  # fmt: skip
