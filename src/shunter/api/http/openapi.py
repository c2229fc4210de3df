"""Builds the OpenAPI 3.1 document from the route table, the views and the schema of manifests."""

from __future__ import annotations

from collections.abc import Iterable
from http import HTTPStatus
from typing import Any

import msgspec

from shunter.api.browser.session_cookies import COOKIE_PREFIX
from shunter.api.http.parameters import Parameter, field_parameter
from shunter.api.http.problems import CONTENT_TYPE, ProblemDocument
from shunter.api.http.references import JOB_PATTERN
from shunter.api.http.routing import RequestBody, ResponseSpec, Route
from shunter.api.routes import nodes
from shunter.api.routes.jobs import BULK_ITEMS_MAX
from shunter.api.routes.plans import PLAN_JOBS_MAX
from shunter.model.files.yaml_reader import DOCUMENTS_MAX
from shunter.model.job.arrays import INDEX_MAX
from shunter.model.job.job_fields import API_VERSION as NATIVE_API_VERSION
from shunter.model.job.manifests import job_schema
from shunter.model.objects.object_fields import EXTERNAL
from shunter.model.objects.object_manifests import object_schema
from shunter.model.objects.objects import GROUP, GROUP_ALIAS, KINDS, VERSION
from shunter.model.rest import admin_fields, external_fields, identity_fields, secret_fields
from shunter.model.schema.fields import text
from shunter.model.schema.name_fields import LABELS, NAME

Document = dict[str, Any]

NATIVE, NATIVE_VERSION = NATIVE_API_VERSION.split("/")
API_VERSION = "1.0"  # of the contract, not of the software
REFERENCE = "#/components/schemas/{name}"
ETAG: Document = {
    "description": "of the state that is shown; absent if time alone changes the answer",
    "schema": {"type": "string"},
}
SESSION_SCHEME: Document = {
    "type": "apiKey",
    "in": "cookie",
    "name": COOKIE_PREFIX,
    "description": "set by createSession; its name ends with a number of the cluster",
}
IF_NONE_MATCH = field_parameter("If-None-Match", "ETag of the answer that the client has", text(size_max=8192))
ALWAYS_POSSIBLE = (401, 403, 429, 500, 503)
PATH_PARAMETERS: dict[str, Document] = {
    "job": {"description": "NAME, NAME@RUN or id:NUMBER", "schema": {"type": "string", "pattern": JOB_PATTERN}},
    "index": {
        "description": "index of a task, as in SHUNTER_TASK_INDEX",
        "schema": {"type": "integer", "minimum": 0, "maximum": INDEX_MAX},
    },
    "template": {"description": "name of a template", "schema": {"type": "string", "minLength": 1}},
    "queue": {"description": "name of a queue", "schema": NAME.schema},
    "user": {"description": "name of a user", "schema": NAME.schema},
    "token": {"description": "id of a join token", "schema": NAME.schema},
    "tenant": {"description": "name of a tenant", "schema": NAME.schema},
    "key": {"description": "id of an API key", "schema": NAME.schema},
    "secret": {"description": "name of a secret", "schema": NAME.schema},
    "decision": {
        "description": "id of a recorded decision",
        "schema": {"type": "string", "pattern": r"^[0-9]{1,18}\.[0-9]{1,18}$"},
    },
    "scheduler": {"description": "name of a scheduler", "schema": NAME.schema},
    "name": {"description": "name of a node", "schema": {"type": "string", "minLength": 1}},
    "group": {"description": "API group", "schema": {"type": "string", "enum": [GROUP, GROUP_ALIAS, NATIVE]}},
    "version": {
        "description": f"version of the API group; Testbeds are also in {NATIVE_API_VERSION}",
        "schema": {"type": "string", "enum": [VERSION, NATIVE_VERSION]},
    },
    "namespace": {"description": "a namespace", "schema": NAME.schema},
    "object": {"description": "name of an object", "schema": NAME.schema},
    "uid": {"description": "uid of a Scheduling", "schema": {"type": "string", "pattern": "^[0-9]{1,18}$"}},
}


def openapi_document(routes: Iterable[Route]) -> Document:
    routes = list(routes)
    paths: dict[str, Document] = {}
    shapes = _Shapes(routes)
    for route in routes:
        paths.setdefault(route.path, {})[route.method.lower()] = _operation(route, shapes)
    description = "Jobs, tasks, nodes and events of a Shunter cluster."
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Shunter",
            "version": API_VERSION,
            "description": description,
            "license": {"name": "Apache-2.0"},
        },
        "security": [{"token": []}, {"session": []}],
        "paths": paths,
        "components": {
            "schemas": shapes.components,
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}, "session": SESSION_SCHEME},
        },
    }


class _Shapes:
    """The schemas of all views, and references to them."""

    def __init__(self, routes: list[Route]) -> None:
        wanted: list[Any] = [ProblemDocument]
        for route in routes:
            wanted += [response_spec.shape for response_spec in route.responses if response_spec.shape is not None]
            if route.body is not None and route.body.shape is not None:
                wanted.append(route.body.shape)
        unique = list(dict.fromkeys(wanted))
        schemas, self.components = msgspec.json.schema_components(unique, ref_template=REFERENCE)
        self._references = dict(zip(unique, schemas, strict=True))
        self.components |= _bodies()

    def reference(self, shape: Any) -> Document:
        found: Document = self._references[shape]
        return found


