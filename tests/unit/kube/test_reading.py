"""What the operator reads of pods, nodes, objects and kubeconfigs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from shunter.kube.client.api import error_of
from shunter.kube.client.connection import find_connection, read_kubeconfig
from shunter.kube.custom_objects import read_custom_object
from shunter.kube.node import read_node
from shunter.kube.pod import read_pod
from shunter.model.errors import Busy, Conflict, Gone, Invalid, NotFound, Unavailable


def pod(spec: dict[str, Any] | None = None, status: dict[str, Any] | None = None, **metadata: Any) -> dict[str, Any]:
    base = {"name": "p", "namespace": "default", "uid": "u", "resourceVersion": "7"}
    return {"metadata": base | metadata, "spec": spec or {}, "status": status or {}}


def container(cpu: str, **more: Any) -> dict[str, Any]:
    return {"resources": {"requests": {"cpu": cpu}}, **more}


def test_requests_are_counted_as_kube_scheduler_does() -> None:
    containers = [container("100m"), container("0.25")]
    assert read_pod(pod({"containers": containers})).requests == {"cpu": 350}
    init = [container("1"), container("50m", restartPolicy="Always")]
    assert read_pod(pod({"containers": containers, "initContainers": init[:1]})).requests == {"cpu": 1000}
    assert read_pod(pod({"containers": containers, "initContainers": init[1:]})).requests == {"cpu": 400}
    assert read_pod(pod({"containers": containers, "overhead": {"cpu": "10m"}})).requests == {"cpu": 360}


def failed(code: int, reason: str) -> dict[str, Any]:
    ended = {"terminated": {"exitCode": code, "reason": reason}}
    return {"phase": "Failed", "containerStatuses": [{"state": ended}]}


@pytest.mark.parametrize(
    ("status", "reason"),
    [
        ({"phase": "Failed", "reason": "Evicted", "message": "low on memory"}, "Evicted: low on memory"),
        (
            {
                "phase": "Failed",
                "containerStatuses": [{"state": {"terminated": {"exitCode": 137, "reason": "OOMKilled"}}}],
            },
            "exit code 137 (OOMKilled)",
        ),
        (
            {"phase": "Failed", "containerStatuses": [{"state": {"terminated": {"exitCode": 2, "reason": "Error"}}}]},
            "exit code 2",
        ),
        ({"phase": "Failed"}, ""),
        ({"phase": "Running", "message": "fine"}, ""),
    ],
)
def test_why_a_pod_failed(status: dict[str, Any], reason: str) -> None:
    assert read_pod(pod(status=status)).reason == reason


@pytest.mark.parametrize(
    ("status", "was_disrupted"),
    [
        ({"reason": "OutOfcpu"}, True),
        ({"reason": "Evicted"}, True),
        ({"conditions": [{"type": "DisruptionTarget", "status": "True"}]}, True),
        ({"conditions": [{"type": "DisruptionTarget", "status": "False"}]}, False),
        ({"reason": "DeadlineExceeded"}, False),
        (failed(1, "Error"), False),
    ],
)
def test_what_kubernetes_ended_did_not_fail_by_itself(status: dict[str, Any], was_disrupted: bool) -> None:
    assert read_pod(pod(status={"phase": "Failed", **status})).was_disrupted is was_disrupted


@pytest.mark.parametrize(
    ("labels", "annotations"),
    [
        ({}, {"shunter.dev/testbed": "default/bench", "shunter.dev/place": "a/0"}),
        ({"shunter.dev/role": "ghost"}, {"shunter.dev/testbed": "bench", "shunter.dev/place": "a/0"}),
        ({"shunter.dev/role": "ghost"}, {"shunter.dev/testbed": "default/bench", "shunter.dev/place": "a/x"}),
        ({"shunter.dev/role": "king"}, {"shunter.dev/testbed": "default/bench", "shunter.dev/place": "a/0"}),
        ({"shunter.dev/role": "executor"}, {"shunter.dev/testbed": "default/bench", "shunter.dev/place": "a/0"}),
    ],
)
def test_a_pod_without_our_marks_is_that_of_somebody_else(labels: dict[str, str], annotations: dict[str, str]) -> None:
    assert read_pod(pod(labels=labels, annotations=annotations)).assignment is None


@pytest.mark.parametrize(
    ("spec", "ready", "reason"),
    [
        ({}, "True", ""),
        ({"unschedulable": True}, "True", "it is cordoned"),
        ({}, "False", "no network"),
        ({}, None, "its kubelet has not reported yet"),
        ({"taints": [{"key": "gpu", "effect": "NoSchedule"}]}, "True", "it has the taint gpu:NoSchedule"),
        ({"taints": [{"key": "old", "effect": "PreferNoSchedule"}]}, "True", ""),
    ],
)
def test_which_nodes_take_pods(spec: dict[str, Any], ready: str | None, reason: str) -> None:
    conditions = [] if ready is None else [{"type": "Ready", "status": ready, "message": "no network"}]
    allocatable = {"cpu": "1900m", "memory": "1Gi", "ephemeral-storage": "10k"}
    document = {
        "metadata": {"name": "a", "resourceVersion": "1"},
        "spec": spec,
        "status": {"conditions": conditions, "allocatable": allocatable},
    }
    node = read_node(document)
    assert node.not_ready_reason == reason
    assert node.allocatable == {"cpu": 1900, "memory": 2**30, "disk": 10_000}


def custom(spec: dict[str, Any], **metadata: Any) -> dict[str, Any]:
    base = {
        "name": "bench",
        "namespace": "default",
        "uid": "c8449745-42d5-48e9-945d-e6124df0b54e",
        "resourceVersion": "9",
        "generation": 2,
        "managedFields": [{}],
    }
    return {"apiVersion": "batchjob.gcr.io/v1alpha1", "kind": "Testbed", "metadata": base | metadata, "spec": spec}


SPEC = {"slotsPerNode": 1, "nodeLabel": "bench", "resourcesPerSlot": {"cpu": "1"}}


def test_an_object_is_read_with_the_metadata_of_kubernetes() -> None:
    annotations = {"kubectl.kubernetes.io/last-applied-configuration": "{}", "why": "so", "shunter.dev/user": "me"}
    found = read_custom_object(custom(SPEC, annotations=annotations, labels={"a" * 200: "b"}))
    meta = found.object.meta
    assert (meta.revision, meta.generation, meta.user) == (9, 2, "me")
    assert (meta.annotations, meta.labels) == ({"why": "so"}, {})
    assert 0 < meta.uid < 2**63


def test_an_object_that_the_field_tables_refuse_has_problems() -> None:
    found = read_custom_object(custom(SPEC | {"resourcesPerSlot": {"cpu": "0"}}))
    assert found.object is None
    assert found.problems == ("spec.resourcesPerSlot: must request at least one resource; set cpu or memory",)


@pytest.mark.parametrize(
    ("status", "kind"), [(404, NotFound), (409, Conflict), (410, Gone), (422, Invalid), (429, Busy), (500, Unavailable)]
)
def test_answers_of_the_api_server_are_our_errors(status: int, kind: type[Exception]) -> None:
    causes = [{"field": "spec.a", "message": "is wrong"}]
    error = error_of(status, {"message": "no", "details": {"causes": causes}})
    assert type(error) is kind
    if isinstance(error, Invalid):
        assert [(each.field, each.message) for each in error.problems] == [("spec.a", "is wrong")]


def kubeconfig(path: Path, user: str, server: str = "https://127.0.0.1:6443/") -> Path:
    path.write_text(
        f"""
