"""Everything that `shunter operator install` puts into a Kubernetes cluster: the CustomResourceDefinitions, priority
classes, and the account of the operator with its permissions.

The schemas are made from the field tables of `model.objects`, so that they cannot diverge from what Shunter reads.
Pure: `kube.install.apply` applies what this returns."""

from __future__ import annotations

from typing import Any

from shunter import __version__
from shunter.kube.install.structural_schema import ANY, RULES, go_pattern, property_at, rule, structural
from shunter.model.job.task_fields import RESOURCE_PATTERN
from shunter.model.objects.object_fields import BATCH_JOB_NAME_SIZE_MAX, DOCUMENTS
from shunter.model.objects.objects import BATCH_JOB, GROUP, PLURALS, SCHEDULING, SHORT_NAMES, TESTBED, VERSION
from shunter.model.resources import STANDARD
from shunter.model.schema.fields import Schema

Manifest = dict[str, Any]

API_VERSION = f"{GROUP}/{VERSION}"
NAMESPACE = "shunter-system"
ACCOUNT = "shunter-operator"
JOBS_ACCOUNT = "shunter-jobs"  # of `shunter manager --kubernetes`
MANAGER_ACCOUNT = "shunter-manager"  # of `shunter manager --objects kubernetes`
CATEGORY = "shunter"
PAST_SCHEDULING, PAST_SCHEDULINGS = "PastScheduling", "pastschedulings"
LABELS = {"app.kubernetes.io/name": "shunter", "app.kubernetes.io/managed-by": "shunter-operator"}
VERSION_ANNOTATION = "shunter.dev/version"

# Ghost pods must not give way to pods of others, which have priority 0 unless they name a class.
GHOST_CLASS, GHOST_PRIORITY = "shunter-ghost", 1_000
EXECUTOR_CLASS, EXECUTOR_PRIORITY = "shunter-executor", 1_100
PREEMPTING_CLASS = "shunter-executor-preempting"  # with the extender, which names ghost pods as victims and nobody else

_AGE = ("Age", "date", ".metadata.creationTimestamp", 0)
_COLUMNS: dict[str, tuple[tuple[str, str, str, int], ...]] = {
    TESTBED: (
        ("State", "string", ".status.state", 0),
        ("Free", "string", ".status.freeSlots", 0),
        ("Label", "string", ".spec.nodeLabel", 0),
        ("Problems", "string", ".status.problems", 1),
        _AGE,
    ),
    BATCH_JOB: (
        ("State", "string", ".status.state", 0),
        ("Scheduling", "string", ".status.activeScheduling.name", 0),
        ("Slots", "string", ".status.slotIds", 0),
        ("Runs", "integer", ".status.runs", 0),
        ("Problems", "string", ".status.problems", 1),
        _AGE,
    ),
    SCHEDULING: (
        ("State", "string", ".status.state", 0),
        ("Testbed", "string", ".spec.testbed.name", 0),
        ("Waits-For", "string", ".status.waitsFor", 0),
        ("Problems", "string", ".status.problems", 1),
        _AGE,
    ),
}


def manifests() -> list[Manifest]:
    """All, in the order in which they are applied."""
    return [_namespace(), *(crd(kind) for kind in PLURALS.values()), _past_crd(), *_priority_classes(), *_permissions()]


def crd(kind: str) -> Manifest:
    plural = next(plural for plural, each in PLURALS.items() if each == kind)
    columns = [
        {"name": name, "type": type, "jsonPath": path, **({"priority": priority} if priority else {})}
        for name, type, path, priority in _COLUMNS[kind]
    ]
    version = {
        "name": VERSION,
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": _root_schema(kind)},
        "subresources": {"status": {}},
        "additionalPrinterColumns": columns,
    }
    names = {
        "plural": plural,
        "singular": kind.lower(),
        "kind": kind,
        "listKind": f"{kind}List",
        "shortNames": [word for word, each in SHORT_NAMES.items() if each == kind],
        "categories": [CATEGORY],
    }
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {
            "name": f"{plural}.{GROUP}",
            "labels": LABELS,
            "annotations": {VERSION_ANNOTATION: __version__},
        },
        "spec": {"group": GROUP, "names": names, "scope": "Namespaced", "versions": [version]},
    }


