"""What the reconcile functions of `testbeds/` see of a cluster: the pods of a BatchJob as its application, and those of
a Testbed as the uses of its slots. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from msgspec.structs import replace

from shunter.kube.pod import Pod
from shunter.model.objects.batch_jobs import BatchJob
from shunter.model.objects.object_meta import ObjectName
from shunter.model.objects.schedulings import JobProgress, Scheduling
from shunter.model.objects.testbeds import SlotHolder, SlotPlace
from shunter.testbeds.batch_job_reconcile import ACTIVE_STATES
from shunter.testbeds.progress import record_of
from shunter.testbeds.view import Application, ApplicationState, SlotUse


def observe_application(job: BatchJob, pods: Mapping[int, Pod]) -> Application | None:
    """`pods` are its executors by their index. They are all made before its status says so: one that is missing then
    was deleted."""
    if not pods:
        return None
    state, reason = _state(job, pods)
    has_begun = state in (ApplicationState.RUNNING, ApplicationState.COMPLETED, ApplicationState.FAILED)
    is_over = state in (ApplicationState.COMPLETED, ApplicationState.FAILED)
    return Application(
        id=run_number(job),
        state=state,
        has_processes=True,  # its pods are there, though they may have ended
        started_ms=max(pod.started_ms for pod in pods.values()) if has_begun else 0,
        ended_ms=max(pod.ended_ms for pod in pods.values()) if is_over else 0,
        reason=reason,
    )


def run_number(job: BatchJob) -> int:
    """The number of the next run, or of the present one while its event is open."""
    events = job.status.events
    return job.status.runs + (not events or events[-1].successful is not None)


def slot_uses(executors: Iterable[Pod]) -> dict[SlotPlace, SlotUse]:
    """Which slots are held: from when the pods of their executors exist until those have ended."""
    uses: dict[SlotPlace, SlotUse] = {}
    for pod in executors:
        assignment = pod.assignment
        if pod.has_ended or assignment is None or assignment.batch_job is None or assignment.scheduling is None:
            continue
        holder = SlotHolder(assignment.batch_job, assignment.executor, assignment.scheduling)
        uses[assignment.place] = SlotUse(holder, pod.phase == "Running")
    return uses


def reserved_places(job: BatchJob) -> dict[SlotPlace, SlotUse]:
    """The slots of a run whose executors somebody else makes, before they exist."""
    status = job.status
    if status.state not in ACTIVE_STATES or status.active_scheduling is None:
        return {}
    name, scheduling = job.meta.object_name, status.active_scheduling
    return {place: SlotUse(SlotHolder(name, i, scheduling), False) for i, place in enumerate(status.places)}


def with_submitted_jobs(scheduling: Scheduling, find_job: Callable[[ObjectName], BatchJob | None]) -> Scheduling:
    """The Scheduling as it is when its status was not written after its last requests: their jobs are submitted. The
    requests themselves say so."""
    status, name = scheduling.status, scheduling.meta.object_name
    records = list(status.jobs)
    for index, (job, record) in enumerate(zip(scheduling.spec.distinct_jobs, status.jobs, strict=False)):
        if record.progress < JobProgress.SUBMITTED:
            seen = record_of(find_job(job), name)
            records[index] = seen if seen.progress >= JobProgress.SUBMITTED else record
    return replace(scheduling, status=replace(status, jobs=tuple(records)))


def _state(job: BatchJob, pods: Mapping[int, Pod]) -> tuple[ApplicationState, str]:
    """The first that applies. A run is over as soon as one executor has failed, as on Shunter's own workers."""
    count = max(job.status.replication, len(pods))
    for index, pod in sorted(pods.items()):
        if pod.phase == "Failed" and not pod.was_disrupted:
            return ApplicationState.FAILED, f"executor {index} failed: {pod.reason or 'unknown reason'}"
    for index in range(count):
        lost = pods.get(index)
        if lost is None:
            return ApplicationState.LOST, f"executor {index} was lost: its pod was deleted"
        if lost.phase == "Failed" or (lost.is_terminating and not lost.has_ended):
            reason = lost.reason or "its pod is being deleted"
            return ApplicationState.LOST, f"executor {index} on node {lost.node} was lost: {reason}"
    phases = {pod.phase for pod in pods.values()}
    if phases == {"Succeeded"}:
        return ApplicationState.COMPLETED, ""
    if phases <= {"Running", "Succeeded"}:
        return ApplicationState.RUNNING, ""
    if all(pod.node for pod in pods.values()):
        return ApplicationState.SCHEDULED, ""
    return ApplicationState.SUBMITTED, ""
