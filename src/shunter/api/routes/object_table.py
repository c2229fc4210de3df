"""The routes for Testbeds, BatchJobs and Schedulings: a part of the table in `api.routes.table`.

Their paths are those of Kubernetes, below /api/v1; each kind has the same ones.
"""

from __future__ import annotations

from shunter.api.http import parameters as p
from shunter.api.http.routing import RequestBody, ResponseSpec, Route
from shunter.api.routes import apply
from shunter.api.routes.jobs import KEY_PATTERN
from shunter.api.routes.objects import ANY_KIND, ObjectHandlers
from shunter.model.job.spec import NAMESPACE_DEFAULT
from shunter.model.objects.object_fields import RESOURCE_VERSION_DIGITS_MAX
from shunter.model.objects.objects import BATCH_JOB, PLURALS
from shunter.model.rest import object_views as v
from shunter.model.schema.fields import text
from shunter.model.schema.name_fields import NAME

BASE = "/api/v1"
GROUP_VERSION = f"{BASE}/apis/{{group}}/{{version}}"
IN_NAMESPACE = f"{GROUP_VERSION}/namespaces/{{namespace}}"
PAGE_MAX = 1000

MANIFEST_TYPES = ("application/json", "application/yaml")
PATCH_TYPES = ("application/merge-patch+json", "application/json")

IDEMPOTENCY_KEY = p.field_parameter(
    "Idempotency-Key", "of Jobs: the same key again returns what it made first", text(KEY_PATTERN, size_max=128)
)
_VERSION = text(
    rf"^[0-9]{{1,{RESOURCE_VERSION_DIGITS_MAX}}}$", size_max=RESOURCE_VERSION_DIGITS_MAX, rule="a resourceVersion"
)
LIST_OR_WATCH_QUERY = p.Query((
    p.bool_parameter("watch", "stream changes as NDJSON instead"),
    p.field_parameter("name", "only of this name", NAME),
    p.field_parameter("resourceVersion", "of a watch: changes behind this version; without it, from now on", _VERSION),
))  # fmt: skip
PRECONDITION_QUERY = p.Query((p.field_parameter("resourceVersion", "only if this is the present version", _VERSION),))
LIST_OR_WATCH_RESPONSES = (
    ResponseSpec(200, v.ObjectList),
    ResponseSpec(200, v.WatchLine, "application/x-ndjson", description="lines, and empty ones as heartbeats"),
)
OBJECT_RESPONSES = (ResponseSpec(200, v.ObjectView),)


def _routes_of(plural: str, kind: str) -> tuple[Route, ...]:
    """Reading and writing one kind of objects."""
    handlers, kind_plural = ObjectHandlers(kind), f"{kind}s"
    collection_path, object_path = f"{IN_NAMESPACE}/{plural}", f"{IN_NAMESPACE}/{plural}/{{object}}"
    manifest = RequestBody(component=kind, content_types=MANIFEST_TYPES)
    return (
        Route(
            "GET", f"{GROUP_VERSION}/{plural}", f"listAll{kind_plural}",
            f"{kind_plural} of all namespaces, or their changes",
            handlers.list_or_watch, responses=LIST_OR_WATCH_RESPONSES, query=LIST_OR_WATCH_QUERY,
            errors=(400, 404, 410),
        ),
        Route(
            "GET", collection_path, f"list{kind_plural}", f"{kind_plural} of a namespace, or their changes",
            handlers.list_or_watch, responses=LIST_OR_WATCH_RESPONSES, query=LIST_OR_WATCH_QUERY,
            errors=(400, 404, 410),
        ),
        Route(
            "POST", collection_path, f"create{kind}", f"Make a {kind}", handlers.create,
            responses=(ResponseSpec(201, v.ObjectView, description="it is committed"),), body=manifest,
            errors=(400, 404, 409, 413),
        ),
        Route(
            "GET", object_path, f"get{kind}", f"One {kind}", handlers.get, responses=OBJECT_RESPONSES,
            errors=(400, 404),
        ),
        Route(
            "PUT", object_path, f"replace{kind}", f"Make or change a {kind}", handlers.replace,
            responses=(*OBJECT_RESPONSES, ResponseSpec(201, v.ObjectView, description="it was not there before")),
            body=manifest, errors=(400, 404, 409, 413),
        ),
        Route(
            "PATCH", object_path, f"patch{kind}", f"Change some fields of a {kind}", handlers.patch,
            responses=OBJECT_RESPONSES,
            body=RequestBody(component="MergePatch", content_types=PATCH_TYPES), errors=(400, 404, 409, 413),
        ),
        Route(
            "DELETE", object_path, f"delete{kind}", f"Delete a {kind}; what it holds is released first",
            handlers.delete,
            responses=(ResponseSpec(200, v.ObjectView, description="as it was"),), query=PRECONDITION_QUERY,
            errors=(400, 404, 409),
        ),
    )  # fmt: skip