def _past_crd() -> Manifest:
    """Records of Schedulings, which the operator writes and the manager reads. People only look at them."""
    text, number = {"type": "string"}, {"type": "integer", "format": "int64"}
    name = _closed({"namespace": text, "name": text})
    run = _closed(
        {
            "job": name,
            "slot_ids": {"type": "array", "items": number},
            "nodes": {"type": "array", "items": text},
            "start_ms": number,
            "stop_ms": number,
            "successful": {"type": "boolean", "nullable": True},
            "reason": text,
        }
    )
    spec = _closed(
        {
            "uid": number,
            **dict.fromkeys(("namespace", "name"), text),
            "testbed": name,
            **dict.fromkeys(("mode", "user", "state"), text),
            "problems": {"type": "array", "items": text},
            "created_ms": number,
            "deleted_ms": {**number, "description": "0 while the Scheduling exists"},
            "runs": {"type": "array", "items": run},
        }
    )
    columns = {"Name": ".spec.name", "Testbed": ".spec.testbed.name", "State": ".spec.state"}
    version = {
        "name": VERSION,
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": spec}, "required": ["spec"]}},
        "additionalPrinterColumns": [
            *({"name": name, "type": "string", "jsonPath": path} for name, path in columns.items()),
            {"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"},
        ],
    }
    plural, singular = PAST_SCHEDULINGS, PAST_SCHEDULING.lower()
    names = {"plural": plural, "singular": singular, "kind": PAST_SCHEDULING, "listKind": f"{PAST_SCHEDULING}List"}
    metadata = {"name": f"{plural}.{GROUP}", "labels": LABELS, "annotations": {VERSION_ANNOTATION: __version__}}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": metadata,
        "spec": {"group": GROUP, "names": names, "scope": "Namespaced", "versions": [version]},
    }


def _closed(properties: Schema) -> Schema:
    """An object that has all of these."""
    return {"type": "object", "properties": properties, "required": list(properties)}


def _root_schema(kind: str) -> Schema:
    """The API server checks apiVersion, kind and most of metadata by itself."""
    document = DOCUMENTS[kind]
    spec = structural(document.fields["spec"].schema)
    _SPEC_RULES[kind](spec)
    metadata: Schema = {"type": "object"}
    if kind == BATCH_JOB:
        metadata["properties"] = {"name": {"type": "string", "maxLength": BATCH_JOB_NAME_SIZE_MAX}}
    return {
        "type": "object",
        "description": document.schema["description"],
        "properties": {
            "apiVersion": {"type": "string"},
            "kind": {"type": "string"},
            "metadata": metadata,
            "spec": spec,
            "status": {"type": "object", "description": "read-only, set by Shunter", **ANY},
        },
        "required": ["spec"],
    }


# ---- what a structural schema cannot say ----


def _add_testbed_rules(spec: Schema) -> None:
    sizes = property_at(spec, "resourcesPerSlot")
    standard = ", ".join(f"'{name}'" for name in STANDARD)
    name_pattern = go_pattern(RESOURCE_PATTERN)
    sizes[RULES] = [
        rule(
            f"self.all(name, name.size() <= 63 && name.matches('{name_pattern}') && !name.startsWith('port/'))",
            "each resource must have a lower-case name like cpu, memory or gpu",
        ),
        rule(
            f"self.all(name, name in [{standard}] || (type(self[name]) == int && int(self[name]) >= 0))",
            "a resource other than cpu, memory and disk must be a whole number",
        ),
    ]


def _add_batch_job_rules(spec: Schema) -> None:
    """Exactly one application: the field tables say so themselves."""
    assert spec[RULES]


def _add_scheduling_rules(spec: Schema) -> None:
    for name in ("testbed", "slots"):
        property_at(spec, name)[RULES] = [
            rule("self == oldSelf", "is immutable: delete the Scheduling and create another one")
        ]
    jobs = property_at(spec, "slotBased", "jobs")
    property_at(jobs["items"], "slotIds")["x-kubernetes-list-type"] = "set"


_SPEC_RULES = {TESTBED: _add_testbed_rules, BATCH_JOB: _add_batch_job_rules, SCHEDULING: _add_scheduling_rules}


