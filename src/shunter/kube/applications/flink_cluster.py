"""FlinkClusters of the Flink operator by Google and Spotify, `flinkoperator.k8s.io/v1beta1`. Pure.

It takes neither a scheduler nor gates nor a priority for TaskManagers: they are pods of the default scheduler that
wait, because ghost pods fill their nodes. The operator nominates and binds them like all executors."""

from __future__ import annotations

from collections.abc import Mapping

from shunter.kube.applications.adapter import driver_metadata, executor_affinity, executor_metadata, given
from shunter.kube.applications.flink_image import flink_image
from shunter.kube.client.api import Resource
from shunter.kube.custom_objects import CustomObject
from shunter.kube.quantities import kube_quantities
from shunter.model.objects.object_meta import Document
from shunter.testbeds.view import ApplicationState, StartApplication

_JOB_FIELDS = ("jarFile", "className", "args", "classPath", "pyFile", "pyFiles", "pyModule", "fromSavepoint")


class FlinkCluster:
    engine = "flink"
    kind = "FlinkCluster"
    resource = Resource("flinkoperator.k8s.io", "v1beta1", "flinkclusters")
    states: Mapping[str, ApplicationState] = {
        "Running": ApplicationState.RUNNING,
        "Updating": ApplicationState.RUNNING,
        "Restarting": ApplicationState.RUNNING,
        "Succeeded": ApplicationState.COMPLETED,
        "Failed": ApplicationState.FAILED,
        "DeployFailed": ApplicationState.FAILED,
        "Cancelled": ApplicationState.FAILED,
        "Lost": ApplicationState.FAILED,
    }

    def spec(self, found: CustomObject, start: StartApplication) -> Document:
        """One run is one attempt, and what is left of it goes."""
        values = found.object.spec.flink or {}
        image, version = flink_image(values)
        count, size = start.request.replication, kube_quantities(start.size)
        driver, executor = driver_metadata(found, start), executor_metadata(found, start)
        cleanup = dict.fromkeys(("afterJobSucceeds", "afterJobFails", "afterJobCancelled"), "DeleteCluster")
        return {
            "image": {"name": image},
            "flinkVersion": version or "1.15",
            **given(values, "envVars", "serviceAccountName"),
            "flinkProperties": {**(values.get("flinkProperties") or {}), "taskmanager.numberOfTaskSlots": "1"},
            "jobManager": _metadata(driver),
            "taskManager": {
                "replicas": count,
                "resources": {"requests": size, "limits": size},
                "affinity": executor_affinity(start),
                **_metadata(executor),
            },
            "job": {
                **given(values, *_JOB_FIELDS),
                "parallelism": values.get("parallelism") or count,
                "restartPolicy": "Never",
                "cleanupPolicy": cleanup,
                **_metadata(driver),
            },
        }

    def state(self, status: Document) -> tuple[str, str]:
        found = (status.get("components") or {}).get("job") or {}
        return found.get("state", ""), "; ".join(found.get("failureReasons") or ())


def _metadata(metadata: Document) -> Document:
    return {"podLabels": metadata["labels"], "podAnnotations": metadata["annotations"]}