current-context: here
contexts: [{{name: here, context: {{cluster: c, user: u, namespace: film}}}}]
clusters: [{{name: c, cluster: {{server: "{server}"}}}}]
users: [{{name: u, user: {user}}}]
"""
    )
    return path


def test_a_kubeconfig_names_server_namespace_and_token(tmp_path: Path) -> None:
    found = find_connection(str(kubeconfig(tmp_path / "config", "{token: abc}")))
    assert (found.url, found.namespace, found.read_token()) == ("https://127.0.0.1:6443", "film", "abc")
    (tmp_path / "token").write_text("fresh\n")
    found = find_connection(None, None, {"KUBECONFIG": str(kubeconfig(tmp_path / "config", "{tokenFile: token}"))})
    assert found.read_token() == "fresh"


@pytest.mark.parametrize(
    ("user", "context", "fault"),
    [
        ("{exec: {command: login}}", None, "exec or auth-provider"),
        ("{}", "there", "has no context 'there'"),
        ("{client-certificate: missing.crt}", None, "client-certificate"),
        ("{client-certificate-data: '!', client-key-data: '!'}", None, "certificate"),
    ],
)
def test_a_kubeconfig_that_cannot_be_used_says_why(tmp_path: Path, user: str, context: str | None, fault: str) -> None:
    with pytest.raises(Invalid, match=fault):
        read_kubeconfig(kubeconfig(tmp_path / "config", user), context)


def test_a_kubeconfig_that_is_not_there_says_so(tmp_path: Path) -> None:
    with pytest.raises(Invalid, match="cannot be read"):
        read_kubeconfig(tmp_path / "nothing")
