"""The routes for Testbeds, BatchJobs and Schedulings: a part of the table in `api.routes.table`.

Their paths are those of Kubernetes, below /api/v1; each kind has the same ones.
"""

from __future__ import annotations

from shunter.api.http import parameters as p
from shunter.api.http.routing import Answer, RequestBody, Route
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
    rf"^[0-9]{{1,{RESOURCE_VERSION_DIGITS_MAX}}}$", size_max=RESOURCE_VERSION_DIGITS_MAX, what="a resourceVersion"
)
LOOKING = p.Query((
    p.flag_parameter("watch", "stream changes as NDJSON instead"),
    p.field_parameter("name", "only of this name", NAME),
    p.field_parameter("resourceVersion", "of a watch: changes behind this version; without it, from now on", _VERSION),
))  # fmt: skip
BASED_ON = p.Query((p.field_parameter("resourceVersion", "only if this is the present version", _VERSION),))
LOOKED = (
    Answer(200, v.ObjectList),
    Answer(200, v.WatchLine, "application/x-ndjson", about="lines, and empty ones as heartbeats"),
)
FOUND = (Answer(200, v.ObjectView),)


def _routes_of(plural: str, kind: str) -> tuple[Route, ...]:
    """Reading and writing one kind of objects."""
    do, many = ObjectHandlers(kind), f"{kind}s"
    all_of_it, one = f"{IN_NAMESPACE}/{plural}", f"{IN_NAMESPACE}/{plural}/{{object}}"
    manifest = RequestBody(component=kind, content_types=MANIFEST_TYPES)
    return (
        Route(
            "GET", f"{GROUP_VERSION}/{plural}", f"listAll{many}", f"{many} of all namespaces, or their changes",
            do.list_or_watch, answers=LOOKED, query=LOOKING, errors=(400, 404, 410),
        ),
        Route(
            "GET", all_of_it, f"list{many}", f"{many} of a namespace, or their changes",
            do.list_or_watch, answers=LOOKED, query=LOOKING, errors=(400, 404, 410),
        ),
        Route(
            "POST", all_of_it, f"create{kind}", f"Make a {kind}", do.create,
            answers=(Answer(201, v.ObjectView, about="it is committed"),), body=manifest, errors=(400, 404, 409, 413),
        ),
        Route("GET", one, f"get{kind}", f"One {kind}", do.get, answers=FOUND, errors=(400, 404)),
        Route(
            "PUT", one, f"replace{kind}", f"Make or change a {kind}", do.replace,
            answers=(*FOUND, Answer(201, v.ObjectView, about="it was not there before")), body=manifest,
            errors=(400, 404, 409, 413),
        ),
        Route(
            "PATCH", one, f"patch{kind}", f"Change some fields of a {kind}", do.patch, answers=FOUND,
            body=RequestBody(component="MergePatch", content_types=PATCH_TYPES), errors=(400, 404, 409, 413),
        ),
        Route(
            "DELETE", one, f"delete{kind}", f"Delete a {kind}; what it holds is released first", do.delete,
            answers=(Answer(200, v.ObjectView, about="as it was"),), query=BASED_ON, errors=(400, 404, 409),
        ),
    )  # fmt: skip


_ANY, _BATCH_JOB = ObjectHandlers(ANY_KIND), ObjectHandlers(BATCH_JOB)
_BATCH_JOB_PATH = f"{IN_NAMESPACE}/batchjobs/{{object}}"

OBJECT_ROUTES = (
    Route(
        "POST", f"{BASE}/apply", "applyDocuments", "Apply manifests of any kind, all or none", apply.apply_documents,
        answers=(Answer(200, v.AppliedPage, about="all are committed"),),
        query=p.Query((p.namespace_parameter(NAMESPACE_DEFAULT, all_allowed=False),)),
        headers=(IDEMPOTENCY_KEY,), body=RequestBody(component="Manifests", content_types=MANIFEST_TYPES),
        errors=(400, 409, 413),
    ),
    *(route for plural, kind in PLURALS.items() for route in _routes_of(plural, kind)),
    Route(
        "GET", f"{GROUP_VERSION}/objects", "listAllObjects", "Objects of every kind and namespace, or their changes",
        _ANY.list_or_watch, answers=LOOKED, query=LOOKING, errors=(400, 404, 410),
    ),
    Route(
        "GET", f"{IN_NAMESPACE}/objects", "listObjects", "Objects of every kind in a namespace, or their changes",
        _ANY.list_or_watch, answers=LOOKED, query=LOOKING, errors=(400, 404, 410),
    ),
    Route(
        "POST", f"{_BATCH_JOB_PATH}/reset", "resetBatchJob", "Bring a failed BatchJob back to Ready", _BATCH_JOB.reset,
        answers=FOUND, errors=(400, 404, 409),
    ),
    Route(
        "PATCH", f"{_BATCH_JOB_PATH}/external", "writeExternal", "Replace some keys of externalScheduler",
        _BATCH_JOB.write_external, answers=FOUND, body=RequestBody(component="External"), errors=(400, 404, 409, 413),
    ),
    Route(
        "GET", f"{BASE}/schedulings/past", "listPastSchedulings", "What deleted Schedulings did, newest first",
        apply.list_past, answers=(Answer(200, v.PastPage),), errors=(400,),
        query=p.Query((
            p.namespace_parameter(NAMESPACE_DEFAULT, all_allowed=True),
            p.field_parameter("name", "only of this name", NAME),
            p.whole_parameter("limit", "how many items at most", 1, PAGE_MAX, 100),
            p.AFTER,
        )),
    ),
    Route(
        "GET", f"{BASE}/schedulings/past/{{uid}}", "getPastScheduling", "What one deleted Scheduling did",
        apply.get_past, answers=(Answer(200, v.PastSchedulingView),), errors=(400, 404),
    ),
)  # fmt: skip