def _bodies() -> Document:
    """Request bodies that are described by the fields of a manifest."""
    job = job_schema()
    del job["$schema"]  # the document's own dialect, OpenAPI's, is the same
    jobs = {"type": "array", "items": component("Job"), "minItems": 1, "maxItems": BULK_ITEMS_MAX}
    value = {"anyOf": [LABELS.schema["additionalProperties"], {"type": "null"}]}
    labels = LABELS.schema | {"description": "labels to set; null removes a label", "additionalProperties": value}
    return {
        "Job": job,
        "BulkSubmit": _object("items", jobs),
        "ClusterPatch": admin_fields.CLUSTER_PATCH_SCHEMA,
        "QueuePatch": admin_fields.QUEUE_PATCH.schema,
        "UserPut": identity_fields.USER_PUT.schema,
        "KeyCreate": identity_fields.KEY_CREATE.schema,
        "KeyRotate": identity_fields.KEY_ROTATE.schema,
        "SecretPut": secret_fields.SECRET_PUT.schema,
        "TenantCreate": identity_fields.TENANT_CREATE.schema,
        "TenantPatch": identity_fields.TENANT_PATCH.schema,
        "JoinTokenCreate": identity_fields.JOIN_TOKEN_CREATE.schema,
        "Enrolment": identity_fields.ENROLMENT.schema,
        "DeadChoice": admin_fields.DEAD_LETTER_SELECTOR.schema,
        "NodePatch": {
            "type": "object",
            "properties": {"labels": labels, "attributes": labels | {"description": "like labels"}},
            "additionalProperties": False,
        },
        "Drain": nodes.DRAIN.schema,
    } | _object_bodies()


def _object_bodies() -> Document:
    manifests = {kind: {key: value for key, value in object_schema(kind).items() if key != "$schema"} for kind in KINDS}
    any_of = {"anyOf": [component(kind) for kind in (*KINDS, "Job")]}
    items = {"type": "array", "items": any_of, "minItems": 1, "maxItems": DOCUMENTS_MAX}
    return manifests | {
        "Plan": {"anyOf": [*any_of["anyOf"], _object("items", items | {"maxItems": PLAN_JOBS_MAX})]},
        "Manifests": {"anyOf": [*any_of["anyOf"], _object("items", items)]},
        "MergePatch": {"type": "object", "description": "fields to change; null removes a field"},
        "External": EXTERNAL.schema,
        "ExternalJobBody": external_fields.JOB_BODY.schema,
        "ExternalSchedulingBody": external_fields.SCHEDULING_BODY.schema,
    }


def _object(name: str, schema: Document) -> Document:
    return {"type": "object", "properties": {name: schema}, "required": [name], "additionalProperties": False}


def component(name: str) -> Document:
    return {"$ref": REFERENCE.format(name=name)}


def _operation(route: Route, shapes: _Shapes) -> Document:
    operation: Document = {"operationId": route.name, "summary": route.summary}
    if parameters := _parameters(route):
        operation["parameters"] = parameters
    if route.body is not None:
        operation["requestBody"] = _request_body(route.body, shapes)
    if route.public:
        operation["security"] = []
    return operation | {"responses": _responses(route, shapes)}


def _parameters(route: Route) -> list[Document]:
    names = [segment[1:-1] for segment in route.path.split("/") if segment.startswith("{")]
    in_path = [{"name": name, "in": "path", "required": True, **PATH_PARAMETERS[name]} for name in names]
    in_query = [_parameter("query", parameter) for parameter in route.query.parameters]
    headers = (*route.headers, IF_NONE_MATCH) if route.is_tagged else route.headers
    return in_path + in_query + [_parameter("header", parameter) for parameter in headers]


def _parameter(place: str, parameter: Parameter) -> Document:
    schema = {"type": "array", "items": parameter.schema} if parameter.is_repeated else parameter.schema
    return {"name": parameter.name, "in": place, "description": parameter.description, "schema": schema}


def _request_body(body: RequestBody, shapes: _Shapes) -> Document:
    schema = component(body.component) if body.component else shapes.reference(body.shape)
    return {"required": body.required, "content": {kind: {"schema": schema} for kind in body.content_types}}


def _responses(route: Route, shapes: _Shapes) -> Document:
    responses: Document = {}
    for response_spec in route.responses:
        response = responses.setdefault(str(response_spec.status), {"description": response_spec.description})
        if response_spec.status not in (HTTPStatus.NO_CONTENT, HTTPStatus.SEE_OTHER):
            response.setdefault("content", {})[response_spec.content_type] = _content(response_spec, shapes)
    if route.is_tagged:
        responses["200"]["headers"] = {"ETag": ETAG}
        responses["304"] = {"description": "unchanged since the answer with this ETag", "headers": {"ETag": ETAG}}
    for status in sorted({*route.errors, *(() if route.public else ALWAYS_POSSIBLE)}):
        content = {CONTENT_TYPE.decode(): {"schema": shapes.reference(ProblemDocument)}}
        responses[str(status)] = {"description": HTTPStatus(status).phrase, "content": content}
    return responses


def _content(response_spec: ResponseSpec, shapes: _Shapes) -> Document:
    return {} if response_spec.shape is None else {"schema": shapes.reference(response_spec.shape)}
