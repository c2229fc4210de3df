"""Carries out what the pure reconcile functions of `testbeds/` decide, on a Kubernetes cluster: pods are created, bound
and deleted first, claims follow, and the status comes last. Whatever is interrupted is found again by the next look.

Nothing here needs a finalizer: ghost pods and executors go with the Testbed or BatchJob that owns them, and claims of a
Scheduling that is gone are void."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial
from typing import Any

from msgspec.structs import replace

from shunter.kube.applications.adapter import ApplicationAdapter, application_document
from shunter.kube.applications.applications import free_places, observe
from shunter.kube.cluster_view import ClusterView, now_ms
from shunter.kube.custom_objects import CustomObject, executor_pod_name
from shunter.kube.history import History
from shunter.kube.node import labelled_nodes
from shunter.kube.observe import observe_application, reserved_places, run_number, slot_uses, with_submitted_jobs
from shunter.kube.pod import Pod
from shunter.kube.pod_templates import EXTENDED_SCHEDULER, ExecutorSettings, Placement, executor_pods, ghost_pod
from shunter.kube.quantities import add_amounts
from shunter.kube.writer import Writer
from shunter.log import Log
from shunter.model.errors import Invalid
from shunter.model.objects.batch_jobs import BatchJob, BatchJobState, Claim
from shunter.model.objects.object_lifecycles import BATCH_JOB as LIFECYCLE
from shunter.model.objects.object_lifecycles import BatchJobEvent
from shunter.model.objects.object_meta import ObjectName
from shunter.model.objects.objects import BATCH_JOB, SCHEDULING, TESTBED
from shunter.model.objects.schedulings import Scheduling
from shunter.model.objects.testbeds import SlotPlace, SlotState, Testbed, TestbedStatus
from shunter.testbeds.batch_job_reconcile import ACTIVE_STATES, reconcile_batch_job
from shunter.testbeds.scheduling_reconcile import reconcile_scheduling
from shunter.testbeds.testbed_reconcile import reconcile_testbed
from shunter.testbeds.view import (
    Application,
    BatchJobOutcome,
    BatchJobView,
    SchedulingOutcome,
    SchedulingView,
    SlotUse,
    StartApplication,
)

log = Log(__name__)

NOT_RUN = "is not run by this operator: start it with --application, and with the operator that this names"


@dataclass(frozen=True, slots=True)
class Images:
    executor: str
    ghost: str
    placement: Placement = Placement.DIRECT

    @property
    def of_executors(self) -> ExecutorSettings:
        return ExecutorSettings(self.executor, self.placement)


class Reconcilers:
    def __init__(self, view: ClusterView, writer: Writer, images: Images) -> None:
        self._view, self._writer, self._images = view, writer, images
        self.history = History(view, writer)

    async def reconcile(self, kind: str, name: ObjectName) -> None:
        """Raises ShunterError; the object is reconciled again then."""
        found = self._view.find(kind, name)
        if kind == SCHEDULING:
            await self.history.record(name, found, now_ms())
            found = self._view.find(kind, name)
        if found is None:
            return
        if found.object is None:
            await self._writer.set_problems(kind, found)
        elif kind == TESTBED:
            await self._reconcile_testbed(found)
        elif kind == BATCH_JOB:
            await self._reconcile_batch_job(found)
        else:
            await self._reconcile_scheduling(found)

    # ---- testbeds ----

    async def _reconcile_testbed(self, found: CustomObject) -> None:
        testbed: Testbed = found.object
        pods = self._view.pods_by_testbed.get(found.name, {})
        nodes = labelled_nodes(testbed, self._view.nodes.items.values(), self._view.pods_on)
        reserved = self._reserved(found.name)
        uses = reserved | slot_uses(pods.values())
        status = reconcile_testbed(testbed, nodes, uses, now_ms())
        claims = tuple(claim for claim in status.claims if self._view.find(SCHEDULING, claim) is not None)
        if claims != status.claims:
            status = replace(status, claims=claims)
        await self._reconcile_ghosts(found, status, [pod for pod in pods.values() if pod.is_ghost], uses, set(reserved))
        await self._writer.set_status(TESTBED, found.name, status)

    def _reserved(self, testbed: ObjectName) -> dict[SlotPlace, SlotUse]:
        reserved: dict[SlotPlace, SlotUse] = {}
        for each in self._view.objects[BATCH_JOB].items.values():
            job = each.object
            if job is not None and job.status.testbed == testbed and job.spec.engine in self._view.adapters:
                reserved |= reserved_places(job)
        return reserved

    async def _reconcile_ghosts(
        self,
        found: CustomObject,
        status: TestbedStatus,
        ghosts: list[Pod],
        uses: dict[SlotPlace, SlotUse],
        awaited: set[SlotPlace],
    ) -> None:
        """One ghost pod for each slot that nobody uses. A node that takes no pods retains those that it has. So does a
        slot whose executor is not bound yet: its ghost pod holds the room for it."""
        for pod in self._view.pods_by_testbed.get(found.name, {}).values():
            if pod.is_executor and pod.assignment is not None:
                is_unbound = not pod.node and not pod.is_terminating
                (awaited.add if is_unbound else awaited.discard)(pod.assignment.place)
        slots = {slot.place: slot for slot in status.slots if slot.place not in uses}
        there: set[SlotPlace] = set()
        wrong: list[Pod] = []
        for ghost in ghosts:
            assert ghost.assignment is not None
            slot = slots.get(ghost.assignment.place)
            if ghost.assignment.place in awaited and not ghost.has_ended:
                continue
            if slot is None or ghost.requests != slot.size or ghost.has_ended:
                wrong.append(ghost)
            there.add(ghost.assignment.place)
        missing = [slot for place, slot in slots.items() if place not in there and slot.state is not SlotState.ERROR]
        await self._writer.delete_pods(wrong)
        await self._writer.create_pods(ghost_pod(found, slot, self._images.ghost) for slot in missing)

    # ---- batch jobs ----

    async def _reconcile_batch_job(self, found: CustomObject) -> None:
        job: BatchJob = found.object
        adapter = self._view.adapters.get(job.spec.engine)
        if adapter is not None:
            await self._follow_application(adapter, job)
        else:
            await self._look_for_missing(job)
        pods = dict(self._view.pods_by_job.get(found.name, {}))
        claim, scheduling = job.claim, self._claimant(job)
        testbed = None
        if claim is not None and claim.request is not None:
            testbed = self._object(TESTBED, claim.request.testbed)
        outcome = reconcile_batch_job(BatchJobView(job, scheduling, testbed, self._application(job, pods), now_ms()))
        await self._carry_out(found, outcome, pods)
        if job.status.state is BatchJobState.PENDING_DELETION or not self._is_held(job):
            await self._writer.delete_pods(pods.values())
            await self._delete_application(job)
        else:
            await self._bind(pods.values())
        if claim is not None and scheduling is None and job.status.state in (BatchJobState.READY, BatchJobState.FAILED):
            await self._writer.set_claim(found.name, None)

    async def _look_for_missing(self, job: BatchJob) -> None:
        """Pods and jobs come by different watches: an executor that the job's status knows and we do not see may be
        new. Only the API server can say that it is gone."""
        status, known = job.status, self._view.pods_by_job.get(job.meta.object_name, {})
        if status.application and status.state in ACTIVE_STATES:
            missing = [index for index in range(status.replication) if index not in known]
            names = [executor_pod_name(job.meta.name, index) for index in missing]
            await self._writer.look_for_pods(ObjectName(job.meta.namespace, name) for name in names)

    async def _carry_out(self, found: CustomObject, outcome: BatchJobOutcome, pods: dict[int, Pod]) -> None:
        job, statuses = found.object, outcome.statuses
        if outcome.start is not None:
            problems = await self._start(found, outcome.start)
            if problems:
                submitted = next(each for each in statuses if each.state is BatchJobState.SUBMITTED)
                failed = LIFECYCLE.move(BatchJobState.SUBMITTED, BatchJobEvent.FAILED)
                statuses = (submitted, replace(submitted, state=failed, problems=problems))
        if outcome.stop:
            await self._delete_application(job)
            await self._writer.delete_pods(pod for pod in pods.values() if not pod.has_ended)
        for status in statuses:
            if status.slot_ids and not status.application:
                status = replace(status, application=run_number(job))
            await self._writer.set_status(BATCH_JOB, found.name, status)
        if outcome.drops_request and job.claim is not None:
            await self._writer.set_claim(found.name, Claim(job.claim.scheduling))

    async def _start(self, found: CustomObject, start: StartApplication) -> list[str]:
        """Returns why it cannot start."""
        engine = found.object.spec.engine
        adapter = self._view.adapters.get(engine)
        if adapter is not None:
            try:
                made = application_document(adapter, found, start)
                await self._writer.create_application(adapter.resource, self._view.applications[engine], made)
            except Invalid as error:
                return [str(problem) for problem in error.problems]
        elif engine != "command":
            return [f"spec.{engine}Spec {NOT_RUN}"]
        else:
            hosts = [self._address(place.node) for place in start.places]
            await self._writer.create_pods(executor_pods(found, start, hosts, self._images.of_executors))
        return []

    # ---- applications that operators of others run ----

    def _application(self, job: BatchJob, pods: dict[int, Pod]) -> Application | None:
        adapter = self._view.adapters.get(job.spec.engine)
        if adapter is None:
            return observe_application(job, pods)
        name = job.meta.object_name
        found = self._view.applications[adapter.engine].items.get(name)
        return observe(adapter, job, found, self._view.parts_by_job.get(name, {}).values())

    async def _follow_application(self, adapter: ApplicationAdapter, job: BatchJob) -> None:
        """Its executors get slots, as long as the job is held. An object that we do not see may be new."""
        name, mirror = job.meta.object_name, self._view.applications[adapter.engine]
        if job.status.application and job.status.state in ACTIVE_STATES and name not in mirror.items:
            await self._writer.look_for_application(adapter.resource, mirror, name)
        if self._is_held(job) and job.status.state in ACTIVE_STATES:
            parts = self._view.parts_by_job.get(name, {}).values()
            for pod, index, place in free_places(parts):
                await self._writer.assign(pod, index, place)

    async def _delete_application(self, job: BatchJob) -> None:
        adapter = self._view.adapters.get(job.spec.engine)
        found = None if adapter is None else self._view.applications[adapter.engine].items.get(job.meta.object_name)
        if adapter is not None and found is not None and not found.is_terminating:
            await self._writer.delete_application(adapter.resource, found.name, found.uid)

    async def _bind(self, pods: Iterable[Pod]) -> None:
        waiting = [
            pod for pod in pods if not pod.node and not pod.is_terminating and pod.scheduler != EXTENDED_SCHEDULER
        ]
        await asyncio.gather(*(self._take_over(pod) for pod in waiting if self._has_room(pod)))

    async def _take_over(self, pod: Pod) -> None:
        """Nobody can come in between: kube-scheduler hears of the nomination before it hears that the ghost pod is
        gone, and leaves the room to the executor. It leaves the executor alone, which has a gate until then."""
        assert pod.assignment is not None
        node = pod.assignment.place.node
        if pod.nominated_node != node:
            await self._writer.nominate(pod, node)
        await self._writer.delete_pods(each for each in self._view.slot_pods(pod) if each.is_ghost)
        if pod.is_gated:
            await self._writer.open_gate(pod)
        await self._writer.bind(pod, node)

    def _has_room(self, pod: Pod) -> bool:
        """Whether whoever was in the slot before is gone, and nobody took the room meanwhile."""
        assert pod.assignment is not None
        place, at_slot = pod.assignment.place, self._view.slot_pods(pod)
        if any(each.is_executor and each.uid != pod.uid and not each.has_ended for each in at_slot):
            return False
        ghosts = {each.uid for each in at_slot if each.is_ghost}
        node = self._view.nodes.items.get(ObjectName("", place.node))
        if node is None:
            return False
        used = dict(pod.requests)
        for other in self._view.pods_on(place.node):
            if not other.has_ended and other.uid not in ghosts:
                add_amounts(used, other.requests)
        return all(amount <= node.allocatable.get(name, 0) for name, amount in used.items() if pod.requests.get(name))

    def _claimant(self, job: BatchJob) -> Scheduling | None:
        return None if job.claim is None else self._object(SCHEDULING, job.claim.scheduling)

    def _is_held(self, job: BatchJob) -> bool:
        return job.claim is not None and self._claimant(job) is not None

    def _address(self, node: str) -> str:
        found = self._view.nodes.items.get(ObjectName("", node))
        return (found.address if found is not None else "") or node

    # ---- schedulings ----

    async def _reconcile_scheduling(self, found: CustomObject) -> None:
        scheduling = with_submitted_jobs(found.object, partial(self._object, BATCH_JOB))
        jobs = self._view.objects[BATCH_JOB].items
        outcome = reconcile_scheduling(
            SchedulingView(
                scheduling,
                partial(self._object, BATCH_JOB),
                self._object(TESTBED, scheduling.spec.testbed),
                now_ms(),
                claimed_jobs=lambda: [
                    each.object
                    for each in jobs.values()
                    if each.object is not None and each.object.claim and each.object.claim.scheduling == found.name
                ],
                find_scheduling=partial(self._object, SCHEDULING),
            )
        )
        await self._claim(found.name, scheduling, outcome)
        for status in outcome.statuses:
            await self._writer.set_status(SCHEDULING, found.name, status)
        if outcome.requeue_at_ms is not None:
            delay_s = max(outcome.requeue_at_ms - now_ms(), 0) / 1000
            asyncio.get_running_loop().call_later(delay_s, self._view.mark, SCHEDULING, found.name)

    async def _claim(self, name: ObjectName, scheduling: Scheduling, outcome: SchedulingOutcome) -> None:
        """The testbed first, then the jobs in order: of two that race for the same, one fails at its first write. What
        a conflict leaves half claimed is released by the next look."""
        if outcome.claims_testbed or outcome.releases_testbed:
            testbed = self._object(TESTBED, scheduling.spec.testbed)
            if testbed is not None:
                claims = tuple(each for each in testbed.status.claims if each != name)
                claims = (*claims, name) if outcome.claims_testbed else claims
                await self._writer.set_status(TESTBED, testbed.meta.object_name, replace(testbed.status, claims=claims))
        for job in sorted(outcome.claims):
            await self._writer.set_claim(job, Claim(name))
        for job, request in outcome.requests.items():
            await self._writer.set_claim(job, Claim(name, request))
        for job in outcome.releases:
            await self._writer.set_claim(job, None)

    def _object(self, kind: str, name: ObjectName) -> Any:
        found = self._view.find(kind, name)
        return None if found is None else found.object
