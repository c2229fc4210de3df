"""What the operators of Spark and Flink do, as far as it matters to us: a driver and executors are made from the
object, its state follows the pods, and everything goes with it. Works on the API server in memory and on a real one."""

from __future__ import annotations

import asyncio
from typing import Any

from shunter.kube.applications.adapter import ApplicationAdapter
from shunter.kube.client.api import KubeApi
from shunter.kube.resources import PODS
from shunter.model.errors import Conflict, NotFound
from shunter.model.objects.object_meta import Document

IMAGE = "localhost/busybox:1"
# In the words of each operator: submitted, running, completed, failed.
WORDS = {
    "SparkApplication": ("SUBMITTED", "RUNNING", "COMPLETED", "FAILED"),
    "FlinkDeployment": ("CREATED", "RUNNING", "FINISHED", "FAILED"),
    "FlinkCluster": ("Pending", "Running", "Succeeded", "Failed"),
}


class EmulatedOperator:
    """`pause` is how it waits between two looks."""

    def __init__(
        self, api: KubeApi, adapter: ApplicationAdapter, script: str = "sleep 1", pause_s: float = 0.0
    ) -> None:
        self._api, self._adapter, self._script, self._pause_s = api, adapter, script, pause_s

    async def run(self) -> None:
        while True:
            for found in (await self._api.list(self._adapter.resource))[0]:
                try:
                    await self._look(found)
                except (Conflict, NotFound):
                    continue
            await asyncio.sleep(self._pause_s)

    async def _look(self, found: Document) -> None:
        pods = {each["metadata"]["name"]: each for each in (await self._api.list(PODS))[0] if _owned(each, found)}
        driver, executors = pod_documents(self._adapter.kind, found, self._script)
        for wanted in (driver, *executors):
            if wanted["metadata"]["name"] not in pods and _state(self._adapter, found) in ("", self._words[0]):
                await self._api.create(PODS, wanted)
        phases = [pods.get(each["metadata"]["name"], {}).get("status", {}).get("phase") for each in executors]
        driver_phase = pods.get(driver["metadata"]["name"], {}).get("status", {}).get("phase")
        submitted, running, completed, failed = self._words
        state = submitted
        if driver_phase in ("Succeeded", "Failed"):
            state = completed if driver_phase == "Succeeded" else failed
        elif phases and all(phase == "Running" for phase in phases):
            state = running
        if state != _state(self._adapter, found):
            await self._api.replace(
                self._adapter.resource, {**found, "status": status_of(self._adapter.kind, state)}, "status"
            )
        if state in (completed, failed):  # the driver ends its executors
            for each in executors:
                name = each["metadata"]["name"]
                if name in pods and "deletionTimestamp" not in pods[name]["metadata"]:
                    await self._api.delete(PODS, name, found["metadata"]["namespace"])

    @property
    def _words(self) -> tuple[str, str, str, str]:
        return WORDS[self._adapter.kind]


def pod_documents(kind: str, found: Document, script: str) -> tuple[Document, list[Document]]:
    """The driver, and the executors with what their template says."""
    spec, name = found["spec"], found["metadata"]["name"]
    if kind == "SparkApplication":
        parts, count = (spec["driver"], spec["executor"]), spec["executor"]["instances"]
        size = {
            "cpu": parts[1]["coreRequest"],
            "memory": f"{_mib(parts[1]['memory']) + _mib(parts[1]['memoryOverhead'])}Mi",
        }
        pods = [({key: each[key] for key in ("labels", "annotations")}, _spark_pod(each)) for each in parts]
    elif kind == "FlinkDeployment":
        parts, count = (spec["jobManager"], spec["taskManager"]), spec["taskManager"]["replicas"]
        resource = parts[1]["resource"]
        size = {"cpu": f"{round(resource['cpu'] * 1000)}m", "memory": f"{_mib(resource['memory'])}Mi"}
        pods = [(each["podTemplate"]["metadata"], each["podTemplate"].get("spec", {})) for each in parts]
    else:
        parts, count = (spec["jobManager"], spec["taskManager"]), spec["taskManager"]["replicas"]
        size = parts[1]["resources"]["requests"]
        pods = [
            ({"labels": each["podLabels"], "annotations": each["podAnnotations"]}, {"affinity": each.get("affinity")})
            for each in parts
        ]
    driver = _pod(found, f"{name}-driver", *pods[0], {"cpu": "10m"}, script)
    return driver, [_pod(found, f"{name}-exec-{number}", *pods[1], size, "sleep 600") for number in range(count)]


def status_of(kind: str, state: str) -> Document:
    statuses: dict[str, Document] = {
        "SparkApplication": {"applicationState": {"state": state}, "driverInfo": {}},
        "FlinkDeployment": {"jobStatus": {"state": state}},
        "FlinkCluster": {
            "state": "Running",
            "components": {"job": {"state": state, "id": "1", "name": "job", "deployTime": "2026-01-01T00:00:00Z"}},
        },
    }
    return statuses[kind]


def _spark_pod(part: dict[str, Any]) -> Document:
    fields = {key: part[key] for key in ("affinity", "schedulerName", "priorityClassName") if key in part}
    return {**((part.get("template") or {}).get("spec") or {}), **fields}


def _pod(found: Document, name: str, metadata: Document, spec: Document, size: Document, script: str) -> Document:
    owner = {key: found[key] for key in ("apiVersion", "kind")}
    owner |= {"name": found["metadata"]["name"], "uid": found["metadata"]["uid"], "controller": True}
    resources = {"requests": size, "limits": size}
    container = {"name": "c", "image": IMAGE, "command": ["sh", "-c", script], "resources": resources}
    spec = {key: value for key, value in spec.items() if value is not None}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": found["metadata"]["namespace"], **metadata, "ownerReferences": [owner]},
        "spec": {**spec, "restartPolicy": "Never", "terminationGracePeriodSeconds": 0, "containers": [container]},
    }


def _mib(text: str) -> int:
    return int(text.removesuffix("m"))


def _owned(pod: Document, found: Document) -> bool:
    return found["metadata"]["uid"] in [each["uid"] for each in pod["metadata"].get("ownerReferences") or ()]


def _state(adapter: ApplicationAdapter, found: Document) -> str:
    return adapter.state(found.get("status") or {})[0]