_ANY_HANDLERS, _BATCH_JOB_HANDLERS = ObjectHandlers(ANY_KIND), ObjectHandlers(BATCH_JOB)
_BATCH_JOB_PATH = f"{IN_NAMESPACE}/batchjobs/{{object}}"

OBJECT_ROUTES = (
    Route(
        "POST", f"{BASE}/apply", "applyDocuments", "Apply manifests of any kind, all or none", apply.apply_documents,
        responses=(ResponseSpec(200, v.AppliedPage, description="all are committed"),),
        query=p.Query((p.namespace_parameter(NAMESPACE_DEFAULT, all_allowed=False),)),
        headers=(IDEMPOTENCY_KEY,), body=RequestBody(component="Manifests", content_types=MANIFEST_TYPES),
        errors=(400, 409, 413),
    ),
    *(route for plural, kind in PLURALS.items() for route in _routes_of(plural, kind)),
    Route(
        "GET", f"{GROUP_VERSION}/objects", "listAllObjects", "Objects of every kind and namespace, or their changes",
        _ANY_HANDLERS.list_or_watch, responses=LIST_OR_WATCH_RESPONSES, query=LIST_OR_WATCH_QUERY,
        errors=(400, 404, 410),
    ),
    Route(
        "GET", f"{IN_NAMESPACE}/objects", "listObjects", "Objects of every kind in a namespace, or their changes",
        _ANY_HANDLERS.list_or_watch, responses=LIST_OR_WATCH_RESPONSES, query=LIST_OR_WATCH_QUERY,
        errors=(400, 404, 410),
    ),
    Route(
        "POST", f"{_BATCH_JOB_PATH}/reset", "resetBatchJob", "Bring a failed BatchJob back to Ready",
        _BATCH_JOB_HANDLERS.reset,
        responses=OBJECT_RESPONSES, errors=(400, 404, 409),
    ),
    Route(
        "PATCH", f"{_BATCH_JOB_PATH}/external", "writeExternal", "Replace some keys of externalScheduler",
        _BATCH_JOB_HANDLERS.write_external, responses=OBJECT_RESPONSES, body=RequestBody(component="External"),
        errors=(400, 404, 409, 413),
    ),
    Route(
        "GET", f"{BASE}/schedulings/past", "listPastSchedulings", "What deleted Schedulings did, newest first",
        apply.list_past, responses=(ResponseSpec(200, v.PastPage),), errors=(400,),
        query=p.Query((
            p.namespace_parameter(NAMESPACE_DEFAULT, all_allowed=True),
            p.field_parameter("name", "only of this name", NAME),
            p.int_parameter("limit", "how many items at most", 1, PAGE_MAX, 100),
            p.AFTER,
        )),
    ),
    Route(
        "GET", f"{BASE}/schedulings/past/{{uid}}", "getPastScheduling", "What one deleted Scheduling did",
        apply.get_past, responses=(ResponseSpec(200, v.PastSchedulingView),), errors=(400, 404),
    ),
)  # fmt: skip
