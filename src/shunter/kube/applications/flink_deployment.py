"""FlinkDeployments of the Apache Flink operator, `flink.apache.org/v1beta1`. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from shunter.kube.applications.adapter import driver_metadata, executor_metadata, executor_pod_spec, given, mebibytes
from shunter.kube.applications.flink_image import flink_image
from shunter.kube.client.api import Resource
from shunter.kube.custom_objects import CustomObject
from shunter.model.objects.object_meta import Document
from shunter.model.resources import CPU, MEMORY, parse_amount
from shunter.testbeds.application_parts import DRIVER_CPU_MILLI, DRIVER_MEMORY_BYTES
from shunter.testbeds.view import ApplicationState, StartApplication


class FlinkDeployment:
    engine = "flink"
    kind = "FlinkDeployment"
    resource = Resource("flink.apache.org", "v1beta1", "flinkdeployments")
    states: Mapping[str, ApplicationState] = {
        "RUNNING": ApplicationState.RUNNING,
        "RESTARTING": ApplicationState.RUNNING,
        "FAILING": ApplicationState.RUNNING,
        "CANCELLING": ApplicationState.RUNNING,
        "FINISHED": ApplicationState.COMPLETED,
        "FAILED": ApplicationState.FAILED,
        "CANCELED": ApplicationState.FAILED,
        "SUSPENDED": ApplicationState.FAILED,
    }

    def spec(self, found: CustomObject, start: StartApplication) -> Document:
        """Standalone mode, because there the number of TaskManagers is fixed. A TaskManager has one task slot."""
        values = found.object.spec.flink or {}
        image, version = flink_image(values)
        properties = {str(key): str(value) for key, value in (values.get("flinkProperties") or {}).items()}
        count = start.request.replication
        job = {
            **_renamed(values, jarFile="jarURI", className="entryClass", fromSavepoint="initialSavepointPath"),
            **given(values, "args", "allowNonRestoredState"),
            "parallelism": values.get("parallelism") or count,
            "upgradeMode": "stateless",
            "state": "running",
        }
        return {
            "mode": "standalone",
            "image": image,
            **({"flinkVersion": f"v{version.replace('.', '_')}"} if version else {}),
            "serviceAccount": values.get("serviceAccountName") or "flink",
            "flinkConfiguration": {**properties, "taskmanager.numberOfTaskSlots": "1"},
            "jobManager": {
                "resource": _resource(*_driver_size(found)),
                "podTemplate": {"metadata": driver_metadata(found, start)},
            },
            "taskManager": {
                "replicas": count,
                "resource": _resource(start.size.get(CPU, 0), start.size.get(MEMORY, 0)),
                "podTemplate": {"metadata": executor_metadata(found, start), "spec": executor_pod_spec(start)},
            },
            "job": job,
        }

    def state(self, status: Document) -> tuple[str, str]:
        """A deployment that cannot be made has an error, and no job."""
        state = (status.get("jobStatus") or {}).get("state", "")
        if not state and status.get("lifecycleState") == "FAILED":
            state = "FAILED"
        return state, status.get("error") or ""


def _driver_size(found: CustomObject) -> tuple[int, int]:
    driver = found.object.spec.driver
    cpu = parse_amount(CPU, driver["cpu"]) if "cpu" in driver else DRIVER_CPU_MILLI
    return cpu, parse_amount(MEMORY, driver["memory"]) if "memory" in driver else DRIVER_MEMORY_BYTES


def _resource(cpu_milli: int, memory_bytes: int) -> Document:
    """Flink's m is a mebibyte."""
    return {"cpu": cpu_milli / 1000, "memory": f"{mebibytes(memory_bytes)}m"}


def _renamed(values: Document, **names: str) -> Document:
    return {new: values[old] for old, new in names.items() if values.get(old) is not None}