# ---- what the operator needs besides ----


def _namespace() -> Manifest:
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE, "labels": LABELS}}


def _priority_classes() -> list[Manifest]:
    """None evicts pods of others."""
    return [
        {
            "apiVersion": "scheduling.k8s.io/v1",
            "kind": "PriorityClass",
            "metadata": {"name": name, "labels": LABELS},
            "value": value,
            "preemptionPolicy": "PreemptLowerPriority" if name == PREEMPTING_CLASS else "Never",
            "description": about,
        }
        for name, value, about in (
            (GHOST_CLASS, GHOST_PRIORITY, "Pods that hold the slots of Testbeds."),
            (PREEMPTING_CLASS, EXECUTOR_PRIORITY, "Executors of BatchJobs that kube-scheduler places by the extender."),
            (
                EXECUTOR_CLASS,
                EXECUTOR_PRIORITY,
                "Executors of BatchJobs, which take the place of ghost pods.",
            ),
        )
    ]


def _permissions() -> list[Manifest]:
    plurals = list(PLURALS)
    operator = [
        _allow(GROUP, plurals, "get", "list", "watch", "update", "patch"),
        _allow(GROUP, [f"{plural}/status" for plural in plurals], "update", "patch"),
        _allow(GROUP, [PAST_SCHEDULINGS], "get", "list", "watch", "create", "update", "delete"),
        _allow("", ["nodes"], "get", "list", "watch"),
        _allow("", ["pods"], "get", "list", "watch", "create", "patch", "delete"),
        _allow("", ["pods/status"], "patch"),
        _allow("", ["pods/binding"], "create"),
        *(
            _allow(group, [plural], "get", "list", "watch", "create", "delete")
            for group, plural in (
                ("sparkoperator.k8s.io", "sparkapplications"),
                ("flink.apache.org", "flinkdeployments"),
                ("flinkoperator.k8s.io", "flinkclusters"),
            )
        ),
    ]
    manager = [
        _allow(GROUP, plurals, "get", "list", "watch", "create", "update", "delete"),
        _allow(GROUP, ["batchjobs/status"], "update"),  # reset
        _allow(GROUP, [PAST_SCHEDULINGS], "list"),
    ]
    jobs = [
        _allow("", ["nodes"], "get", "list", "watch"),
        _allow("", ["pods"], "get", "list", "watch", "create", "delete"),
        _allow("", ["pods/log"], "get"),
        _allow("", ["pods/exec"], "get", "create"),  # health checks by commands
    ]
    account = {"name": ACCOUNT, "namespace": NAMESPACE}
    lease_role = {"apiVersion": _RBAC, "metadata": {**account, "labels": LABELS}}
    return [
        *_account(ACCOUNT, operator),
        {
            **lease_role,
            "kind": "Role",
            "rules": [_allow("coordination.k8s.io", ["leases"], "get", "create", "update")],
        },
        {
            **lease_role,
            "kind": "RoleBinding",
            "roleRef": _role("Role", ACCOUNT),
            "subjects": [{"kind": "ServiceAccount", **account}],
        },
        *_account(MANAGER_ACCOUNT, manager),
        *_account(JOBS_ACCOUNT, jobs),
    ]


def _account(name: str, rules: list[Manifest]) -> list[Manifest]:
    account = {"name": name, "namespace": NAMESPACE}
    role = {"apiVersion": _RBAC, "metadata": {"name": name, "labels": LABELS}}
    subjects = [{"kind": "ServiceAccount", **account}]
    return [
        {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {**account, "labels": LABELS}},
        {**role, "kind": "ClusterRole", "rules": rules},
        {**role, "kind": "ClusterRoleBinding", "roleRef": _role("ClusterRole", name), "subjects": subjects},
    ]


_RBAC = "rbac.authorization.k8s.io/v1"


def _allow(group: str, resources: list[str], *verbs: str) -> Manifest:
    return {"apiGroups": [group], "resources": resources, "verbs": list(verbs)}


def _role(kind: str, name: str) -> Manifest:
    return {"apiGroup": "rbac.authorization.k8s.io", "kind": kind, "name": name}
