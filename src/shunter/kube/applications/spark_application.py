"""SparkApplications of the Kubeflow Spark operator, `sparkoperator.k8s.io/v1beta2`. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from shunter.kube.applications.adapter import (
    driver_metadata,
    executor_affinity,
    executor_metadata,
    mebibytes,
)
from shunter.kube.client.api import Resource
from shunter.kube.custom_objects import CustomObject
from shunter.kube.install.crds import EXECUTOR_CLASS
from shunter.kube.pod_templates import SCHEDULER, bound_by_us
from shunter.model.objects.batch_jobs import BatchJob
from shunter.model.objects.object_meta import Document
from shunter.model.resources import CPU, MEMORY
from shunter.testbeds.memory_split import spark_share
from shunter.testbeds.view import ApplicationState, StartApplication


class SparkApplication:
    engine = "spark"
    kind = "SparkApplication"
    resource = Resource("sparkoperator.k8s.io", "v1beta2", "sparkapplications")
    states: Mapping[str, ApplicationState] = {
        "RUNNING": ApplicationState.RUNNING,
        "SUCCEEDING": ApplicationState.RUNNING,
        "UNKNOWN": ApplicationState.RUNNING,
        "COMPLETED": ApplicationState.COMPLETED,
        "FAILED": ApplicationState.FAILED,
        "FAILING": ApplicationState.FAILED,
        "SUBMISSION_FAILED": ApplicationState.FAILED,
    }

    def spec(self, found: CustomObject, start: StartApplication) -> Document:
        """What the manifest says, but the slot sets the size of executors, and their number is that of the slots. One
        run is one attempt."""
        job: BatchJob = found.object
        values = job.spec.spark or {}
        driver = _merged(values.get("driver"), driver_metadata(found, start))
        if "cpu" in job.spec.driver:
            driver["coreRequest"] = str(job.spec.driver["cpu"])
        return {
            "mode": "cluster",
            **values,
            "restartPolicy": {"type": "Never"},
            "driver": driver,
            "executor": self._executor(found, start),
        }

    def state(self, status: Document) -> tuple[str, str]:
        found = status.get("applicationState") or {}
        return found.get("state", ""), found.get("errorMessage", "")

    def _executor(self, found: CustomObject, start: StartApplication) -> Document:
        """Spark's memory and its overhead together are the memory of the slot. Only a pod template can have gates."""
        values = (found.object.spec.spark or {}).get("executor") or {}
        total = start.size.get(MEMORY, 0)
        heap_mib = spark_share(total, (found.object.spec.spark or {}).get("type") == "Python").heap_bytes // 2**20
        memory = {"memory": f"{heap_mib}m", "memoryOverhead": f"{mebibytes(total) - heap_mib}m"} if total else {}
        cpu_milli = start.size.get(CPU, 0)
        template = dict(values.get("template") or {})
        pod = bound_by_us()
        return {
            **_merged(values, executor_metadata(found, start)),
            "instances": start.request.replication,
            "cores": values.get("cores") or max(1, cpu_milli // 1000),
            "coreRequest": f"{cpu_milli}m",
            **memory,
            "affinity": executor_affinity(start),
            "schedulerName": SCHEDULER,
            "priorityClassName": EXECUTOR_CLASS,
            "template": {**template, "spec": {**(template.get("spec") or {}), **pod}},
        }


def _merged(values: Document | None, metadata: Document) -> Document:
    values = values or {}
    return {**values, **{name: {**(values.get(name) or {}), **added} for name, added in metadata.items()}}
