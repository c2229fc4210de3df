"""Applications that operators of others run: their state by their objects and pods, and slots for their executors.
Pure. Called by the reconciler of BatchJobs for `sparkSpec` and `flinkSpec`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

import msgspec

from shunter.kube.applications.adapter import ApplicationAdapter
from shunter.kube.applications.flink_cluster import FlinkCluster
from shunter.kube.applications.flink_deployment import FlinkDeployment
from shunter.kube.applications.spark_application import SparkApplication
from shunter.kube.observe import run_number
from shunter.kube.pod import Pod
from shunter.model.objects.batch_jobs import BatchJob
from shunter.model.objects.object_meta import Document, ObjectName
from shunter.model.objects.testbeds import SlotPlace
from shunter.testbeds.view import Application, ApplicationState

ADAPTERS: Mapping[str, Callable[[], ApplicationAdapter]] = {
    "SparkApplication": SparkApplication,
    "FlinkDeployment": FlinkDeployment,
    "FlinkCluster": FlinkCluster,
}


class AppObject(msgspec.Struct, frozen=True, gc=False):
    """What the operator remembers of one."""

    name: ObjectName
    uid: str
    version: int
    state: str  # in the words of its operator
    error: str
    is_terminating: bool


def reader(adapter: ApplicationAdapter) -> Callable[[Document], AppObject]:
    def read(document: Document) -> AppObject:
        metadata = document["metadata"]
        state, error = adapter.state(document.get("status") or {})
        name = ObjectName(metadata["namespace"], metadata["name"])
        is_terminating = "deletionTimestamp" in metadata
        return AppObject(name, metadata["uid"], int(metadata["resourceVersion"]), state, error, is_terminating)

    return read


def observe(
    adapter: ApplicationAdapter, job: BatchJob, found: AppObject | None, pods: Iterable[Pod]
) -> Application | None:
    """Its state by its object; it runs when all executors do. It is there as long as one of its pods is."""
    pods = list(pods)
    if found is None and not pods:
        return None
    executors = [pod for pod in pods if pod.is_executor]
    state = ApplicationState.LOST if found is None else adapter.states.get(found.state, ApplicationState.SUBMITTED)
    if state in (ApplicationState.SUBMITTED, ApplicationState.RUNNING):
        state = _by_executors(state, executors, job.status.replication)
    is_over = state in (ApplicationState.COMPLETED, ApplicationState.FAILED)
    has_begun = is_over or state is ApplicationState.RUNNING
    error = "its object was deleted" if found is None else found.error
    return Application(
        id=run_number(job),
        state=state,
        has_processes=True,  # its object or its pods are there
        started_ms=max((pod.started_ms for pod in executors), default=0) if has_begun else 0,
        ended_ms=max((pod.ended_ms for pod in pods), default=0) if is_over else 0,
        reason=error or (f"its {adapter.kind} is {found.state}" if found is not None else ""),
    )


def free_places(pods: Iterable[Pod]) -> list[tuple[Pod, int, SlotPlace]]:
    """A slot for each executor that has none: of the job's slots the first that none of its executors uses. One that is
    bound already, because its operator knows no gates, gets a slot of its node."""
    pods = sorted(pods, key=lambda pod: pod.name)
    taken = {pod.assignment.executor for pod in pods if pod.is_executor and pod.assignment and not pod.has_ended}
    found = []
    for pod in pods:
        if pod.part is None or pod.assignment is not None or pod.has_ended or not pod.part.is_executor:
            continue
        for index, place in enumerate(pod.part.places):
            if index not in taken and pod.node in ("", place.node):
                taken.add(index)
                found.append((pod, index, place))
                break
    return found


def _by_executors(state: ApplicationState, executors: list[Pod], replication: int) -> ApplicationState:
    live = [pod for pod in executors if not pod.is_terminating]
    if len(live) < replication or not all(pod.node for pod in live):
        return ApplicationState.SUBMITTED
    are_running = all(pod.phase in ("Running", "Succeeded") for pod in live)
    return ApplicationState.RUNNING if state is ApplicationState.RUNNING and are_running else ApplicationState.SCHEDULED
